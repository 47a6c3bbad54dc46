"""Claude Code."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from oulipoly_engine import variables
from oulipoly_engine.core.accounts.clis.adapters import ADAPTERS
from oulipoly_engine.core.accounts.clis.claude_login import CLAUDE_LOGIN
from oulipoly_engine.core.accounts.clis.cli import (
    NAMELESS,
    ApiKey,
    Cli,
    InKeyring,
    Key,
    Launch,
    LiveProtocol,
    LoginCommand,
    Observed,
    Place,
    PrivateFile,
    Profile,
    Status,
)
from oulipoly_engine.core.accounts.clis.documents import read_object, text_of
from oulipoly_engine.core.accounts.clis.extensions import USUAL_FORM, Location, McpServers
from oulipoly_engine.core.accounts.clis.handover import HandOver, by_option, has_word

_KEY_FILE = "api-key"
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_DETAILS = ("apiProvider", "orgId", "orgName")


def _read_status(seen: Observed) -> tuple[Profile, ...]:
    """Read `claude auth status`; versions without it have only the file that a login leaves."""
    told = read_object(seen.stdout)
    if "loggedIn" not in told:
        login = read_object(seen.files.get(".credentials.json", "")).get("claudeAiOauth")
        return (_profile(NAMELESS, "claude.ai", login),) if isinstance(login, dict) else ()
    if told["loggedIn"] is not True:
        return ()
    method = text_of(told, "authMethod") or "unknown"
    return (_profile(text_of(told, "email") or _describe(method), method, told),)


def _profile(name: str, method: str, told: Mapping[str, Any]) -> Profile:
    details = {key: value for key in _DETAILS if (value := text_of(told, key))}
    return Profile(name, method, text_of(told, "subscriptionType"), details)


def _describe(method: str) -> str:
    return "API key" if "key" in method.lower() else NAMELESS


def _key_files(home: str, key: Key) -> tuple[PrivateFile, ...]:
    """Keep the key in a file of its own, which Claude Code reads by the helper that its settings name."""
    helper = f"cat {shlex.quote(str(PurePosixPath(home) / _KEY_FILE))}"
    return PrivateFile(_KEY_FILE, f"{key.text}\n"), _settings(helper)


def _settings(helper: str) -> PrivateFile:
    return PrivateFile("settings.json", json.dumps({"apiKeyHelper": helper}, indent=2) + "\n")


CLAUDE = Cli(
    name="claude",
    host_login=CLAUDE_LOGIN,
    title="Claude Code",
    package="@anthropic-ai/claude-code",
    place=Place(".claude", {"CLAUDE_CONFIG_DIR": ""}, marks=(".credentials.json", "projects")),
    launch=Launch(
        ("-p",),
        resume_flag="--resume",
        fork_args=("--resume", "{session_id}", "--fork-session"),
        unset=_KEYS,
        answer_words=("--tools", "", "--strict-mcp-config", "--no-session-persistence", "--output-format", "json"),
        can_forbid_tools=True,
    ),
    vendors=("anthropic",),
    credentials=(".credentials.json", "credentials.json"),
    stand_ins=(*_KEYS, "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"),
    elsewhere=("settings.json", b'"apiKeyHelper"'),
    oldest=(2, 1, 50),
    login=LoginCommand(("auth", "login")),
    logout=LoginCommand(("auth", "logout")),
    status=Status(_read_status, ("auth", "status"), (".credentials.json",)),
    # Not in ANTHROPIC_API_KEY itself: an interactive session asks whether to use that, and proposes not to.
    api_key=ApiKey(
        _key_files, keyring=InKeyring(variables.API_KEY, files=(_settings(f"printenv {variables.API_KEY}"),))
    ),
    transcripts=ADAPTERS["claude"],
    skills=Location(".claude/skills", "CLAUDE_CONFIG_DIR", "skills"),
    live=LiveProtocol(
        "claude",
        tested=("2.1.197",),
        thinking={  # it takes an effort beside thinking that is switched off
            "none": ("--thinking", "disabled"),
            "minimal": ("--effort", "low"),
            "standard": ("--effort", "medium"),
            "thorough": ("--effort", "high"),
        },
        system_prompt=lambda text: ("--append-system-prompt", text),
        tools=lambda names: ("--tools", ",".join(names)),
        unkept=("--no-session-persistence",),
        answer_tokens="CLAUDE_CODE_MAX_OUTPUT_TOKENS",
        command_ms="BASH_DEFAULT_TIMEOUT_MS",
    ),
    # Beside its usual folder, inside any other. Other keys of an entry are passed over.
    mcp=(
        McpServers(
            (Location(".claude.json", "CLAUDE_CONFIG_DIR", ".claude.json"),), "mcpServers", USUAL_FORM, "projects"
        ),
    ),
    # The option takes every word that follows, so its value hangs on it.
    hand_over=HandOver(
        by_option("--mcp-config", "mcpServers"),
        leaves_alone=has_word("--strict-mcp-config", "--bare"),
        allow=lambda server: (f"--allowedTools=mcp__{server}",),
    ),
)

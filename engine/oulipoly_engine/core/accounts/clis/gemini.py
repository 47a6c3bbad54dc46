"""Gemini CLI. Its one-shots were seen; its login and its key file follow its documentation."""

from __future__ import annotations

import json

from oulipoly_engine.core.accounts.clis.adapters import ADAPTERS
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
from oulipoly_engine.core.accounts.clis.documents import object_in, read_object, text_of
from oulipoly_engine.core.accounts.clis.extensions import Location, McpForm, McpServers
from oulipoly_engine.core.accounts.clis.handover import HandOver, LinkedHome, OwnFile, has_word, in_file

_KEY = "GEMINI_API_KEY"
_EXTENSION = "oulipoly-agent-runner"  # ours among its extensions
_BY_KEY = "gemini-api-key"
_SETTINGS_FILE = Location(".gemini/settings.json", "GEMINI_CLI_HOME", ".gemini/settings.json")
# It does not start at all where an entry has a key that it does not know.
_MCP = McpForm(
    {"local": "", "http": "http", "sse": "sse"},
    http_url="httpUrl",
    cwd="cwd",
    timeout="timeout",
    tools="includeTools",
    hidden_tools="excludeTools",
    has_bare_references=True,
)


def _read_status(seen: Observed) -> tuple[Profile, ...]:
    """Read the files that a login leaves: the addresses of Google accounts, or that a key is used."""
    names = read_object(seen.files.get("google_accounts.json", ""))
    active, old = text_of(names, "active"), names.get("old")
    known = [active, *(old if isinstance(old, list) else ())]
    if active is not None or "oauth_creds.json" in seen.files:
        first = Profile(active or NAMELESS, "google")
        return (first, *(Profile(name, "google") for name in known[1:] if isinstance(name, str)))
    chosen = object_in(object_in(read_object(seen.files.get("settings.json", "")), "security"), "auth")
    is_key = text_of(chosen, "selectedType") == _BY_KEY and f"{_KEY}=" in seen.files.get(".env", "")
    return (Profile("API key", "api_key"),) if is_key else ()


_SETTINGS = PrivateFile(
    ".gemini/settings.json", json.dumps({"security": {"auth": {"selectedType": _BY_KEY}}}, indent=2) + "\n"
)


def _allow_server(server: str) -> tuple[OwnFile, ...]:
    """Return a policy beside the user's; its options in place of one would have the user's policies not count."""
    # The least of priorities, so that a rule of the user's own decides.
    rule = f'[[rule]]\ntoolName = "*"\nmcpName = "{server}"\ndecision = "allow"\npriority = 0\n'
    return (OwnFile(f"policies/{_EXTENSION}.toml", rule),)


def _key_files(_home: str, key: Key) -> tuple[PrivateFile, ...]:
    return PrivateFile(".gemini/.env", f"{_KEY}={key.text}\n"), _SETTINGS


GEMINI = Cli(
    name="gemini",
    title="Gemini CLI",
    package="@google/gemini-cli",
    place=Place(".gemini", {"GEMINI_CLI_HOME": ""}, below=".gemini", marks=("oauth_creds.json", "tmp")),
    launch=Launch(("--skip-trust",), resume_flag="--resume", unset=(_KEY, "GOOGLE_API_KEY")),
    vendors=("google",),
    credentials=("oauth_creds.json",),
    stand_ins=(_KEY, "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"),
    login=LoginCommand((), "choose how to log in, then leave with /quit"),
    status=Status(_read_status, files=("google_accounts.json", "oauth_creds.json", "settings.json", ".env")),
    api_key=ApiKey(_key_files, keyring=InKeyring(_KEY, files=(_SETTINGS,))),
    transcripts=ADAPTERS["gemini"],
    live=LiveProtocol(
        "acp",
        ("--acp",),
        ("--acp", "--experimental-acp", "--prompt", "-p", "--prompt-interactive", "-i", "--resume", "-r", "-o", "-y"),
        tested=("0.61.0",),
        loses_sessions=True,  # 0.61.0: about half of the loads fail, seen 2026-11
    ),
    skills=Location(".gemini/skills", "GEMINI_CLI_HOME", ".gemini/skills"),
    mcp=(McpServers((_SETTINGS_FILE,), "mcpServers", _MCP),),
    # It replaces its list of projects by renaming, and works without: each folder of chats says whose it is.
    hand_over=HandOver(
        in_file(
            f"extensions/{_EXTENSION}/gemini-extension.json",
            "mcpServers",
            {"name": _EXTENSION, "version": "1.0.0"},
            unless="GEMINI_SANDBOX",
            refused=("PYTHONPATH",),
        ),
        leaves_alone=has_word("-e", "--extensions", "--allowed-mcp-server-names", "-s", "--sandbox"),
        allow_in=_allow_server,
        home=LinkedHome(
            folders=("tmp", "history", "policies"),
            files=("settings.json", "oauth_creds.json", "google_accounts.json", "installation_id", "state.json"),
            copied=("policies",),
            beside=(".agents", ".env"),
            variables={"GEMINI_CLI_TRUSTED_FOLDERS_PATH": "trustedFolders.json"},
            unless=(("tools", "sandbox"), ("sandbox",)),
        ),
    ),
)

"""opencode: one home holds the logins of many vendors."""

from __future__ import annotations

import json

from oulipoly_engine.core.accounts.clis.adapters import ADAPTERS
from oulipoly_engine.core.accounts.clis.cli import (
    ApiKey,
    Cli,
    InKeyring,
    Key,
    Launch,
    LiveProtocol,
    LoginCommand,
    ModelList,
    Observed,
    Place,
    PrivateFile,
    Profile,
    Status,
)
from oulipoly_engine.core.accounts.clis.documents import read_object, text_of
from oulipoly_engine.core.accounts.clis.extensions import USUAL_FORM, Location, McpForm, McpServers
from oulipoly_engine.core.accounts.clis.handover import HandOver, in_variable

# What it asks for over HTTP it asks for as server-sent events next, so both are `remote`.
_MCP = McpForm(
    {"local": "local", "http": "remote", "sse": "remote"},
    has_command_list=True,
    env="environment",
    cwd="cwd",
    timeout="timeout",
    enabled="enabled",
    disabled="disabled",
    reference="{env:",
)


def _in_configuration(name: str) -> Location:
    return Location(f".config/opencode/{name}", "XDG_CONFIG_HOME", f"opencode/{name}")


def _read_status(seen: Observed) -> tuple[Profile, ...]:
    """Read the vendors of auth.json: `{"anthropic": {"type": "oauth" | "api", …}}`."""
    vendors = read_object(seen.files.get("auth.json", ""))
    return tuple(Profile(name, text_of(login, "type") or "unknown") for name, login in vendors.items())


_FILE = "data/opencode/auth.json"


def _merge(key: Key) -> str:
    """Add a vendor's key to those that are there."""
    vendors = {**read_object(key.kept), key.provider: {"type": "api", "key": key.text}}
    return json.dumps(vendors, indent=2) + "\n"


def _key_files(_home: str, key: Key) -> tuple[PrivateFile, ...]:
    return (PrivateFile(_FILE, _merge(key)),)


OPENCODE = Cli(
    name="opencode",
    title="opencode",
    package="opencode-ai",
    place=Place(
        ".local/share/opencode",
        {"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"},
        below="data/opencode",
        marks=("opencode.db", "auth.json"),
    ),
    launch=Launch(("run",), resume_flag="-s"),
    needs_login=False,
    credentials=("auth.json",),
    login=LoginCommand(("auth", "login")),
    logout=LoginCommand(("auth", "logout"), "choose the provider"),
    status=Status(_read_status, files=("auth.json",)),
    api_key=ApiKey(
        _key_files,
        keyring=InKeyring("OPENCODE_AUTH_CONTENT", _merge, stands_for="auth.json"),
        merged=_FILE,
        providers=(
            "anthropic",
            "openai",
            "google",
            "openrouter",
            "opencode",
            "deepseek",
            "groq",
            "mistral",
            "xai",
            "zai",
            "zai-coding-plan",
            "moonshotai",
            "cerebras",
            "togetherai",
            "fireworks-ai",
        ),
    ),
    transcripts=ADAPTERS["opencode"],
    models=ModelList(("models",)),
    live=LiveProtocol("acp", ("acp",), options=(), tested=("1.18.33",)),
    skills=_in_configuration("skills"),
    mcp=(
        McpServers(
            tuple(map(_in_configuration, ("opencode.json", "opencode.jsonc", "config.json"))),
            "mcp",
            _MCP,
            inner="servers",
        ),
        McpServers((Location(".opencode/config.json"),), "mcpServers", USUAL_FORM),  # 1.18 reads it no more
    ),
    hand_over=HandOver(in_variable("OPENCODE_CONFIG_CONTENT", "mcp"), is_seen=False),
)

"""Codex."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oulipoly_engine import variables
from oulipoly_engine.core.accounts.clis.adapters import ADAPTERS
from oulipoly_engine.core.accounts.clis.cli import (
    NAMELESS,
    ApiKey,
    Cli,
    InKeyring,
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
from oulipoly_engine.core.accounts.clis.codex_login import CODEX_LOGIN
from oulipoly_engine.core.accounts.clis.documents import object_in, read_claims, read_object, text_of
from oulipoly_engine.core.accounts.clis.extensions import Location, McpForm, McpServers
from oulipoly_engine.core.accounts.clis.handover import HandOver, by_keys

_CLAIMS = "https://api.openai.com/auth"
_KEYS = ("OPENAI_API_KEY", "CODEX_API_KEY")
_NOTHING = "not logged in"
# `codex exec` takes CODEX_API_KEY, an interactive session does not; a provider with `env_key` serves both.
_BY_VARIABLE = PrivateFile(
    "config.toml",
    f"""model_provider = "api-key"

[model_providers.api-key]
name = "OpenAI by API key"
base_url = "https://api.openai.com/v1"
env_key = "{variables.API_KEY}"
wire_api = "responses"
""",
)
# It does not start at all where a server with a `url` has an `env`.
_MCP = McpForm(
    {"local": "", "http": ""},
    headers="http_headers",
    cwd="cwd",
    timeout="tool_timeout_sec",
    timeout_unit_ms=1000,
    tools="enabled_tools",
    hidden_tools="disabled_tools",
    enabled="enabled",
    reference="",
    env_names="env_vars",
    header_names="env_http_headers",
    bearer_name="bearer_token_env_var",
)


def _read_status(seen: Observed) -> tuple[Profile, ...]:
    """Read `codex login status`, which exits 0 where somebody is, and whose login it is from the file it keeps."""
    said = f"{seen.stdout}\n{seen.stderr}".lower()
    auth = read_object(seen.files.get("auth.json", ""))
    if not auth or _NOTHING in said or (seen.exit_code is not None and seen.exit_code != 0):
        return ()
    return (_profile(auth), *_configured(seen.files.get("config.toml", "")))


def _profile(auth: Mapping[str, Any]) -> Profile:
    claims = read_claims(object_in(auth, "tokens").get("id_token"))
    if claims:
        account = object_in(claims, _CLAIMS)
        details = {key: value for key in ("chatgpt_account_id",) if (value := text_of(account, key))}
        return Profile(
            text_of(claims, "email") or NAMELESS, "chatgpt_oauth", text_of(account, "chatgpt_plan_type"), details
        )
    if auth.get("OPENAI_API_KEY"):
        return Profile("API key", "api_key")
    return Profile(NAMELESS, "unknown")


def _configured(text: str) -> Iterator[Profile]:
    """Yield the profiles of its config.toml, which share the login."""
    import tomllib  # noqa: PLC0415 - 2 ms, only who looks for profiles needs it

    try:
        told = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    named = [told["profile"]] if isinstance(told.get("profile"), str) else []
    for name in dict.fromkeys((*named, *object_in(told, "profiles"))):
        yield Profile(f"profile:{name}", "profile")


def _read_models(text: str) -> tuple[str, ...]:
    """Read its catalogue: `{"models": [{"slug", "visibility": "list" | "hide", …}]}`."""
    models = read_object(text).get("models")
    shown = (one for one in (models if isinstance(models, list) else ()) if text_of(one, "visibility") != "hide")
    return tuple(name for one in shown if (name := text_of(one, "slug")))


def _replaces_servers(words: Sequence[str]) -> bool:
    return any(word.removeprefix("--config=").removeprefix("-c").partition("=")[0] == "mcp_servers" for word in words)


def _allow_server(name: str) -> tuple[str, ...]:
    """Have the tools of a server need no approval, and be there at the first call: else codex begins without them."""
    settings = ('default_tools_approval_mode="approve"', "required=true", "startup_timeout_sec=60")
    return tuple(word for setting in settings for word in ("-c", f"mcp_servers.{name}.{setting}"))


CODEX = Cli(
    name="codex",
    host_login=CODEX_LOGIN,
    title="Codex",
    package="@openai/codex",
    place=Place(".codex", {"CODEX_HOME": ""}, marks=("auth.json", "sessions")),
    launch=Launch(
        ("exec",),
        prompt_mode="arg",
        resume_words=("resume",),
        fork_args=("fork", "{session_id}"),
        capture={
            "kind": "stdout_json_event",
            "json_flag": "--json",
            "last_message_flag": "-o",
            "event_type": "thread.started",
            "event_id_path": "thread_id",
        },
        unset=_KEYS,
        # Seen with 0.169: apply_patch stays, which the sandbox lets write nothing, and two that do nothing here.
        answer_words=(
            "--ephemeral",
            *("-c", 'sandbox_mode="read-only"', "-c", 'approval_policy="never"', "-c", "mcp_servers={}"),
            *("-c", 'web_search="disabled"', "-c", "features.shell_tool=false", "-c", "features.unified_exec=false"),
            *("-c", "features.goals=false", "-c", "features.image_generation=false", "-c", "features.view_image=false"),
        ),
        can_forbid_tools=True,
        test_words=("--skip-git-repo-check",),
    ),
    vendors=("openai", "chatgpt"),
    credentials=("auth.json",),
    stand_ins=_KEYS,
    elsewhere=("config.toml", b"model_provider"),
    oldest=(0, 60),
    login=LoginCommand(("login",)),
    logout=LoginCommand(("logout",)),
    status=Status(_read_status, ("login", "status"), ("auth.json", "config.toml")),
    api_key=ApiKey(words=("login", "--with-api-key"), keyring=InKeyring(variables.API_KEY, files=(_BY_VARIABLE,))),
    transcripts=ADAPTERS["codex"],
    models=ModelList(("debug", "models"), _read_models),
    live=LiveProtocol(
        "codex",
        options=("-c", "--config", "--strict-config"),
        tested=("0.169.0",),
        # None of its models of 2026-11 can be told not to think at all.
        thinking={
            level: ("-c", f'model_reasoning_effort="{effort}"')
            for level, effort in (("minimal", "low"), ("standard", "medium"), ("thorough", "high"))
        },
        unkept=("--ephemeral",),  # for the driver, which says so when it begins a thread
        system_prompt=lambda text: ("-c", f"developer_instructions={json.dumps(text, ensure_ascii=False)}"),
    ),
    skills=Location(".codex/skills", "CODEX_HOME", "skills"),
    mcp=(McpServers((Location(".codex/config.toml", "CODEX_HOME", "config.toml"),), "mcp_servers", _MCP),),
    hand_over=HandOver(
        by_keys("-c", "mcp_servers"),
        leaves_alone=_replaces_servers,
        allow=_allow_server,
    ),
)

"""How the login of Codex is kept on the host. Pure. Source: Codex 0.169, seen 2026-11."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from oulipoly_engine.core.accounts.clis.documents import object_in, read_claims, read_object, text_of
from oulipoly_engine.core.accounts.clis.host_login import (
    SPARE,
    STAND_IN,
    URL,
    ApiLogin,
    HostLogin,
    LoginSources,
    token_of,
)

_TOKEN_VARIABLE = "RUNNER_API_TOKEN"  # noqa: S105 - a name
_OPENAI = "https://api.openai.com/v1"
_CHATGPT = "https://chatgpt.com/backend-api"
_CODEX_SETTINGS = {  # nothing that asks others than the API
    "check_for_update_on_startup": False,
    "analytics.enabled": False,
    "features.apps": False,
    "features.daemon_auto_start": False,
    "model_provider": "agent-runner",
    "model_providers.agent-runner.name": "agent-runner",
    "model_providers.agent-runner.base_url": URL,
    "model_providers.agent-runner.env_key": _TOKEN_VARIABLE,
    "model_providers.agent-runner.wire_api": "responses",
    "model_providers.agent-runner.supports_websockets": False,
}


def _read_codex(sources: LoginSources, now: datetime) -> ApiLogin | str:
    import tomllib  # noqa: PLC0415 - 2 ms, only a login in its files is read so

    try:
        config = tomllib.loads(sources.files.get("config.toml", ""))
    except (tomllib.TOMLDecodeError, RecursionError):
        return "its config.toml cannot be read"
    config |= object_in(object_in(config, "profiles"), text_of(config, "profile") or "")
    name = text_of(config, "model_provider") or "openai"
    provider = object_in(object_in(config, "model_providers"), name)
    if not provider and name != "openai":
        return f"its model provider {name} is not one of the API of OpenAI"
    if any(key in provider for key in ("http_headers", "env_http_headers", "query_params", "auth", "aws")):
        return f"its model provider {name} logs in by more than a token"
    if (text_of(provider, "wire_api") or "responses") != "responses":
        return f"its model provider {name} speaks another protocol than Responses"
    upstream = text_of(provider, "base_url") or text_of(config, "openai_base_url") or ""
    bearer = token_of(provider, "experimental_bearer_token")
    if variable := text_of(provider, "env_key"):
        bearer = sources.environment.get(variable, "")
        if not bearer:
            return f"its key in the variable {variable} is not set"
    if bearer:
        return _codex(upstream or _OPENAI, {"authorization": f"Bearer {bearer}"}, config)
    return _read_codex_login(sources, now, upstream, config)


def _read_codex_login(sources: LoginSources, now: datetime, upstream: str, config: Mapping[str, Any]) -> ApiLogin | str:
    auth = read_object(sources.files.get("auth.json", ""))
    tokens = object_in(auth, "tokens")
    access = token_of(tokens, "access_token")
    key = token_of(auth, "OPENAI_API_KEY")
    if key and not access:
        return _codex(upstream or _OPENAI, {"authorization": f"Bearer {key}"}, config)
    if not access:
        return "no login is seen in its home"
    expires = read_claims(access).get("exp")
    if isinstance(expires, int | float) and expires < (now + SPARE).timestamp():
        return "its login has expired, and only its CLI renews it"
    headers = {"authorization": f"Bearer {access}"}
    if account := text_of(tokens, "account_id"):
        headers["chatgpt-account-id"] = account
    chatgpt = (text_of(config, "chatgpt_base_url") or _CHATGPT).rstrip("/")
    return _codex(upstream or f"{chatgpt}/codex", headers, config)


def _codex(upstream: str, headers: Mapping[str, str], config: Mapping[str, Any]) -> ApiLogin:
    settings = dict(_CODEX_SETTINGS)
    for name in ("model", "model_reasoning_effort"):
        if text := text_of(config, name):
            settings[name] = text
    words = (word for name, value in settings.items() for word in ("-c", f"{name}={json.dumps(value)}"))
    paths = ("/responses", "/models")
    environment = {_TOKEN_VARIABLE: STAND_IN}
    folders = ("sessions", "archived_sessions")
    return ApiLogin(upstream.rstrip("/"), headers, paths, environment, tuple(words), "CODEX_HOME", folders)


CODEX_LOGIN = HostLogin(
    ("config.toml", "auth.json"),
    _read_codex,
    ("OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "CODEX_REFRESH_TOKEN_URL_OVERRIDE"),
)

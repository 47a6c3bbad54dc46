"""How the login of Claude Code is kept on the host. Pure. Source: Claude Code 2.1.197, seen 2026-11."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import datetime

from oulipoly_engine.core.accounts.clis.documents import object_in, read_object, text_of
from oulipoly_engine.core.accounts.clis.host_login import (
    SPARE,
    STAND_IN,
    URL,
    ApiLogin,
    HostLogin,
    LoginSources,
    token_of,
)

_API = "https://api.anthropic.com"
_ELSEWHERE = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


def _read_claude(sources: LoginSources, now: datetime) -> ApiLogin | str:
    settings = read_object(sources.files.get("settings.json", ""))
    variables = {name: value for name, value in object_in(settings, "env").items() if isinstance(value, str)}
    environment = {**sources.environment, **variables}
    if any(environment.get(name, "").lower() not in ("", "0", "false") for name in _ELSEWHERE):
        return "it asks a cloud, whose login is more than a token"
    if environment.get("ANTHROPIC_CUSTOM_HEADERS"):
        return "it sends headers of its own (ANTHROPIC_CUSTOM_HEADERS)"
    upstream = environment.get("ANTHROPIC_BASE_URL", "") or _API
    if bearer := environment.get("ANTHROPIC_AUTH_TOKEN", ""):
        return _claude(upstream, {"authorization": f"Bearer {bearer}"}, "ANTHROPIC_AUTH_TOKEN")
    key = environment.get("ANTHROPIC_API_KEY", "")
    helper = text_of(settings, "apiKeyHelper")
    if helper and not key:
        key = _read_helper(helper, sources)
        if not key:
            return "its key comes from a command (apiKeyHelper in settings.json)"
    if key:
        return _claude(upstream, {"x-api-key": key}, "ANTHROPIC_API_KEY")
    access = environment.get("CLAUDE_CODE_OAUTH_TOKEN", "")
    if not access:
        oauth = object_in(read_object(sources.files.get(".credentials.json", "")), "claudeAiOauth")
        access = token_of(oauth, "accessToken")
        if not access:
            return "no login is seen in its home"
        expires = oauth.get("expiresAt")
        if isinstance(expires, int | float) and expires / 1000 < (now + SPARE).timestamp():
            return "its login has expired, and only its CLI renews it"
    return _claude(upstream, {"authorization": f"Bearer {access}"}, "CLAUDE_CODE_OAUTH_TOKEN")


def _claude(upstream: str, headers: Mapping[str, str], variable: str) -> ApiLogin:
    environment = {"ANTHROPIC_BASE_URL": URL, variable: STAND_IN, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    paths = ("/v1/messages", "/v1/models")
    folders = ("projects/{workspace}",)
    return ApiLogin(upstream.rstrip("/"), headers, paths, environment, (), "CLAUDE_CONFIG_DIR", folders)


def _read_helper(helper: str, sources: LoginSources) -> str:
    """Return the key that a helper of ours prints; empty: it is none of ours."""
    try:
        words = shlex.split(helper)
    except ValueError:
        return ""
    match words:
        case ["cat", path] if path == f"{sources.home}/api-key":
            return sources.files.get("api-key", "").strip()
        case ["printenv", name]:
            return sources.environment.get(name, "")
    return ""


CLAUDE_LOGIN = HostLogin(
    ("settings.json", ".credentials.json", "api-key"),
    _read_claude,
    ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"),
)

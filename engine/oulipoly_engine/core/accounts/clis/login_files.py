"""What the file of a login tells of it: nothing of a token gets out of here. Pure.

Source: contract, section 13; Claude Code 2.1, codex 0.169 and gemini-cli 0.20, seen 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from oulipoly_engine.core.accounts.clis.documents import object_in, read_claims


def find_fault(cli: str, raw: bytes, now: datetime) -> str | None:
    """Return what is wrong with a login file, None where nothing is. cli: the name of one that is known."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return "is not JSON"
    if not isinstance(document, dict):
        return "holds no JSON object"
    if cli == "opencode":
        return None if document else "names no provider"
    access, refresh, expires_at = _TOKENS[cli](document)
    if not access and not refresh:
        return "holds no login"
    if refresh or expires_at is None or expires_at > now:  # the CLI renews what it can renew
        return None
    return f"expired at {expires_at:%Y-%m-%d %H:%M} UTC, and holds nothing to renew it with"


def _of_claude(document: Mapping[str, Any]) -> tuple[object, object, datetime | None]:
    oauth = object_in(document, "claudeAiOauth")
    return oauth.get("accessToken"), oauth.get("refreshToken"), _instant(oauth.get("expiresAt"), 1000)


def _of_codex(document: Mapping[str, Any]) -> tuple[object, object, datetime | None]:
    tokens = object_in(document, "tokens")
    access = tokens.get("access_token")
    if document.get("OPENAI_API_KEY"):
        return True, None, None
    return access, tokens.get("refresh_token"), _instant(read_claims(access).get("exp"), 1)


def _of_gemini(document: Mapping[str, Any]) -> tuple[object, object, datetime | None]:
    return document.get("access_token"), document.get("refresh_token"), _instant(document.get("expiry_date"), 1000)


_TOKENS = {"claude": _of_claude, "codex": _of_codex, "gemini": _of_gemini}


def _instant(value: object, units_per_s: int) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return datetime.fromtimestamp(value / units_per_s, UTC)
    except (ValueError, OverflowError, OSError):
        return None

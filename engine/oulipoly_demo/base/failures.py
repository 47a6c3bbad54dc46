"""The vendors' own words for what goes wrong, so that whatever reads them can be tried without a vendor. Pure.

Source: Claude Code 2.1.197 with a subscription login and Codex 0.169 (0.120 for the transcript), seen 2026-11.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from oulipoly_demo.quota.levels import Tier

_DAY_S = 86400


class Failure(NamedTuple):
    """A turn that the vendor refused."""

    kind: str  # as in directives.FAILURES
    text: str
    status: int  # HTTP status; 0: there was no answer
    slug: str  # Claude's word for it in its events
    retried: bool = False  # the CLI says that it tried again before it gave up


_CLAUDE = {
    "429": (
        "API Error: Server is temporarily limiting requests (not your usage limit) · "
        "This request would exceed your account's rate limit. Please try again later.",
        429,
        "rate_limit",
    ),
    "401": (
        "Failed to authenticate. API Error: 401 OAuth token has expired. "
        "Please obtain a new token or refresh your existing token.",
        401,
        "authentication_failed",
    ),
    "500": ("API Error: 500 Internal server error. This is a made-up failure of the demo.", 500, "unknown"),
    "network": ("API Error: Unable to connect to API (ECONNREFUSED)", 0, "unknown"),
    "529": ("API Error: Repeated 529 Overloaded errors. This is a made-up failure of the demo.", 529, "unknown"),
}
_CODEX = {
    "429": ("exceeded retry limit, last status: 429 Too Many Requests", 429),
    "401": (
        "unexpected status 401 Unauthorized: Incorrect API key provided: demo., url: http://demo.invalid/v1/responses",
        401,
    ),
    "500": ("We\u2019re currently experiencing high demand, which may cause temporary errors.", 500),
    "network": ("error sending request for url (http://demo.invalid/v1/responses)", 0),
    "529": ("unexpected status 503 Service Unavailable: made up, url: http://demo.invalid/v1/responses", 503),
}


def describe(vendor: str, kind: str, tier: Tier, now: float) -> Failure:
    """Put a failure into the vendor's words.

    tier: the used-up window for kind "quota" (without a reset time it counts as beginning now), unused otherwise.
    """
    if kind == "quota":
        resets_at = now + tier.length_s if tier.resets_at is None else tier.resets_at
        text = _claude_limit(tier.kind, resets_at, now) if vendor == "claude" else _codex_limit(resets_at, now)
        return Failure(kind, text, 429, "rate_limit")
    if vendor == "claude":
        text, status, slug = _CLAUDE[kind]
        return Failure(kind, text, status, slug)
    text, status = _CODEX[kind]
    return Failure(kind, text, status, "", retried=kind != "network")


def _claude_limit(kind: str, resets_at: float, now: float) -> str:
    name = "session" if kind == "short" else "weekly"
    instant = datetime.fromtimestamp(resets_at, UTC)
    clock = f"{instant.hour % 12 or 12}{f':{instant.minute:02d}' if instant.minute else ''}{_half(instant)}"
    day = f"{instant:%b} {instant.day}, " if resets_at - now > _DAY_S else ""
    return f"You've hit your {name} limit · resets {day}{clock} (UTC)"


def _codex_limit(resets_at: float, now: float) -> str:
    # Codex names the local time and no zone.
    instant = datetime.fromtimestamp(resets_at).astimezone()
    clock = f"{instant.hour % 12 or 12}:{instant.minute:02d} {_half(instant).upper()}"
    if instant.date() != datetime.fromtimestamp(now).astimezone().date():
        clock = f"{instant:%b} {instant.day}{_ordinal(instant.day)}, {instant.year} {clock}"
    return (
        "You\u2019ve hit your usage limit. Visit https://chatgpt.com/settings/usage to purchase more credits "
        f"or try again at {clock}."
    )


def _half(instant: datetime) -> str:
    return "am" if instant.hour < 12 else "pm"


def _ordinal(day: int) -> str:
    return "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")

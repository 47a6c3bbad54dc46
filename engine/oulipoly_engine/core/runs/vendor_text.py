"""What the agent CLIs write when they fail, as patterns, and the older key-word heuristic. Pure.

Source of the sentences: Claude Code 2.1.50, 2.1.197 and 2.1.329, Codex 0.60, 0.120 and 0.169, opencode 1.18, Gemini CLI
0.61, all seen 2026-11 against a scripted model API; the API's own error words are those of the vendors' documentation.
"""

from __future__ import annotations

import re

from oulipoly_engine.core.runs.invocations import Category
from oulipoly_engine.records import Record


class TextMatch(Record):
    """A sentence that a CLI is known to print."""

    category: Category
    start: int  # offset of the sentence in the text
    resets_at: str | None = None  # as printed, e.g. `5:40am (UTC)`


# An escape sequence's body is bounded, so that a lone ESC in binary output costs nothing.
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")

_MISSING_SESSION = (
    r"no conversation found|no rollout found for thread id|thread/resume failed|session not found"
    r"|no session found|invalid session identifier|invalid resume"
)

# Tried in this order. Transient limits stand before the lasting ones, because Claude's transient sentence itself holds
# "your usage limit" ("... limiting requests (not your usage limit)").
_SENTENCES: tuple[tuple[Category, re.Pattern[str]], ...] = tuple(
    (category, re.compile(pattern, re.IGNORECASE))
    for category, pattern in (
        (
            Category.RATE_LIMIT,
            r"not your usage limit|temporarily limiting requests|request rejected \(429\)|last status: 429"
            r"|429 too many requests|rate limit reached for|would exceed your account['\u2019]s rate limit"
            r"|rate_limit_(?:error|exceeded)|retryablequotaerror|resource has been exhausted \(e\.g\. check quota\)",
        ),
        (
            Category.QUOTA_EXHAUSTED,
            r"you['\u2019]ve (?:hit|reached) your (?:[\w-]{1,20} ){0,3}limit|you['\u2019]re out of (?:extra )?usage"
            r"|(?:usage|session|weekly|monthly|5-hour|opus|sonnet|billing(?: hard)?|spend(?:ing)?) (?:limit|cap)"
            r" (?:was |has been )?(?:reached|exceeded|hit)|usage_limit_(?:reached|exceeded)"
            r"|credit balance is too low|(?:you )?exceeded your current quota|insufficient_quota"
            r"|quota (?:exceeded|exhausted)|exhausted your (?:daily |monthly )?(?:quota|capacity)|terminalquotaerror",
        ),
        (
            Category.AUTH_EXPIRED,
            r"(?:invalid|incorrect) api key|api key not valid|not logged in\b|please run /login|failed to authenticate"
            r"|oauth token (?:has )?(?:been )?(?:expired|revoked)|access token could not be refreshed"
            r"|(?:unexpected status|api error:) 40[13]\b|401 unauthorized|authentication_(?:error|failed)"
            r"|\bunauthenticated\b|missing environment variable: ?\W?\w{0,60}(?:key|token)"
            r"|organization has been disabled",
        ),
        (Category.RESUME_SESSION_MISMATCH, _MISSING_SESSION),
        (
            Category.NETWORK_ERROR,
            r"api error: (?:repeated )?5\d\d\b|unexpected status 5\d\d\b|overloaded_error|529 overloaded"
            r"|experiencing high demand|internal server error|bad gateway|service unavailable|unable to connect to api"
            r"|stream disconnected before completion|error sending request for url|waiting for network"
            r"|\b(?:econn(?:refused|reset|aborted)|enotfound|etimedout|eai_again|ehostunreach|enetunreach)\b"
            r"|could not resolve host",
        ),
        (
            Category.CLI_VERSION_MISMATCH,
            r"unknown (?:option|flag|argument|command)|unexpected argument"
            r"|unrecognized (?:arguments?|option|subcommand)|command not found|requires a newer version"
            r"|version of \w{1,20}(?: code)? .{0,40}needs an update"
            r"|final paginated rollout record|stream-json requires --verbose",
        ),
    )
)

# `resets 5:40am (UTC)`, `resets at 9pm`, `try again at 5:56 AM.`, `try again in 3 days`, `limit reached|1795246723`.
_RESET = re.compile(
    r"\bresets? (?:at |in |on )?([^·\n]{1,60})|try again (?:at|in) ([^\n]{1,60}?)(?:\.(?:\s|$)|$)|reached\|(\d{9,13})",
    re.IGNORECASE,
)

# The first hit wins. The bare word `auth` of older versions is bounded here: it used to match `author`.
_KEY_WORDS: tuple[tuple[Category, re.Pattern[str]], ...] = tuple(
    (category, re.compile(pattern, re.IGNORECASE))
    for category, pattern in (
        (Category.RATE_LIMIT, r"\b429\b|rate[ _-]?limit|too many requests"),
        (Category.QUOTA_EXHAUSTED, r"quota|billing|usage limit"),
        (
            Category.AUTH_EXPIRED,
            r"unauthori[sz]ed|unauthenticated|\bo?auth(?:entication|enticate|ori[sz]ation)?\b|token (?:has )?expired",
        ),
        (Category.RESUME_SESSION_MISMATCH, _MISSING_SESSION),
        (Category.CLI_VERSION_MISMATCH, r"not found|unknown (?:flag|option|argument|command)|unrecogni[sz]ed"),
        (Category.NETWORK_ERROR, r"connection|connect error|time(?:d |-)?out|\bdns\b|econn|enotfound|eai_again"),
    )
)

# Of what a quota script says; our own advice, which ends each failure, says "sign in again if".
_LOGIN_IS_OVER = re.compile(
    r"unauthori[sz]ed|unauthenticated|\boauth\b|token (?:has )?expired|not logged in|\bHTTP 401\b"
    r"|sign in (?:again|with the CLI)(?! if)",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"`[^`]*`")

_LINE_OF_MISSING_SESSION = re.compile(rf"^.{{0,60}}?({_MISSING_SESSION})", re.IGNORECASE | re.MULTILINE)


def plain(text: str) -> str:
    """Return the text without colour codes."""
    return _ANSI.sub("", text)


def match_sentence(text: str) -> TextMatch | None:
    """Return the known sentence in a text; None when there is none."""
    for category, pattern in _SENTENCES:
        found = pattern.search(text)
        if found is not None:
            return TextMatch(category, found.start(), _reset_in(text) if _can_reset(category) else None)
    return None


def heuristic(text: str) -> Category:
    """Return the category that the first matching key words stand for."""
    return next((category for category, pattern in _KEY_WORDS if pattern.search(text)), Category.UNKNOWN)


def means_login_is_over(failure: str) -> bool:
    """Tell whether a quota script failed since nobody is signed in. failure: as the reader tells it."""
    return _LOGIN_IS_OVER.search(_COMMAND.sub("", failure)) is not None


def find_missing_session_phrase(output: str) -> str | None:
    """Return the words by which a CLI said, near the start of a line, that it does not know the session."""
    found = _LINE_OF_MISSING_SESSION.search(plain(output))
    return found[1] if found else None


def _can_reset(category: Category) -> bool:
    return category in (Category.QUOTA_EXHAUSTED, Category.RATE_LIMIT)


def _reset_in(text: str) -> str | None:
    found = _RESET.search(text)
    return next(group for group in found.groups() if group).strip(" .") if found else None

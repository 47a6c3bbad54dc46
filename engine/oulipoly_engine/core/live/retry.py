"""Whether a turn that has failed is tried again, and when: one table and one policy for every wire. Pure (contract, H).

    cause          from                                        tried again
    network        no connection, a cut one                    yes
    rate_limit     HTTP 408 and 429, too many requests         yes, after the wait that the vendor asks for
    timeout        the vendor's API did not answer in time     yes
    server_error   HTTP 5xx, overloaded                        yes
    none           login, plan used up, bad request, stopped   no

Only a turn of which nothing has come yet is tried again (`service/live/turn/retries.py`). A plan that is used up is for
another account.
"""

from __future__ import annotations

import re
from typing import Literal

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import TurnRetrying
from oulipoly_engine.core.runs.invocations import Category
from oulipoly_engine.core.runs.vendor_text import heuristic, match_sentence
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.records import Record

Cause = Literal["network", "rate_limit", "timeout", "server_error"]

_BY_CODE: dict[str, Cause] = {
    failures.RATE_LIMIT: "rate_limit",
    failures.SERVER_ERROR: "server_error",
    failures.OVERLOADED: "server_error",
    "httpConnectionFailed": "network",  # codex's words
    "responseStreamConnectionFailed": "network",
    "responseStreamDisconnected": "network",
}
# Of other codes the sentence tells; only of these nothing but the code is asked.
_VAGUE = ("", "unknown", "other")
_TIMEOUT = re.compile(r"etimedout|\btim(?:ed|e)[ -]?out\b", re.IGNORECASE)
_SERVER = re.compile(r"\b5\d\d\b|overloaded|high demand|internal server error|bad gateway|unavailable", re.IGNORECASE)
_WAIT = re.compile(
    r"(?:retry[- ]after:?|(?:try|retry) again (?:in|after)) {0,3}(\d{1,7}(?:\.\d{1,6})?) ?(ms|s|m|h|d)?", re.IGNORECASE
)
_UNITS_MS = {"ms": 1, "": 1000, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_MOST_DOUBLINGS = 64  # further ones are beyond every cap
_WORDS = {"rate_limit": "rate limit", "server_error": "server error"}


class Failure(Record):
    """A failure that may pass by itself."""

    cause: Cause
    wait_ms: int = 0  # that the vendor asks for; 0: it asks for none


class Wait(Record):
    """It is tried again."""

    attempt: int  # from 1: how often it will have been tried again
    delay_ms: int
    failure: Failure


class Policy(Record):
    """How often, and after which pauses."""

    attempts: int = 3  # that a turn is tried again; 0: never
    base_ms: int = 1000  # before the first time
    cap_ms: int = 30_000
    multiplier: float = 2.0
    jitter: float = 0.1  # share by which a pause is longer or shorter, never longer than the cap
    total_ms: int | None = None  # from the first failure to the last pause's end; None: no limit

    def delay_ms(self, retries: int, chance: float = 0.5) -> int:
        """Return the pause after so many tries again. chance: 0 to 1, random; 0.5 changes nothing."""
        raised = self.base_ms * self.multiplier ** min(retries, _MOST_DOUBLINGS)
        share = 1 + self.jitter * (2 * chance - 1)
        return round(min(min(raised, self.cap_ms) * share, self.cap_ms))

    def judge(self, failure: Failure | None, retries: int, chance: float = 0.5, elapsed_ms: int = 0) -> Wait | None:
        """Return when a turn is tried again that was so often already; None: it has failed.

        elapsed_ms: since it failed first. A vendor that asks for a longer wait than the cap is not asked again.
        """
        if failure is None or retries >= self.attempts or failure.wait_ms > self.cap_ms:
            return None
        delay_ms = failure.wait_ms or self.delay_ms(retries, chance)
        if self.total_ms is not None and elapsed_ms + delay_ms > self.total_ms:
            return None
        return Wait(retries + 1, delay_ms, failure)


def classify(code: str, message: str) -> Failure | None:
    """Return what a turn's failure is that may pass by itself; None: it does not. code, message: of `TurnEnded`."""
    cause = _BY_CODE.get(code)
    if cause is None and code in _VAGUE:
        cause = _read_cause(message)
    return None if cause is None else Failure(cause, find_wait_ms(message))


def cause_of_status(status: int) -> Cause | None:
    """Return the cause that an HTTP status stands for; None: trying again does not help."""
    if status in (408, 429):
        return "rate_limit"
    return "server_error" if 500 <= status < 600 else None


def find_wait_ms(message: str) -> int:
    """Return the wait that a vendor's sentence asks for, as in `retry after 30s`; 0: none."""
    match = _WAIT.search(message)
    if match is None:
        return 0
    return round(float(match[1]) * _UNITS_MS[(match[2] or "").lower()])


def describe_retry(event: TurnRetrying, stop: str = "") -> str:
    """Return what is said while a turn waits. stop: the key or command that ends it; empty: none is offered."""
    if not event.attempts:  # the CLI does it by itself
        return f"tries again: {visible_line(event.message)}"
    pause = f"{round(event.delay_ms / 1000, 1):g} s"
    cause = _WORDS.get(event.cause, event.cause)
    if event.is_asked:
        cause = f"{cause}, retry after {pause}"
    text = f"Retry {event.attempt}/{event.attempts} in {pause}: {cause}"
    return f"{text}. {stop}: stop" if stop else text


def _read_cause(message: str) -> Cause | None:
    known = match_sentence(message)
    category = heuristic(message) if known is None else known.category
    if category is Category.RATE_LIMIT:
        return "rate_limit"
    if category is not Category.NETWORK_ERROR:
        return None
    if _TIMEOUT.search(message):
        return "timeout"
    return "server_error" if _SERVER.search(message) else "network"

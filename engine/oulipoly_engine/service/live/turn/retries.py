"""The running turn as its tries go: whether it may be tried again, and what is sent then.

Only while nothing of its answer has come and nothing was done: what a CLI has begun may have had an effect. A CLI that
has tried again by itself is not repeated either.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.retry import Policy, Wait, classify

_OF_THE_AGENT = ev.ItemStarted | ev.ItemDelta | ev.ItemEnded


class Retries:
    """The tries of one turn after the other."""

    def __init__(self, policy: Policy, monotonic: Callable[[], float]) -> None:
        """monotonic: seconds."""
        self._policy = policy
        self._monotonic = monotonic
        self.due_at: float | None = None  # when the turn is tried again; None: it does not wait for that
        self.begin("", may_retry=False)

    def begin(self, text: str, *, may_retry: bool = True) -> None:
        """Take a turn that begins. text: what its CLI is sent, with secrets. may_retry: it is somebody's message."""
        self.text = text
        self._may_retry = may_retry
        self._retries = 0
        self._failed_at: float | None = None
        self.due_at = None

    def note(self, event: ev.AnyEvent) -> None:
        """Take what the turn does: once it has done anything, it is not tried again."""
        is_own = isinstance(event, _OF_THE_AGENT) and _kind_of(event) != "user_message"
        if is_own or isinstance(event, ev.RequestOpened | ev.TurnRetrying | ev.SteerSettled):
            self._may_retry = False

    def fail(self, event: ev.TurnEnded) -> ev.TurnRetrying | None:
        """Return what is told of a turn that has failed and will be tried again; None: it is over."""
        if event.status != "failed" or event.reply or not self._may_retry:
            return None
        now = self._monotonic()
        if self._failed_at is None:
            self._failed_at = now
        elapsed_ms = round((now - self._failed_at) * 1000)
        chance = random.random()  # noqa: S311 - it spreads clients, and guards nothing
        wait = self._policy.judge(classify(event.code, event.message), self._retries, chance, elapsed_ms)
        if wait is None:
            return None
        self._retries = wait.attempt
        self.due_at = now + wait.delay_ms / 1000
        return self._describe(event, wait)

    def seconds_left(self, now: float) -> float | None:
        """Return the seconds until the turn is tried again; None: it does not wait for that."""
        return None if self.due_at is None else max(0.0, self.due_at - now)

    def _describe(self, event: ev.TurnEnded, wait: Wait) -> ev.TurnRetrying:
        return ev.TurnRetrying(
            event.message,
            event.code,
            attempt=wait.attempt,
            attempts=self._policy.attempts,
            delay_ms=wait.delay_ms,
            cause=wait.failure.cause,
            is_asked=wait.failure.wait_ms > 0,
        )


def _kind_of(event: ev.ItemStarted | ev.ItemDelta | ev.ItemEnded) -> ev.ItemKind:
    return event.kind if isinstance(event, ev.ItemDelta) else event.item.kind

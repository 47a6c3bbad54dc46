"""How an agent stands, for several threads: told without ever waiting for whoever listens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from queue import Empty, Full, Queue

from oulipoly_engine.core.agents import states
from oulipoly_engine.core.agents.states import Event, Reason, Standing, Status
from oulipoly_engine.errors import RequestRefused

_WAITING = 16  # changes that a listener may be behind; more are dropped, and `standing` tells how it is
_LOOK_S = 0.02


class SubscriptionClosed(RequestRefused, slug="subscription-closed"):
    """Somebody ended the subscription that a wait was for."""


class WaitCancelled(RequestRefused, slug="wait-cancelled"):
    """A wait for a status took too long, or was called off."""


class Subscription:
    """The changes of one agent, as they come."""

    def __init__(self, end: Callable[[Subscription], None]) -> None:
        self._end = end
        self.queue: Queue[Status | None] = Queue(_WAITING)  # None: it was ended
        self.is_closed = False

    def cancel(self) -> None:
        """End it; more than once does nothing."""
        self._end(self)

    def drain(self) -> tuple[Status, ...]:
        """Return what has come, without waiting."""
        statuses: list[Status] = []
        while True:
            try:
                status = self.queue.get_nowait()
            except Empty:
                return tuple(statuses)
            if status is not None:
                statuses.append(status)


class StatusTracker:
    """One agent's standing. Safe to use from any thread."""

    def __init__(self, standing: Standing = Standing()) -> None:  # noqa: B008 - a frozen record
        self._lock = threading.Lock()
        self._standing = standing
        self._subscriptions: set[Subscription] = set()

    @property
    def standing(self) -> Standing:
        """Return how it stands."""
        return self._standing

    def apply(self, event: Event, reason: Reason = "") -> Standing:
        """Move by the table and tell all who listen. Raises AgentStateInvalid."""
        with self._lock:
            return self._set(states.advance(self._standing, event, reason))

    def force(self, standing: Standing) -> None:
        """Take over what stands in the records, whatever was before: after a restart, or in a test."""
        with self._lock:
            self._set(standing)

    def set_unless(self, status: Status, unless: Collection[Status]) -> bool:
        """Set a status unless it is one of some now, and return whether it was set."""
        with self._lock:
            if not states.is_changed_by_exit(self._standing.status, unless):
                return False
            self._set(Standing(status))
            return True

    def subscribe(self) -> Subscription:
        """Return what tells of changes from now on; whoever asked for it cancels it."""
        subscription = Subscription(self._drop)
        with self._lock:
            self._subscriptions.add(subscription)
        return subscription

    def wait_for(
        self, statuses: Collection[Status], timeout_s: float | None = None, cancelled: threading.Event | None = None
    ) -> Status:
        """Return the first of some statuses that it has, now or later.

        Raises WaitCancelled where the time is over or the wait was cancelled, SubscriptionClosed as that says.
        """
        subscription = self.subscribe()  # first: a change between the look and the wait would be missed
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            status = self._standing.status
            while status not in statuses:
                late = deadline is not None and time.monotonic() >= deadline
                if late or (cancelled is not None and cancelled.is_set()):
                    raise WaitCancelled(f"the agent is {status} and nobody waits any longer")
                status = self._next(subscription)
            return status
        finally:
            subscription.cancel()

    def _next(self, subscription: Subscription) -> Status:
        try:
            status = subscription.queue.get(timeout=_LOOK_S)
        except Empty:
            return self._standing.status  # a change may have been dropped
        if status is None:
            raise SubscriptionClosed("nothing more is told of this agent")
        return status

    def _set(self, standing: Standing) -> Standing:
        self._standing = standing
        for subscription in self._subscriptions:
            try:
                subscription.queue.put_nowait(standing.status)
            except Full:
                continue
        return standing

    def _drop(self, subscription: Subscription) -> None:
        with self._lock:
            if subscription.is_closed:
                return
            subscription.is_closed = True
            self._subscriptions.discard(subscription)
            if subscription.queue.full():
                subscription.queue.get_nowait()
            subscription.queue.put_nowait(None)

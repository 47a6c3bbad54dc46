"""What one live session asks of people: opened once, answered once, and settled whatever ends.

Everything is written to the store before it is told, as in `service.live.turns`, which owns this.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live import requests
from oulipoly_engine.core.live.orders import Answer
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.drivers.base import Driver, Resolution
from oulipoly_engine.errors import RequestNotFound, UsageInvalid
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_requests

_PREFIX = "cli_req_"


class SessionRequests:
    """The requests of one session that are open."""

    def __init__(
        self, store: Store, session_id: str, driver: Driver, clock: Clock, say: Callable[[ev.AnyEvent], None]
    ) -> None:
        """say: takes what has happened."""
        self._store, self._session_id, self._driver, self._clock, self._say = store, session_id, driver, clock, say
        self._open: dict[str, LiveRequest] = {}  # by the CLI's id

    @property
    def are_open(self) -> bool:
        """Return whether any waits for an answer."""
        return bool(self._open)

    def take_over(self) -> None:
        """Settle what a host that died has left open."""
        for request in live_requests.pending(self._store, self._session_id):
            self._finish(request, "expired", "the session's process had ended")

    def open(self, event: ev.RequestOpened, turn_id: str) -> None:
        """Take a request of the CLI's. turn_id: of the running turn; empty: none runs."""
        known = self._open.get(event.native_id)
        prompt = _shorten(event.prompt)
        request = LiveRequest(
            request_id=known.request_id if known else _PREFIX + secrets.token_urlsafe(16)[:21],
            session_id=self._session_id,
            turn_id=turn_id,
            native_id=event.native_id,
            kind=event.kind,
            status="pending",
            prompt=prompt,
            created_at=self._clock.now(),
        )
        self._open[event.native_id] = request
        if known is None:
            live_requests.insert(self._store, request)
        self._say(replace(event, prompt=prompt, request_id=request.request_id, turn_id=request.turn_id))

    def take_back(self, event: ev.RequestResolved) -> None:
        """Take it that the CLI waits for an answer no more."""
        request = self._open.get(event.native_id)
        if request is not None:
            self._finish(request, "cancelled", "the CLI took it back")

    def expire(self, older_than_s: float) -> float | None:
        """Expire the requests that nobody has answered for so long. Returns the seconds until the next is due."""
        waits = []
        for request in tuple(self._open.values()):
            left = older_than_s - (self._clock.now() - request.created_at).total_seconds()
            if left <= 0:
                self._driver.answer(request.native_id, Resolution("expire"))
                self._finish(request, "expired", "nobody answered in time", "expire")
            else:
                waits.append(left)
        return min(waits, default=None)

    def finish_all(self, status: str, by: str) -> None:
        """Settle all that is open, without a word to the CLI."""
        for request in tuple(self._open.values()):
            self._finish(request, status, by)

    def answer(self, order: Answer, by: str) -> dict[str, Any]:
        """Do what a person has answered, and return what became of the request. Raises RequestRefused, UsageInvalid."""
        identity = order.request_id
        decision = requests.parse_decision(order.decision)
        if decision is None:
            words = "approve, approve_for_session, deny, answer or cancel"
            raise UsageInvalid(f"{order.decision!r} is not an answer: {words}")
        request = self._find(identity)
        requests.check(request, decision, order.answers)
        if not self._finish(request, requests.STATUS[decision], by, decision):
            self._driver.answer(request.native_id, Resolution("expire"))  # else its CLI would wait for ever
            (kept,) = live_requests.find(self._store, identity)
            told = kept.request_id, kept.status, kept.answered_by, kept.turn_id, kept.decision
            self._say(ev.RequestResolved(request.native_id, *told))
            raise requests.RequestStale(f"the request {identity} was answered meanwhile")
        self._driver.answer(request.native_id, Resolution(decision, order.reason, order.answers))
        return {"request_id": request.request_id, "status": requests.STATUS[decision]}

    def _find(self, identity: str) -> LiveRequest:
        request = next((one for one in self._open.values() if one.request_id == identity), None)
        if request is not None:
            return request
        found = live_requests.find(self._store, identity)
        if not found:
            raise RequestNotFound(f"there is no request {identity!r}")
        if found[0].status == "pending":
            live_requests.settle(self._store, found[0].request_id, "expired", self._clock.now())
            raise requests.RequestStale(f"the request {identity} is stale: its turn is over")
        return found[0]

    def _finish(self, request: LiveRequest, status: str, by: str, decision: str = "") -> bool:
        """Make a request final. Returns whether it was open."""
        self._open.pop(request.native_id, None)
        now = self._clock.now()
        if not live_requests.settle(self._store, request.request_id, status, now, decision=decision, answered_by=by):
            return False
        self._say(ev.RequestResolved(request.native_id, request.request_id, status, by, request.turn_id, decision))
        return True


def _shorten(prompt: ev.Prompt) -> ev.Prompt:
    """Keep the head of long diffs: a request is for reading, and the item has all of it."""
    if all(len(change.diff) <= requests.DIFF_LIMIT for change in prompt.changes):
        return prompt
    cut = (replace(change, diff=change.diff[: requests.DIFF_LIMIT]) for change in prompt.changes)
    lengths = [len(change.diff) for change in prompt.changes]
    note = f"the diff is cut: {requests.DIFF_LIMIT} of {max(lengths)} characters"
    return replace(prompt, changes=tuple(cut), note=prompt.note or note)

"""Looks at what has changed whenever the state file has: hints go out, people are told, revoked devices are dropped.

One thread. It asks what somebody wants to know and nothing else, twice a second at most.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.checks.alerts import Severity
from oulipoly_engine.core.live.requests import to_json
from oulipoly_engine.core.worktrees.retention import describe_gone
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade import diagnostics
from oulipoly_engine.web.api.listing import session_row

if TYPE_CHECKING:
    from oulipoly_engine.core.checks.alerts import Alert
    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.web.api.streams import Hub
    from oulipoly_engine.web.notices import Notices

_EVERY_S = 0.4  # between two looks
_DAY_S = 86_400.0  # between two looks at what may go by itself
_AT_LEAST_S = 10.0  # a look even so: a token may have run out
_LAST = 100  # requests whose answers are told
_TOLD = float("inf")
_DWELL_S = 1.0  # what waits so long needs a person
_ALERTS_EVERY_S = 30.0  # between two looks at what else wants a person
# Two servers may see a window differently for as long as a forecast is kept: what is gone for less is not over.
_SETTLES_S = 120.0


class Attention:
    """The thread."""

    def __init__(self, engine: Engine, hub: Hub, notices: Notices) -> None:
        self._engine, self._hub, self._notices = engine, hub, notices
        self._changed, self._ended = threading.Event(), threading.Event()
        self._requests: Mapping[str, str] | None = None  # their states
        self._sessions: Mapping[str, dict[str, Any]] | None = None
        self._seen_at: dict[str, float] = {}  # of what nobody was told of yet, by the ids of notices
        self._alerts: dict[str, Alert] = {}  # that are no requests, by the same
        self._held_at: dict[str, float] = {}  # when each of them held last
        self._next_alerts_at = self._began_at = time.monotonic()
        self._said: set[str] = set()
        self._watch = engine.web.watch(self._changed.set)
        threading.Thread(target=self._prune_daily, name="retention", daemon=True).start()
        self._thread = threading.Thread(target=self._run, name="attention", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._changed.set()
        self._watch.close()
        self._thread.join(2.0)

    def _run(self) -> None:
        self._engine.recovery.settle_at_start()
        while not self._ended.is_set():
            self._hub.wake()
            for look in (self._drop_revoked, self._look, self._start_waiting):
                self._try(look)
            if self._ended.wait(_EVERY_S):
                break
            waits = any(at != _TOLD for at in self._seen_at.values())
            self._changed.wait(_EVERY_S if waits else _AT_LEAST_S)
            self._changed.clear()

    def _prune_daily(self) -> None:
        """Let go what may go by itself, and say so; in a thread of its own, since a removal can take minutes."""
        while True:
            for look in (self._prune, self._shorten_events):
                self._try(look)
            if self._ended.wait(_DAY_S):
                return

    def _prune(self) -> None:
        if self._ended.is_set():
            return
        self._engine.retention.prune()
        news = self._engine.retention.take_news("serve")
        if news:
            diagnostics.note(describe_gone(news))

    def _shorten_events(self) -> None:
        if not self._ended.is_set():
            self._engine.retention.shorten_events()

    def _try(self, look: Callable[[], None]) -> None:
        """Look; what one cannot read, the others may. A mistake of ours is told once, and ends nothing."""
        try:
            look()
        except RunnerError:
            return
        except Exception as error:
            text = f"Warning: the server cannot look at what has changed: {error!r}"
            if text not in self._said:
                self._said.add(text)
                diagnostics.note(text)

    def _look(self) -> None:
        hints = self._look_at_requests()
        if self._hub.hears_hints:
            hints += self._look_at_sessions()
        else:
            self._sessions = None
        if hints:
            self._hub.hint([json.dumps(one, ensure_ascii=True).encode() for one in hints])

    def _drop_revoked(self) -> None:
        self._hub.drop_devices(self._engine.web.closed_devices(self._hub.device_ids()))

    def _start_waiting(self) -> None:
        self._engine.work.start_waiting()

    def _look_at_requests(self) -> list[dict[str, Any]]:
        pending = {one.request_id: one for one in self._engine.live.requests()}
        # What was opened and answered between two looks may be on somebody's screen, too.
        last = {one.request_id: one for one in self._engine.live.requests(all_states=True, limit=_LAST)} | pending
        known, self._requests = self._requests, {identity: one.status for identity, one in last.items()}
        hints: list[dict[str, Any]] = []
        for identity, one in last.items():
            if known is None or known.get(identity) == one.status:
                continue
            if one.status == "pending":
                hints.append({"type": "request_opened", "request": to_json(one)})
            else:
                hints.append({"type": "request_settled", "request_id": identity, "session_id": one.session_id or None})
        if self._notices.is_wanted:
            self._notify(pending, time.monotonic())
        return hints

    def _notify(self, pending: Mapping[str, LiveRequest], now: float) -> None:
        """Tell what has come, and take back what is over; a request at once, what else there is once it stays away."""
        self._try(lambda: self._look_at_alerts(now))  # a broken file keeps no request from being told
        open_ids = pending.keys() | self._alerts.keys()
        self._seen_at = {identity: self._seen_at.get(identity, now) for identity in open_ids}
        for identity, seen_at in self._seen_at.items():
            if seen_at == _TOLD or now - seen_at < _DWELL_S:
                continue
            if identity in pending:
                self._notices.tell_request(pending[identity])
            else:
                self._notices.tell(self._alerts[identity])
            self._seen_at[identity] = _TOLD
        held = {identity for identity, at in self._held_at.items() if now - at < _SETTLES_S}
        self._notices.withdraw(open_ids | held, keeps_alerts=now - self._began_at < _SETTLES_S)

    def _look_at_alerts(self, now: float) -> None:
        if now < self._next_alerts_at:
            return
        self._next_alerts_at = now + _ALERTS_EVERY_S
        self._engine.quota.raise_alerts(audience="serve")
        wants = (alert for alert in self._engine.snapshot().alerts if alert.severity is not Severity.NOTE)
        self._alerts = {alert.notice_id: alert for alert in wants}
        self._held_at |= dict.fromkeys(self._alerts, now)

    def _look_at_sessions(self) -> list[dict[str, Any]]:
        found = {one.session.session_id: session_row(one) for one in self._engine.work.list(100, all_live=True)}
        before, self._sessions = self._sessions, found
        if before is None:  # what came since somebody began to listen is not known
            return [{"type": "resync"}]
        return [
            {"type": "session_changed", "session": row}
            for identity, row in found.items()
            if before.get(identity) != row
        ]

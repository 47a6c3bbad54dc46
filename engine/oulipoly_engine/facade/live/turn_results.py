"""How a turn stands, or has ended, and the wait for that."""

from __future__ import annotations

import time
from collections.abc import Callable

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.core.live.states import TURN_OPEN
from oulipoly_engine.records import Record
from oulipoly_engine.service.live.hosts import LiveClient
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_events, live_queue, live_requests, live_sessions

PROCESS_LOST = "process_lost"  # the code of a turn whose process has ended before it did
_LOST = "its process was lost before the turn was over"  # where nothing that lived could say why
_LOOK_S = 0.5  # between two looks at whether a session still lives while its turn is waited for
_LAST = 20  # events among which the end of a process is looked for

Look = Callable[[ev.Numbered], bool]  # is given what happens meanwhile; True: no more waiting


class TurnResult(Record):
    """How a turn stands, or ended."""

    turn_id: str
    status: str  # queued, revoked, starting, running, completed, failed, interrupted, blocked, waiting_approval
    reply: str | None = None
    message: str = ""
    code: str = ""
    request_id: str = ""  # what is asked, where it waits for that


def read_result(store: Store, session_id: str, turn_id: str, *, is_alive: bool, after: int = 0) -> TurnResult:
    """Return how a turn stands.

    is_alive: a process of its session lives; else an open turn is blocked. after: number of the event behind which it
    is said why that process has ended.
    """
    turn = live_sessions.find_turn(store, turn_id)
    message = live_queue.find(store, turn_id) if turn is None else None
    end = None if is_alive else last_end(store, session_id, after)
    why = "" if end is None else end.message
    if turn is None:
        if message is not None and message.state == "revoked":
            return TurnResult(turn_id, "revoked", None, message.note or "the message was taken back")
        code = end.reason if isinstance(end, ev.SessionFailed) else ""
        return TurnResult(turn_id, "queued", None, why, code)
    if turn.status in TURN_OPEN and not is_alive:
        return TurnResult(turn_id, "blocked", turn.reply or None, why or _LOST, PROCESS_LOST)
    return TurnResult(turn_id, turn.status, turn.reply or None, turn.message, turn.code)


def last_end(store: Store, session_id: str, after: int = 0) -> ev.SessionFailed | ev.SessionClosed | None:
    """Return why the last process of a session has ended, if that is among the last things that it said."""
    last = live_events.before(store, session_id, None, _LAST)
    for event in (numbered.event for numbered in reversed(last) if numbered.seq > after):
        match event:
            case ev.SessionOpened():
                return None
            case ev.SessionFailed():
                return event
            case ev.SessionClosed() if event.reason != "failed":  # else its cause stands before it
                return event
    return None


def wait_for_turn(
    client: LiveClient,
    store: Store,
    turn_id: str,
    look: Look | None,
    asked_before: tuple[LiveRequest, ...] = (),
    patience_s: float | None = None,
) -> bool:
    """Wait until a turn is over, or `look` has seen enough. Raises HostGone. Returns whether the turn is over.

    asked_before: requests that were open before the first event that the client is told: the turn waits for them too.
    patience_s: until the wait ends anyway; None: it does not.
    """
    for request in asked_before:
        opened = ev.RequestOpened(
            request.native_id, request.kind, request.prompt, request_id=request.request_id, turn_id=request.turn_id
        )
        if (
            look is not None
            and _is_pending(store, opened)
            and look(ev.Numbered(0, to_text(request.created_at), opened))
        ):
            return False
    deadline = None if patience_s is None else time.monotonic() + patience_s
    while deadline is None or time.monotonic() < deadline:
        left = _LOOK_S if deadline is None else max(0.0, min(_LOOK_S, deadline - time.monotonic()))
        for numbered in client.wait(left):
            event = numbered.event
            if isinstance(event, ev.RequestOpened) and not _is_pending(store, event):
                continue  # answered long ago: it is told from the beginning
            has_seen_enough = look is not None and look(numbered)
            if _ends_wait(store, event, turn_id):
                return True
            if has_seen_enough:
                return False
    return False


def _ends_wait(store: Store, event: ev.AnyEvent, turn_id: str) -> bool:
    """Tell whether a turn is over with an event, or its message was taken back."""
    match event:
        case ev.TurnEnded():
            return event.turn_id == turn_id
        case ev.QueueChanged() if turn_id not in [message[0] for message in event.messages]:
            message = live_queue.find(store, turn_id)
            return message is not None and message.state == "revoked"
        case _:
            return False


def wait_for_opening(client: LiveClient, store: Store, turn_id: str) -> None:
    """Wait until a session is open, and a message has become a turn or waits for another one. Raises HostGone."""
    is_waiting = True
    while is_waiting:
        is_begun = any(isinstance(numbered.event, ev.TurnStarted) for numbered in client.wait(_LOOK_S))
        message = live_queue.find(store, turn_id)
        is_waiting = not is_begun and message is not None and message.state == "queued"


def _is_pending(store: Store, event: ev.RequestOpened) -> bool:
    return any(request.status == "pending" for request in live_requests.find(store, event.request_id))

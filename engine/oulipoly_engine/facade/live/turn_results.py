"""How a turn stands, or has ended, and the wait for that."""

from __future__ import annotations

from collections.abc import Callable

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

Look = Callable[[ev.AnyEvent], bool]  # is given what happens meanwhile; True: no more waiting


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
    client: LiveClient, store: Store, turn_id: str, look: Look | None, asked_before: tuple[LiveRequest, ...] = ()
) -> bool:
    """Wait until a turn is over, or `look` has seen enough. Raises HostGone. Returns whether the turn is over.

    asked_before: requests that were open before the first event that the client is told: the turn waits for them too.
    """
    for request in asked_before:
        opened = ev.RequestOpened(
            request.native_id, request.kind, request.prompt, request_id=request.request_id, turn_id=request.turn_id
        )
        if look is not None and _is_pending(store, opened) and look(opened):
            return False
    while True:
        for numbered in client.wait(_LOOK_S):
            match numbered.event:
                case ev.TurnEnded() if numbered.event.turn_id == turn_id:
                    return True
                case ev.QueueChanged() if turn_id not in [message[0] for message in numbered.event.messages]:
                    message = live_queue.find(store, turn_id)
                    if message is not None and message.state == "revoked":
                        return True
                case ev.RequestOpened() if not _is_pending(store, numbered.event):
                    pass  # answered long ago: it is told from the beginning
                case event if look is not None and look(event):
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

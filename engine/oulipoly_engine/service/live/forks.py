"""Forks: a session with the past of another one, by the CLI itself where it can, else with a preface."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.launch.catalogue import Catalogue
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.live.sessions import LiveSession, Turn, why_elsewhere
from oulipoly_engine.drivers.table import driver_of
from oulipoly_engine.errors import RuntimeUnknown, TurnNotFound
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_events, live_sessions

PREFACE_LIMIT = 200_000  # characters of what was said: the older part is left out first
PREFACE_LOSSES = ("what the tools printed", "the agent's thoughts", "what was allowed for the whole session")
_LAST_EVENTS = 50  # among which the end of a fork's last process is
_REFUSALS = (failures.CLOSED, failures.HANDSHAKE_FAILED, failures.THREAD_LOST, failures.THREAD_MISMATCH)
PREFACE_EVENTS = 20_000  # of a session that are looked at
_INTRODUCTION = (
    "What follows was said before, in another session or process. Take it as what was said between us so far; the "
    "tools that were used there are only named. My next message stands behind it."
)


def prepare_fork(
    store: Store,
    source: LiveSession,
    catalogue: Catalogue,
    now: datetime,
    at_turn: str = "",
    runtime_id: str = "",
    title: str = "",
) -> tuple[LiveSession, str, tuple[str, ...]]:
    """Return the session to begin, how its past comes to it, and what of it does not. Raises RequestRefused.

    at_turn: the last turn to take over; empty: all. runtime_id: another runtime; empty: the same.
    """
    runtime = catalogue.find(runtime_id or source.runtime_id)
    if runtime is None:
        name = runtime_id or source.runtime_id
        raise RuntimeUnknown(f"there is no runtime {name!r}: `agents runtime list` lists them")
    is_other = runtime.id != source.runtime_id or bool(why_elsewhere(source, runtime))
    turns = live_sessions.turns_of(store, source.session_id)
    last = _find_turn(turns, at_turn)
    cut = _find_cut(store, source, last) if last is not None else ""
    is_named = driver_of(runtime.kind).names_turns
    has_begun = live_sessions.has_begun(store, source.session_id, are_named=is_named)
    missing = _why_not_native(source, at_turn, cut, has_turns=has_begun, is_other=is_other)
    opening = replace(source.opening, capabilities=None, fork_of="", fork_at="", fork_turn="", preface="")
    if is_other:  # its model and its arguments are another CLI's
        opening = replace(opening, model=runtime.model, effort=runtime.effort, args=runtime.args)
    if missing:
        unsaid = source.opening.preface  # of a fork that has not begun yet
        opening = replace(opening, preface=unsaid or make_preface(_events_to(store, source, turns, last)))
        why = describe_preface(missing)
        losses = _list_losses(source, runtime, is_other=is_other)
    else:
        fork_turn = "" if last is None else last.turn_id
        opening = replace(opening, fork_of=source.native_id, fork_at=cut if at_turn else "", fork_turn=fork_turn)
        why, losses = "by the CLI itself", ()
    session = LiveSession(
        session_id=str(uuid.uuid4()),
        workspace=source.workspace,
        runtime_id=runtime.id,
        runtime_kind=runtime.kind,
        model_name=source.model_name,
        created_at=now,
        updated_at=now,
        account=runtime.account or None,
        opening=opening,
        title=title or (f"fork of {source.title}" if source.title else ""),
        forked_from=source.session_id,
    )
    return session, why, losses


def find_refusal(store: Store, session: LiveSession) -> str:
    """Return why the CLI could not make a fork by itself; empty: it could, has not tried, or may be able to later.

    Claude has no turn any more that it has compacted, and says so when it is to fork there.
    """
    is_named = driver_of(session.runtime_kind).names_turns
    is_tried = bool(session.opening.fork_of) and session.generation > 0
    if not is_tried or live_sessions.has_begun(store, session.session_id, are_named=is_named):
        return ""
    reason, why = "", ""
    for numbered in live_events.before(store, session.session_id, None, _LAST_EVENTS):
        match numbered.event:
            case ev.SessionOpened():
                reason = ""
            case ev.SessionFailed(reason=reason, message=why):
                pass
            case ev.SessionClosed(message=why):
                pass
    return f"its CLI could not: {why}" if reason in _REFUSALS else ""


def give_preface(store: Store, session: LiveSession, now: datetime) -> LiveSession:
    """Have a fork that the CLI refuses begin with what was said; returns it as it is then."""
    source = live_sessions.find(store, session.forked_from or "")[0]
    turns = live_sessions.turns_of(store, source.session_id)
    last = next((turn for turn in turns if turn.turn_id == session.opening.fork_turn), None)
    preface = make_preface(_events_to(store, source, turns, last))
    opening = live_sessions.change_opening(
        store, session.session_id, now, fork_of="", fork_at="", fork_turn="", preface=preface
    )
    return replace(session, opening=opening)


def describe_preface(why: str) -> str:
    """Say how the past comes to a fork that the CLI does not make."""
    return f"with what was said as a preface, since {why}"


def _list_losses(source: LiveSession, runtime: Runtime, *, is_other: bool) -> tuple[str, ...]:
    """Return what a preface does not carry."""
    lost = [*PREFACE_LOSSES]
    if is_other:
        options = source.opening
        lost += [f"the model {options.model}"] if options.model not in ("", runtime.model) else []
        lost += [f"the effort {options.effort}"] if options.effort not in ("", runtime.effort) else []
        lost += [f"the account {source.account}"] if source.account != (runtime.account or None) else []
    return tuple(lost)


def make_preface(events: Iterable[ev.AnyEvent]) -> str:
    """Return what was said, for an agent that has not heard it."""
    lines: list[str] = []
    for event in events:
        if not isinstance(event, ev.ItemEnded):
            continue
        item = event.item
        match item.kind:
            case "user_message" if not item.untaken:
                lines.append(f"User:\n{item.text}")
            case "agent_message":
                lines.append(f"Agent:\n{item.text}")
            case "command" | "file_change" | "tool":
                lines.append(f"[{item.kind.replace('_', ' ')}: {item.title or item.native_kind}, {item.status}]")
            case _:
                pass
    text = "\n\n".join(lines)
    if len(text) > PREFACE_LIMIT:
        text = f"[the beginning is left out]\n\n{text[-PREFACE_LIMIT:]}"
    return f"{_INTRODUCTION}\n\n<session>\n{text}\n</session>\n\n"


def _find_turn(turns: tuple[Turn, ...], at_turn: str) -> Turn | None:
    if not at_turn:
        return turns[-1] if turns else None
    found = [turn for turn in turns if turn.turn_id.startswith(at_turn)]
    if len(found) != 1:
        raise TurnNotFound(f"the session has no turn {at_turn!r}: `agents session status` and `follow` name its turns")
    return found[0]


def _find_cut(store: Store, source: LiveSession, turn: Turn) -> str:
    """Return where the CLI can cut behind a turn, in its own terms."""
    for one in reversed(live_events.before(store, source.session_id, None, PREFACE_EVENTS)):
        if isinstance(one.event, ev.TurnEnded) and one.event.turn_id == turn.turn_id:
            return one.event.fork_at or turn.native_turn_id or ""
    return turn.native_turn_id or ""


def _why_not_native(source: LiveSession, at_turn: str, cut: str, *, has_turns: bool, is_other: bool) -> str:
    """Say why the CLI cannot fork by itself; empty: it can."""
    able = source.opening.capabilities or ()
    if is_other:
        return "it goes on in another runtime"
    if source.status == "fenced":
        return "its own session is lost"
    if not has_turns or source.native_id is None:
        return "it has no turn yet"
    if "fork" not in able:
        return "its CLI cannot fork"
    if at_turn and ("fork_at_turn" not in able or not cut):
        return "its CLI forks at the end only"
    return ""


def _events_to(store: Store, source: LiveSession, turns: tuple[Turn, ...], last: Turn | None) -> list[ev.AnyEvent]:
    if last is None:
        return []
    taken = {turn.turn_id for turn in turns[: turns.index(last) + 1]}
    kept = live_events.before(store, source.session_id, None, PREFACE_EVENTS)
    return [one.event for one in kept if isinstance(one.event, ev.ItemEnded) and one.event.turn_id in taken]

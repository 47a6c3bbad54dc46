"""Live sessions and their turns: written before anything relies on them, ended once."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import cache, reduce
from operator import or_
from typing import Any

import msgspec

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.live import states
from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS, PROFILES, read_profile
from oulipoly_engine.core.live.sessions import LiveSession, SessionOptions, Turn
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.records import asdict, prepare, replace
from oulipoly_engine.store.base.compiled import Compiled, Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import beginning, begins, each_of, greatest
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.base.rows import name_values
from oulipoly_engine.store.live import unsent_texts
from oulipoly_engine.store.models.live import LiveEventRow, LiveSessionRow, LiveTurnRow
from oulipoly_engine.store.models.sessions import ChainRow, SegmentRow

_SESSION = [field for field in LiveSessionRow._meta.sorted_fields if field is not LiveSessionRow.entered]
_TURN = LiveTurnRow._meta.sorted_fields
_DEFAULTS = SessionOptions()
_OPTIONS = frozenset(asdict(_DEFAULTS))


def insert(store: Store, session: LiveSession) -> None:
    """Write a new session."""
    title = redact(session.title)
    with store.write():
        store.insert(
            LiveSessionRow,
            session_id=session.session_id,
            workspace=session.workspace,
            runtime_id=session.runtime_id,
            runtime_kind=session.runtime_kind,
            account=session.account,
            model_name=session.model_name,
            native_id=session.native_id,
            opening=_dump(_options_to_keep(replace(session.opening, title=title))),
            title=title,
            status=session.status,
            status_reason=redact(session.status_reason),
            forked_from=session.forked_from,
            generation=session.generation,
            created_at=to_text(session.created_at),
            updated_at=to_text(session.updated_at),
            lifecycle=session.lifecycle,
        )


def drop_unused(store: Store, session_id: str) -> None:
    """Remove a session that never had a process."""
    row = LiveSessionRow
    with store.write():
        store.run(row.delete().where(row.session_id == session_id, row.generation == 0))


@compile_query
def _select_beginning(pattern: Parameter) -> Query:
    row, segment = LiveSessionRow, SegmentRow
    listed = segment.select(segment.session_id).where(begins(segment.chain_id, pattern))
    mine = begins(row.session_id, pattern) | begins(row.native_id, pattern) | row.native_id.in_(listed)
    return row.select(*_SESSION).where(mine).order_by(row.created_at)


def find(store: Store, identity: str) -> tuple[LiveSession, ...]:
    """Return the sessions whose own id, or whose CLI's id, is this or begins so; an exact one is the only one.

    Those of earlier releases have another id in the list of all sessions, which is as good.
    """
    with store.read():
        found = tuple(map(_read_session, store.rows(_select_beginning(beginning(identity)))))
    exact = tuple(one for one in found if identity in (one.session_id, one.native_id))
    return exact or found


def read_sessions(store: Store, session_ids: Collection[str]) -> tuple[LiveSession, ...]:
    """Return the sessions of these ids that are there."""
    row = LiveSessionRow
    query = row.select(*_SESSION).where(row.session_id.in_(each_of(session_ids)))
    with store.read():
        return tuple(map(_read_session, store.rows(query)))


@compile_query
def _select_ended(session_ids: Parameter) -> Query:
    row = LiveSessionRow
    return row.select(*_SESSION).where(row.session_id.in_(each_of(session_ids)) & (row.ended != ""))


def find_ended(store: Store, session_ids: Collection[str]) -> dict[str, LiveSession]:
    """Return those of these sessions that have ended, by their ids."""
    with store.read():
        ended = store.rows(_select_ended(session_ids))
        return {session.session_id: session for session in map(_read_session, ended)}


def find_in(store: Store, session_id: str, folder: str) -> tuple[LiveSession, ...]:
    """Return the sessions that a worktree is for: the one that it was made for, and all that work in its folder."""
    row = LiveSessionRow
    mine = (row.session_id == session_id) | (row.workspace == folder)
    with store.read():
        return tuple(map(_read_session, store.rows(row.select(*_SESSION).where(mine))))


def list_sessions(store: Store, limit: int = 200) -> tuple[LiveSession, ...]:
    """Return the sessions, the one that changed last first."""
    row = LiveSessionRow
    with store.read():
        query = row.select(*_SESSION).order_by(row.updated_at.desc(), row.session_id).limit(limit)
        return tuple(map(_read_session, store.rows(query)))


def find_latest(store: Store, folder: str) -> LiveSession | None:
    """Return the session of a folder with the newest turn that is not deleted or for one turn; None: there is none."""
    row = LiveSessionRow
    segment = SegmentRow
    turn = LiveTurnRow
    asked_at = turn.select(fn.MAX(turn.created_at)).where(turn.session_id == row.session_id)
    deleted = segment.select(segment.session_id).join(ChainRow, on=ChainRow.chain_id == segment.chain_id)
    deleted = deleted.where(ChainRow.deleted_at.is_null(False))
    is_kept = row.native_id.is_null() | row.native_id.not_in(deleted)
    query = row.select(*_SESSION).where(row.workspace == folder, row.lifecycle == "persistent", is_kept)
    with store.read():
        rows = store.rows(query.order_by(fn.COALESCE(asked_at, row.created_at).desc()).limit(1))
    return _read_session(rows[0]) if rows else None


def list_unused(store: Store, since: datetime, before: datetime) -> tuple[str, ...]:
    """Return the sessions that were used last between two instants, and have no turn that is open or was left."""
    row = LiveSessionRow
    turn = LiveTurnRow
    event = LiveEventRow
    last_at = event.select(event.at).where(event.session_id == row.session_id).order_by(event.seq.desc()).limit(1)
    used_at = greatest(row.updated_at, fn.COALESCE(last_at, ""))
    has_turn = fn.EXISTS(
        turn.select(turn.turn_id).where(turn.session_id == row.session_id, turn.status.in_(states.TURN_OPEN))
    )
    unused = row.select(row.session_id).where(used_at >= to_text(since), used_at < to_text(before), ~has_turn)
    with store.read():
        return tuple(session_id for (session_id,) in store.rows(unused))


def list_acting_unasked(store: Store) -> tuple[LiveSession, ...]:
    """Return the sessions that can go on and may do more unasked than a new one, oldest first."""
    row = LiveSessionRow
    can_go_on = (row.status != "fenced") & ((row.lifecycle != "oneshot") | (row.ended == ""))
    words = [row.opening.contains(word) for word in (*PROFILES, "never_asks") if word != OF_NEW_SESSIONS]
    query = row.select(*_SESSION).where(can_go_on & reduce(or_, words)).order_by(row.created_at, row.session_id)
    with store.read():
        sessions = tuple(map(_read_session, store.rows(query)))
    return tuple(session for session in sessions if _acts_unasked(session.opening))


def _acts_unasked(options: SessionOptions) -> bool:
    return options.never_asks or read_profile(options.profile) != OF_NEW_SESSIONS


def update(store: Store, session_id: str, now: datetime, **changes: Any) -> None:  # noqa: ANN401 - columns' values
    """Change some fields of a session: native_id, title, status, how it has ended; its opening by `change_opening`."""
    if changes.get("closed_at") is not None:
        changes["closed_at"] = to_text(changes["closed_at"])
    changes |= {name: redact(changes[name]) for name in ("title", "status_reason") if name in changes}
    with store.write():
        store.run(_update_of((*changes, "updated_at"))(*changes.values(), to_text(now), session_id))


@cache
def _update_of(names: tuple[str, ...]) -> Compiled:
    """Return the update of these columns of one session, which takes their values and its id."""
    row = LiveSessionRow

    def build(*values: Parameter) -> Query:
        *changed, session_id = values
        return row.update({getattr(row, name): value for name, value in zip(names, changed, strict=True)}).where(
            row.session_id == session_id
        )

    return Compiled(build, len(names) + 1)


def change_opening(
    store: Store,
    session_id: str,
    now: datetime,
    **changes: Any,  # noqa: ANN401 - the fields of SessionOptions
) -> SessionOptions:
    """Change some fields of how a session is opened and return all of them.

    Its host and its clients change it, so each writes its own fields only. What a later release keeps stays.
    """
    row = LiveSessionRow
    with store.write():
        ((kept,),) = store.rows(row.select(row.opening).where(row.session_id == session_id))
        opening = replace(_read_options(kept), **changes)
        unknown = {name: value for name, value in json.loads(kept).items() if name not in _OPTIONS}
        update(store, session_id, now, opening=_dump(unknown | _options_to_keep(opening)))
    return opening


def begin_process(store: Store, session: LiveSession, now: datetime) -> None:
    """Note that a process of a session begins: it has not ended any more."""
    told: dict[str, Any] = {"ended": "", "exit_code": None, "closed_at": None, "status_reason": ""}
    update(store, session.session_id, now, generation=session.generation + 1, status="active", **told)


def insert_turn(store: Store, turn: Turn) -> None:
    """Write a turn that is about to be given to the CLI."""
    with store.write():
        store.insert(
            LiveTurnRow,
            turn_id=turn.turn_id,
            session_id=turn.session_id,
            kind=turn.kind,
            status=turn.status,
            input=redact(turn.input),
            policy=turn.policy,
            invocation_uuid=turn.invocation_uuid,
            created_at=to_text(turn.created_at),
        )


@compile_query
def _turn_begun(turn_id: Parameter, told_id: Parameter, kept_id: Parameter) -> Query:
    row = LiveTurnRow
    allowed = row.status.in_(states.sources(states.TURN, "begin"))
    is_first = row.native_turn_id.is_null() | (row.status == "starting")  # or it was sent again
    same = is_first | (row.native_turn_id == told_id)
    told = {row.status: "running", row.native_turn_id: kept_id}
    return row.update(told).where(row.turn_id == turn_id, allowed, same)


def begin_turn(store: Store, turn_id: str, native_turn_id: str) -> bool:
    """Note that the CLI works on a turn. Returns whether it may; False: it is over, or has another native id."""
    with store.write():
        may_begin = store.run(_turn_begun(turn_id, native_turn_id, native_turn_id or None)) == 1
        if may_begin:
            unsent_texts.drop(store, turn_id)
    return may_begin


def wait_turn(store: Store, turn_id: str, text: str) -> None:
    """Note that a turn has failed, and is sent again: its CLI knows its session. text: its message, with secrets."""
    row = LiveTurnRow
    is_open = row.status.in_(states.sources(states.TURN, "wait"))
    with store.write():
        store.run(row.update(status="starting").where(row.turn_id == turn_id, is_open))
        unsent_texts.keep(store, turn_id, text)


@compile_query
def _turn_ended(
    turn_id: Parameter,
    allowed: Parameter,
    status: Parameter,
    ended_at: Parameter,
    message: Parameter,
    code: Parameter,
    reply: Parameter,
    usage: Parameter,
) -> Query:
    row = LiveTurnRow
    values = {row.status: status, row.ended_at: ended_at, row.message: message, row.code: code}
    values |= {row.reply: reply, row.usage: usage}
    return row.update(values).where(row.turn_id == turn_id, row.status.in_(each_of(allowed)))


def end_turn(
    store: Store,
    turn_id: str,
    status: str,
    now: datetime,
    *,
    message: str = "",
    code: str = "",
    reply: str = "",
    usage: object = None,
) -> bool:
    """Make a turn final. Returns whether it was open."""
    allowed = states.sources(states.TURN, states.TURN_END_EVENTS[status])
    kept_usage = None if usage is None else _dump(usage)
    ended = _turn_ended(turn_id, allowed, status, to_text(now), redact(message), code, redact(reply), kept_usage)
    with store.write():
        was_open = store.run(ended) == 1
        unsent_texts.drop(store, turn_id)
    return was_open


@compile_query
def _select_turn(turn_id: Parameter) -> Query:
    return LiveTurnRow.select(*_TURN).where(LiveTurnRow.turn_id == turn_id)


def find_turn(store: Store, turn_id: str) -> Turn | None:
    """Return a turn."""
    with store.read():
        found = store.rows(_select_turn(turn_id))
    return _read_turn(found[0]) if found else None


def turns_of(store: Store, session_id: str, limit: int = 1000) -> tuple[Turn, ...]:
    """Return the last turns of a session, oldest first."""
    row = LiveTurnRow
    query = row.select(*_TURN).where(row.session_id == session_id)
    with store.read():
        found = store.rows(query.order_by(row.created_at.desc(), row.turn_id).limit(limit))
    return tuple(map(_read_turn, reversed(found)))


def durations(store: Store, limit: int) -> tuple[float, ...]:
    """Return how long the last turns took, in seconds, the newest first."""
    row = LiveTurnRow
    query = row.select(row.created_at, row.ended_at).where(row.ended_at.is_null(False))
    with store.read():
        found = store.rows(query.order_by(row.ended_at.desc()).limit(limit))
    return tuple((from_text(ended) - from_text(began)).total_seconds() for began, ended in found)


def has_begun(store: Store, session_id: str, *, are_named: bool) -> bool:
    """Tell whether the CLI has worked on any turn of a session. are_named: the CLI gives each turn an id of its own."""
    row = LiveTurnRow
    begun = row.native_turn_id.is_null(is_null=False)
    begun = begun if are_named else begun | (row.status != "starting")
    with store.read():
        return bool(store.rows(row.select(row.turn_id).where(row.session_id == session_id, begun).limit(1)))


@compile_query
def _select_open_turns() -> Query:
    row = LiveTurnRow
    return row.select(*_TURN).where(row.status.in_(states.TURN_OPEN)).order_by(row.created_at)


@compile_query
def _select_open_turns_of(session_ids: Parameter) -> Query:
    row = LiveTurnRow
    mine = row.session_id.in_(each_of(session_ids)) & row.status.in_(states.TURN_OPEN)
    return row.select(*_TURN).where(mine).order_by(row.created_at)


def open_turns(store: Store, session_ids: Iterable[str] | None = None) -> tuple[Turn, ...]:
    """Return the turns that are not over, of these sessions or of all, oldest first."""
    question = _select_open_turns() if session_ids is None else _select_open_turns_of([*session_ids])
    with store.read():
        return tuple(map(_read_turn, store.rows(question)))


def open_turn_ids(store: Store, session_ids: Collection[str]) -> dict[str, str]:
    """Return the turn that is not over of each session that has one, by the sessions' ids."""
    row = LiveTurnRow
    mine = row.session_id.in_(each_of(session_ids)) & row.status.in_(states.TURN_OPEN)
    with store.read():
        found = store.rows(row.select(row.session_id, row.turn_id).where(mine).order_by(row.created_at))
    return dict(found)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _read_session(values: tuple[Any, ...]) -> LiveSession:
    at = name_values(_SESSION, values)
    return LiveSession(**at | {"opening": _read_options(at["opening"])})


def _options_to_keep(options: SessionOptions) -> dict[str, Any]:
    """Return the fields that are not at their defaults."""
    return {name: value for name, value in asdict(options).items() if value != getattr(_DEFAULTS, name)}


def _read_options(kept: str) -> SessionOptions:
    """Return the options of a session; a value that no release of ours has written counts as none."""
    document = json.loads(kept)
    try:
        return msgspec.convert(document, prepare(SessionOptions))
    except msgspec.ValidationError:
        fields = {name: value for name, value in document.items() if _is_option(name, value)}
        return msgspec.convert(fields, prepare(SessionOptions))


def _is_option(name: str, value: object) -> bool:
    try:
        msgspec.convert({name: value}, prepare(SessionOptions))
    except msgspec.ValidationError:
        return False
    return True


def _read_turn(values: tuple[Any, ...]) -> Turn:
    at = name_values(_TURN, values)
    return Turn(**at | {"usage": None if at["usage"] is None else json.loads(at["usage"])})

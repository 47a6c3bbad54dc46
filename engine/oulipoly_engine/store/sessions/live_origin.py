"""What live sessions tell of the sessions that a list shows. Nothing of live sessions themselves is loaded for it."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.sessions.facets import LiveStanding
from oulipoly_engine.core.sessions.sessions import Part, Session
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of, has_type
from oulipoly_engine.store.base.orm import SQL, Case, ColumnBase, Expression, Query, Tuple, fn
from oulipoly_engine.store.models.live import (
    LiveEventRow,
    LiveRequestRow,
    LiveSessionRow,
    LiveTurnRow,
    QueuedMessageRow,
)
from oulipoly_engine.store.models.sessions import SegmentRow

# As the partial indexes have them.
_TURN_IS_OPEN = SQL("status IN ('starting', 'running')")
_REQUEST_IS_OPEN = SQL("status = 'pending'")
_MESSAGE_WAITS = SQL("state = 'queued'")
# A value that cannot be costs its live session, never the list.
_SOUND = has_type(LiveSessionRow.generation, "integer")


class LiveOrigin(Record):
    """What the live session of a CLI's session tells of it; None: nothing."""

    workspace: str
    title: str | None
    cli_model: str | None
    forked_from: str | None  # the CLI's own id of the session that it is a fork of; "": of none; None: nobody knows


@compile_query
def _select_origin(native_id: Parameter, account: Parameter) -> Query:
    row, source = LiveSessionRow, LiveSessionRow.alias()
    former = source.select(source.native_id).where(source.session_id == row.forked_from)
    origin = Case(None, [(row.forked_from.is_null(), "")], former)
    mine = (row.native_id == native_id) & (fn.COALESCE(row.account, row.runtime_id) == account)
    columns = row.workspace, row.title, row.opening, origin
    return row.select(*columns).where(mine).order_by(row.updated_at.desc()).limit(1)


def find_origin(store: Store, account: str, native_id: str) -> LiveOrigin | None:
    """Return what a live session tells of the session that its CLI has under an id; None: there is none."""
    rows = store.rows(_select_origin(native_id, account))
    if not rows:
        return None
    workspace, title, opening, forked_from = rows[0]
    if not forked_from and _read_option(opening, "is_recorded") is True:
        forked_from = None
    return LiveOrigin(workspace, title or None, _read_model(opening), forked_from)


def _read_model(opening: str) -> str | None:
    """Return the model that a session was opened with; None where none was named, or the opening cannot be read."""
    model = _read_option(opening, "model")
    return model if isinstance(model, str) and model else None


def _read_option(opening: str, name: str) -> object:
    """Return a field of how a session was opened; None where there is none, or the opening cannot be read."""
    try:
        return json.loads(opening)[name]
    except (ValueError, LookupError, TypeError):
        return None


@compile_query
def _select_changed(since: Parameter) -> Query:
    row, turn, event = LiveSessionRow, LiveTurnRow, LiveEventRow
    busy = turn.select(turn.session_id).where(_TURN_IS_OPEN)
    last_at = event.select(event.at).where(event.session_id == row.session_id).order_by(event.seq.desc()).limit(1)
    is_changed = (row.updated_at >= since) | (row.session_id.in_(busy) & (last_at >= since))
    return row.select(row.session_id).where(row.native_id != "", is_changed)


def changed_since(store: Store, since: datetime) -> tuple[str, ...]:
    """Return the live sessions whose CLI has an id for them, and in which something has happened since an instant."""
    return tuple(session_id for (session_id,) in store.rows(_select_changed(to_text(since))))


def _standing_columns() -> tuple[ColumnBase, ...]:
    """Return the columns that `_read_standing` takes."""
    row, turn, request, message = LiveSessionRow, LiveTurnRow, LiveRequestRow, QueuedMessageRow
    return (
        row.session_id,
        row.opening,
        row.status,
        row.ended,
        row.generation,
        row.session_id.in_(turn.select(turn.session_id).where(_TURN_IS_OPEN)),
        row.session_id.in_(request.select(request.session_id).where(_REQUEST_IS_OPEN)),
        row.session_id.in_(message.select(message.session_id).where(_MESSAGE_WAITS)),
    )


def _read_standing(
    session_id: str, opening: str, status: str, ended: str, generation: int, turn: int, request: int, message: int
) -> LiveStanding:
    is_work = _read_option(opening, "log") is True
    has_begun = generation > 0
    isolation = str(_read_option(opening, "isolation") or "")
    return LiveStanding(
        session_id, is_work, status, ended, has_begun, bool(turn), bool(request), bool(message), isolation
    )


def _is_recorded_in(row: type[LiveSessionRow], segment: type[SegmentRow]) -> Expression:
    """Return whether a segment is the live session's; that of a runtime without an account lies on any."""
    is_its_account = row.account.is_null() | (row.account == segment.provider_name)
    return (segment.session_id == row.native_id) & is_its_account


def _select_standings() -> Query:
    row, segment = LiveSessionRow, SegmentRow
    joined = row.select(segment.chain_id, *_standing_columns()).join(segment, on=_is_recorded_in(row, segment))
    return joined.where(_SOUND, segment.ended_at.is_null()).order_by(row.updated_at)


_all_standings = compile_query(_select_standings)


@compile_query
def _standings_of(chain_ids: Parameter) -> Query:
    return _select_standings().where(SegmentRow.chain_id.in_(each_of(chain_ids)))


def _unrecorded_ids() -> Query:
    """Select the live sessions of which no segment is, as `_is_recorded_in` has it.

    All of it is looked up in indexes, which takes a third as long as a question for each row. 1 ms of 5,000.
    """
    row, segment = LiveSessionRow.alias(), SegmentRow
    ids = segment.select(segment.session_id)
    owners = segment.select(segment.session_id, segment.provider_name)
    cases = (row.native_id.is_null(), 1), (row.account.is_null(), row.native_id.not_in(ids))
    return row.select(row.session_id).where(Case(None, cases, Tuple(row.native_id, row.account).not_in(owners)))


@compile_query
def _select_unrecorded() -> Query:
    row = LiveSessionRow
    own = row.workspace, row.runtime_id, row.account, row.model_name, row.native_id, row.title
    times = row.created_at, row.updated_at, row.closed_at
    is_sound = _SOUND & has_type(row.created_at, "text") & has_type(row.updated_at, "text")
    return row.select(*_standing_columns(), *own, *times).where(row.session_id.in_(_unrecorded_ids()), is_sound)


def list_standings(store: Store, chain_ids: Collection[str] | None = None) -> dict[str, LiveStanding]:
    """Return how the live sessions stand that are sessions of a list: all of them, or those of some; by chain."""
    query = _all_standings() if chain_ids is None else _standings_of(sorted(chain_ids))
    return {chain_id: _read_standing(*columns) for chain_id, *columns in store.rows(query)}  # the last one counts


def list_unrecorded(store: Store) -> tuple[tuple[Session, LiveStanding], ...]:
    """Return the live sessions of which nothing is recorded yet: they wait for a place, or their CLI has no id yet.

    Each has its own id as chain, and one part; that has no id of the CLI where none is known.
    """
    return tuple(_read_unrecorded(columns[:8], *columns[8:]) for columns in store.rows(_select_unrecorded()))


def _read_unrecorded(
    standing: tuple[Any, ...],
    workspace: str,
    runtime_id: str,
    account: str | None,
    model: str,
    native_id: str | None,
    title: str,
    created_at: str,
    updated_at: str,
    closed_at: str | None,
) -> tuple[Session, LiveStanding]:
    live = _read_standing(*standing)
    part = Part(
        account or runtime_id,
        native_id or "",
        created_at,
        closed_at,
        title=title or None,
        cwd=workspace,
        cli_model=_read_model(standing[1]),
    )
    return Session(live.session_id, model, created_at, updated_at, (part,)), live

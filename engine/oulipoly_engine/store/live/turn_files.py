"""Which snapshots have the files of sessions' checkouts as they were before and after turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from oulipoly_engine.core.sessions.turn_files import Moment
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.models.live import LiveSessionRow, LiveTurnRow, TurnFilesRow
from oulipoly_engine.store.models.sessions import ChainRow, SegmentRow
from oulipoly_engine.store.models.transcripts import EntryRow


def note(store: Store, turn_id: str, moment: Moment, reference: str) -> None:
    """Write down which snapshot has the files before or after a turn."""
    row = TurnFilesRow
    with store.write():
        store.run(row.delete().where(row.turn_id == turn_id, row.moment == moment))
        store.insert(row, turn_id=turn_id, moment=moment, reference=reference)


@compile_query
def _select_turns(rows: Parameter) -> Query:
    row = EntryRow
    is_turn = (row.turn_id.is_null(is_null=False)) & (row.is_sidechain == 0)
    return row.select(row.entry_id, row.turn_id).where(row.id.in_(each_of(rows)), is_turn)


def find_turns(store: Store, rows: Collection[int]) -> dict[str, str]:
    """Return the turn of each entry that belongs to one, by the entries' ids; rows: of the entries."""
    return dict(store.rows(_select_turns([*rows])))


@compile_query
def _select_references(turn_ids: Parameter) -> Query:
    row = TurnFilesRow
    return row.select(row.turn_id, row.moment, row.reference).where(row.turn_id.in_(each_of(turn_ids)))


def find_references(store: Store, turn_ids: Collection[str]) -> Mapping[tuple[str, Moment], str]:
    """Return the references of the snapshots of some turns."""
    rows = store.rows(_select_references([*turn_ids]))
    return {(turn_id, Moment(moment)): reference for turn_id, moment, reference in rows}


class Use(Record):
    """A snapshot that turns of a session have."""

    session_id: str
    workspace: str
    reference: str
    last_at: str  # when the last of these turns began, RFC 3339
    is_deleted: int  # the session, by a person; 0 or 1


def list_uses(store: Store) -> tuple[Use, ...]:
    """Return the snapshots of all sessions."""
    row = TurnFilesRow
    turn = LiveTurnRow
    session = LiveSessionRow
    part = SegmentRow
    is_part = (part.session_id == session.native_id) & ChainRow.deleted_at.is_null(is_null=False)
    deleted = part.select(part.id).join(ChainRow, on=ChainRow.chain_id == part.chain_id).where(is_part)
    columns = session.session_id, session.workspace, row.reference, fn.MAX(turn.created_at), fn.EXISTS(deleted)
    query = row.select(*columns).join(turn, on=turn.turn_id == row.turn_id)
    query = query.join(session, on=session.session_id == turn.session_id)
    return tuple(Use(*values) for values in store.rows(query.group_by(session.session_id, row.reference)))

"""Forks that are sessions of their own: of which session one is, what of that it goes on with, and which are of it."""

from __future__ import annotations

from oulipoly_engine.core.transcripts.entry_tree import EntryLink
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.models.sessions import ChainRow, FactsRow, SegmentRow
from oulipoly_engine.store.models.transcripts import EntryRow


class ForkedSession(Record):
    """A session at one end of a fork."""

    chain_id: str
    account: str
    session_id: str  # its CLI's own
    entry_id: str | None = None  # behind which the fork leaves, as both have it; None: they share none


@compile_query
def _select_forks(chain_id: Parameter) -> Query:
    fork = FactsRow
    own = SegmentRow
    theirs = SegmentRow.alias()
    return (
        fork.select(theirs.chain_id, fork.account, fork.session_id)
        .distinct()
        .join(own, on=own.session_id == fork.forked_from)
        .join(theirs, on=(theirs.session_id == fork.session_id) & (theirs.provider_name == fork.account))
        .join(ChainRow, on=ChainRow.chain_id == theirs.chain_id)
        .where(own.chain_id == chain_id, theirs.chain_id != chain_id, ChainRow.deleted_at.is_null())
        .order_by(fork.first_entry_at, fork.session_id)
    )


def list_forks(store: Store, chain_id: str) -> tuple[ForkedSession, ...]:
    """Return the sessions that are forks of a session, the one with the earliest entry first."""
    return tuple(ForkedSession(*row) for row in store.rows(_select_forks(chain_id)))


@compile_query
def _select_origin(account: Parameter, session_id: Parameter, chain_id: Parameter) -> Query:
    row = FactsRow
    theirs = SegmentRow
    return (
        row.select(theirs.chain_id, theirs.provider_name, theirs.session_id)
        .join(theirs, on=theirs.session_id == row.forked_from)
        .join(ChainRow, on=ChainRow.chain_id == theirs.chain_id)
        .where(row.account == account, row.session_id == session_id, row.forked_from != "")
        .where(ChainRow.deleted_at.is_null(), theirs.chain_id != chain_id)  # a branch in place is one for its CLI
        .order_by(theirs.provider_name != account, theirs.id)
        .limit(1)
    )


def find_origin(store: Store, account: str, session_id: str, chain_id: str) -> ForkedSession | None:
    """Return the session that one is a fork of, on the same account if it is there; None: of none that is known.

    chain_id: of ours that it belongs to.
    """
    rows = store.rows(_select_origin(account, session_id, chain_id))
    return ForkedSession(*rows[0]) if rows else None


@compile_query
def _select_history(account: Parameter, session_id: Parameter) -> Query:
    row = FactsRow
    mine = (row.account == account) & (row.session_id == session_id) & row.history_end.is_null(is_null=False)
    return row.select(row.history_session, row.history_end).where(mine)


@compile_query
def _select_main(account: Parameter, session_id: Parameter) -> Query:
    row = EntryRow
    mine = (row.provider_name == account) & (row.session_id == session_id) & (row.is_sidechain == 0)
    columns = row.id, row.entry_id, row.parent_entry_id, row.is_sidechain, row.timestamp, row.source_file
    return row.select(*columns).where(mine).order_by(row.timestamp, row.id)


def read_history(store: Store, account: str, session_id: str) -> list[tuple[str, EntryLink]]:
    """Return what a fork by reference goes on with: entries, each with the session that has it, the first one first.

    Of a session that holds all that was said in it, nothing. The lines of a rollout are numbered on from where its own
    history ends.
    """
    stretches: dict[str, int] = {}
    while rows := store.rows(_select_history(account, session_id)):
        session_id, end = rows[0]
        if session_id in stretches:  # damaged: they go on with each other
            break
        stretches[session_id] = end
    history: list[tuple[str, EntryLink]] = []
    begin = 0
    for session_id, end in reversed(stretches.items()):
        links = (EntryLink(*row) for row in store.rows(_select_main(account, session_id)))
        history += [(session_id, link) for link in links if 0 < _line_of(link.entry_id) <= end - begin]
        begin = end
    return history


def _line_of(entry_id: str) -> int:
    """Return the line of the rollout that an entry is named after; 0: it has another id."""
    number = entry_id.rpartition(":")[2][-15:]
    return int(number) if number.isdecimal() else 0

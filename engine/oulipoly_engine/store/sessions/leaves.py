"""The leaf of a session: the entry that it goes on behind."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from oulipoly_engine.core.transcripts.turn_script import NO_PARENT
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.models.sessions import ChainRow, SegmentRow
from oulipoly_engine.store.models.transcripts import IS_SAID, EntryRow
from oulipoly_engine.store.sessions.forks import read_history


def _last_entry(account: object, session_id: object) -> Query:
    row = EntryRow
    mine = (row.session_id == session_id) & (row.provider_name == account) & (row.is_sidechain == 0) & IS_SAID
    return row.select(row.entry_id).where(mine).order_by(row.timestamp.desc(), row.id.desc()).limit(1)


@compile_query
def _move_to_end(account: Parameter, session_id: Parameter) -> Query:
    segment = SegmentRow
    is_of = (segment.session_id == session_id) & (segment.provider_name == account) & segment.ended_at.is_null()
    mine = ChainRow.chain_id.in_(segment.select(segment.chain_id).where(is_of))
    return ChainRow.update({ChainRow.leaf: _last_entry(account, session_id)}).where(mine)


def move_to_end(store: Store, account: str, session_ids: Iterable[str]) -> None:
    """Have sessions go on behind the ends of their main lines. Runs inside the caller's write transaction.

    One that has moved to another account goes on there.
    """
    store.execute_many(_move_to_end, ((account, session_id) for session_id in session_ids))


@compile_query
def _follow_end(account: Parameter, session_ids: Parameter) -> Query:
    row = SegmentRow
    is_of = row.session_id.in_(each_of(session_ids)) & (row.provider_name == account) & row.ended_at.is_null()
    mine = ChainRow.chain_id.in_(row.select(row.chain_id).where(is_of)) & ChainRow.leaf.is_null(is_null=False)
    return ChainRow.update({ChainRow.leaf: None}).where(mine)


def follow_end(store: Store, account: str, session_ids: Collection[str]) -> None:
    """Have sessions go on behind the ends of their main lines, wherever these will be.

    For transcripts, which have grown: ten thousand at once. Runs inside the caller's write transaction.
    """
    store.run(_follow_end(account, [*session_ids]))


@compile_query
def _select_kept(account: Parameter, session_id: Parameter) -> Query:
    own = SegmentRow.alias()
    row = EntryRow
    segment = SegmentRow
    chain = ChainRow
    is_leaf = (row.provider_name == segment.provider_name) & (row.session_id == segment.session_id)
    return (
        own.select(row.entry_id)
        .join(chain, on=chain.chain_id == own.chain_id)
        .join(segment, on=segment.chain_id == chain.chain_id)  # the leaf may lie in a part before
        .join(row, on=is_leaf & (row.entry_id == chain.leaf))
        .where(own.session_id == session_id, own.provider_name == account)
        .order_by(chain.last_used_at.desc())
        .limit(1)
    )


@compile_query
def _select_last(account: Parameter, session_id: Parameter) -> Query:
    return _last_entry(account, session_id)


def move_to(store: Store, chain_id: str, entry_id: str | None) -> None:
    """Have a session go on behind an entry, NO_PARENT: before all of them; None: behind its main line's end."""
    with store.write():
        store.run(ChainRow.update({ChainRow.leaf: entry_id}).where(ChainRow.chain_id == chain_id))


@compile_query
def _select_leaf(account: Parameter, session_id: Parameter) -> Query:
    row = SegmentRow
    mine = (row.session_id == session_id) & (row.provider_name == account) & ChainRow.leaf.is_null(is_null=False)
    return row.select(ChainRow.leaf).join(ChainRow, on=ChainRow.chain_id == row.chain_id).where(mine)


@compile_query
def _select_at_root(account: Parameter, session_id: Parameter) -> Query:
    segment = SegmentRow
    chain = ChainRow
    mine = (segment.session_id == session_id) & (segment.provider_name == account) & (chain.leaf == NO_PARENT)
    return segment.select(chain.leaf).join(chain, on=chain.chain_id == segment.chain_id).where(mine).limit(1)


def find_moved(store: Store, account: str, session_id: str) -> str | None:
    """Return the entry that a person went back to, NO_PARENT: before all of them; None: it goes on at its end."""
    kept = find_kept(store, account, session_id)
    return None if kept == find_last(store, account, session_id) else kept


def find_leaf(store: Store, account: str, session_id: str) -> str | None:
    """Return the entry that a session goes on behind, NO_PARENT: before all of them; None: it has none."""
    kept = find_kept(store, account, session_id)
    return find_last(store, account, session_id) if kept is None else kept


def find_kept(store: Store, account: str, session_id: str) -> str | None:
    """Return the entry that the list of sessions has as a session's leaf; None: it has none, or no such session.

    NO_PARENT: a person has begun anew in it.

    One that is not stored any more counts as none: a transcript has other ids, and so has one that was replaced.
    """
    rows = store.rows(_select_kept(account, session_id)) or store.rows(_select_at_root(account, session_id))
    if rows:
        return str(rows[0][0])
    leaves = {leaf for (leaf,) in store.rows(_select_leaf(account, session_id))}
    of_history = (link.entry_id for _, link in read_history(store, account, session_id)) if leaves else ()
    return next((entry_id for entry_id in of_history if entry_id in leaves), None)


def find_last(store: Store, account: str, session_id: str) -> str | None:
    """Return the last entry of a session's main line; None: there is none."""
    rows = store.rows(_select_last(account, session_id))
    return str(rows[0][0]) if rows else None

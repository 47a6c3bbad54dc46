"""Chains and their segments: one logical session and the parts of it that lie on one account each."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL, Chain, Segment
from oulipoly_engine.errors import SessionAmbiguous, SessionBusy
from oulipoly_engine.records import Record, replace
from oulipoly_engine.store.base.compiled import Parameter, compile_query, insertion
from oulipoly_engine.store.base.db import Question, Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import Expression, Field, Query, fn
from oulipoly_engine.store.models.live import LiveSessionRow
from oulipoly_engine.store.models.runs import InvocationRow
from oulipoly_engine.store.models.sessions import ChainRow, SegmentRow
from oulipoly_engine.store.models.transcripts import IS_SAID, EntryRow
from oulipoly_engine.store.sessions import copied_history

if TYPE_CHECKING:
    from oulipoly_engine.core.live.sessions import Branch


def has_any(store: Store) -> bool:
    """Tell whether any session is known."""
    return bool(store.rows(ChainRow.select(ChainRow.chain_id).limit(1)))


@compile_query
def _select_deleted() -> Query:
    return ChainRow.select(ChainRow.chain_id).where(ChainRow.deleted_at.is_null(is_null=False))


def list_deleted(store: Store) -> frozenset[str]:
    """Return the sessions that a person has deleted."""
    return frozenset(chain_id for (chain_id,) in store.rows(_select_deleted()))


def note_deleted(store: Store, chain_id: str, at: str | None) -> None:
    """Note when a person has deleted a session; None: it is back. at: RFC 3339."""
    with store.write():
        store.run(ChainRow.update({ChainRow.deleted_at: at}).where(ChainRow.chain_id == chain_id))


@compile_query
def _chain_of(account: Parameter, session_id: Parameter) -> Query:
    return (
        SegmentRow.select(SegmentRow.chain_id)
        .join(ChainRow, on=ChainRow.chain_id == SegmentRow.chain_id)
        .where(SegmentRow.session_id == session_id, SegmentRow.provider_name == account)
        .order_by(ChainRow.last_used_at.desc(), SegmentRow.started_at.desc(), SegmentRow.chain_id)
    )


def chain_of(store: Store, account: str, session_id: str) -> str | None:
    """Return the chain that holds this account's session, the latest used one if there are several."""
    rows = store.rows(_chain_of(account, session_id))
    return str(rows[0][0]) if rows else None


@compile_query
def _holders(session_id: Parameter) -> Query:
    row = SegmentRow
    mine = row.session_id == session_id
    return (
        row.select(row.provider_name).where(mine).order_by(row.ended_at.is_null(is_null=False), row.started_at.desc())
    )


def find_holder(store: Store, runtime_id: str, session_id: str) -> str:
    """Return where a session of a runtime without an account lies: with an account whose home it uses, or alone."""
    accounts = [str(account) for (account,) in store.rows(_holders(session_id))]
    return next(iter(accounts), runtime_id) if runtime_id not in accounts else runtime_id


@compile_query
def _chain_of_runtime(runtime_id: Parameter, native_id: Parameter) -> Query:
    live, segment = LiveSessionRow, SegmentRow
    mine = (live.native_id == native_id) & (live.runtime_id == runtime_id) & live.account.is_null()
    return live.select(segment.chain_id).join(segment, on=segment.session_id == live.native_id).where(mine)


@compile_query
def _chain_used(chain_id: Parameter, instant: Parameter) -> Query:
    return ChainRow.update(last_used_at=instant).where(ChainRow.chain_id == chain_id)


def mint(store: Store, account: str, session_id: str, model: str, now: datetime) -> str:
    """Return the chain of a session that a run of ours has just used, creating it with one segment if it is new.

    That of a runtime without an account lies where its transcript was found. Runs inside the caller's write
    transaction.
    """
    known = chain_of(store, account, session_id)
    if known is None and (rows := store.rows(_chain_of_runtime(account, session_id))):
        known = str(rows[0][0])
    instant = to_text(now)
    if known is not None:
        store.run(_chain_used(known, instant))
        return known
    return insert(store, account, session_id, model, started_at=instant, last_used_at=instant, reason="initial")


@compile_query
def _live_session_of(account: Parameter, native_id: Parameter) -> Query:
    """Ask for the live session of an account's session whose id no chain has yet."""
    row = LiveSessionRow
    is_free = row.session_id.not_in(ChainRow.select(ChainRow.chain_id))
    mine = (row.native_id == native_id) & (fn.COALESCE(row.account, row.runtime_id) == account) & is_free
    return row.select(row.session_id).where(mine).order_by(row.created_at).limit(1)


_NEW_CHAIN = insertion(ChainRow.chain_id, ChainRow.created_at, ChainRow.last_used_at, ChainRow.model_name)
_NEW_SEGMENT = insertion(
    SegmentRow.chain_id,
    SegmentRow.provider_name,
    SegmentRow.session_id,
    SegmentRow.started_at,
    SegmentRow.transition_reason,
)


def insert(
    store: Store, account: str, session_id: str, model: str, *, started_at: str, last_used_at: str, reason: str
) -> str:
    """Insert a chain with its first segment and return its id. Runs inside the caller's write transaction.

    That of a live session has the id of that, so that every list and every command names it by one id.
    """
    live = store.rows(_live_session_of(account, session_id))
    chain_id = str(live[0][0]) if live else str(uuid.uuid4())
    store.run(_NEW_CHAIN(chain_id, started_at, last_used_at, model))
    store.run(_NEW_SEGMENT(chain_id, account, session_id, started_at, reason))
    return chain_id


def change_native_id(store: Store, account: str, former_id: str, native_id: str) -> None:
    """Have a session's part on an account go on under another id of its CLI, where nothing is stored under the former.

    Runs inside the caller's write transaction.
    """
    row = SegmentRow
    if store.rows(_count_entries(account, former_id))[0][0] or chain_of(store, account, native_id) is not None:
        return
    mine = (row.provider_name == account) & (row.session_id == former_id)
    store.run(row.update({row.session_id: native_id}).where(mine))


@compile_query
def _scanned_chain_of(account: Parameter, native_id: Parameter, session_id: Parameter) -> Query:
    row = SegmentRow
    other = row.alias()
    is_alone = ~fn.EXISTS(other.select(other.id).where(other.chain_id == row.chain_id, other.id != row.id))
    is_live = row.chain_id.in_(LiveSessionRow.select(LiveSessionRow.session_id))
    is_taken = fn.EXISTS(ChainRow.select(ChainRow.chain_id).where(ChainRow.chain_id == session_id))
    mine = (row.provider_name == account) & (row.session_id == native_id) & (row.transition_reason == "imported")
    return row.select(row.chain_id, row.started_at).where(mine & is_alone & ~is_live & ~is_taken).limit(1)


def claim(store: Store, account: str, native_id: str, session_id: str) -> None:
    """Have the chain that a scan has made of a live session's own go by the id of that: it was sooner than its host.

    Runs inside the caller's write transaction.
    """
    rows = store.rows(_scanned_chain_of(account, native_id, session_id))
    if rows:
        from oulipoly_engine.store.sessions import split  # noqa: PLC0415 - a scan is hardly ever sooner

        chain_id, started_at = rows[0]
        store.run(_NEW_CHAIN(session_id, started_at, started_at, UNKNOWN_MODEL))
        split.join(store, session_id, chain_id, started_at)


def begin_part(store: Store, account: str, native_id: str, branch: Branch) -> None:
    """Have a session go on in another one of its CLI where a person went back; nothing where that is known.

    A chain that was made for that one meanwhile is taken over. Runs inside the caller's write transaction.
    """
    chain_id = chain_of(store, account, branch.native_id)
    other = chain_of(store, account, native_id)
    if chain_id is None or other == chain_id:
        return
    if other is not None:
        from oulipoly_engine.store.sessions import split  # noqa: PLC0415 - a scan was sooner than its host

        split.join(store, chain_id, other, branch.at)
    _close_open(store, chain_id, branch.at)
    _open(store, SegmentMove(chain_id, account, account, native_id, "branch", from_text(branch.at)), branch.at)
    row = SegmentRow
    mine = (row.chain_id == chain_id) & (row.provider_name == account) & (row.session_id == native_id)
    store.run(row.update({row.begins_behind: branch.entry_id}).where(mine))


def backfill(store: Store) -> int:
    """Give every account's session without a chain one of its own, and return how many were made.

    Skipped when any chain exists: the contract's migrate-db runs on a state file from before chains (contract 5.5).
    """
    with store.write():
        if store.rows(ChainRow.select(ChainRow.chain_id).limit(1)):
            return 0
        rows = store.rows(_select_known_sessions())
        for account, session_id, first, last in rows:
            model = _latest_model(store, str(account), str(session_id))
            insert(
                store,
                str(account),
                str(session_id),
                model,
                started_at=str(first),
                last_used_at=str(last),
                reason="imported",
            )
        return len(rows)


def _select_known_sessions() -> Query:
    """Return the query of every account's sessions by their turns and runs, with the first and the last instant."""
    entry, run = EntryRow, InvocationRow
    seen = entry.select(entry.provider_name, entry.session_id, entry.timestamp.alias("at")).union_all(
        run.select(run.provider_name, run.session_id, run.created_at).where(
            run.session_id.is_null(False),
            run.provider_name.is_null(False),
            run.session_capture_method.in_(("forced_flag_verified", "stdout_json_event", "turn_script")),
        )
    )
    return seen.select_from(seen.c.provider_name, seen.c.session_id, fn.MIN(seen.c.at), fn.MAX(seen.c.at)).group_by(
        seen.c.provider_name, seen.c.session_id
    )


def _latest_model(store: Store, account: str, session_id: str) -> str:
    rows = store.rows(
        InvocationRow.select(InvocationRow.model_name)
        .where(InvocationRow.provider_name == account, InvocationRow.session_id == session_id)
        .order_by(InvocationRow.created_at.desc(), InvocationRow.id.desc())
        .limit(1)
    )
    return str(rows[0][0]) if rows else UNKNOWN_MODEL


class SegmentMove(Record):
    """A chain's way from its active segment to another account."""

    chain_id: str
    from_account: str
    to_account: str
    session_id: str  # the same on both
    reason: str  # manual, exhausted or quota_threshold
    at: datetime
    joins: str | None = None  # another chain of the same session, which lies on the target already
    is_ahead: bool = False  # whether that one has gone on there: what it holds more is the target's own work
    parents: tuple[str, ...] = ()  # sessions that are copied along, since this one was forked from them


def find_conflict(store: Store, move: SegmentMove) -> str | None:
    """Return another chain that has this session open on the target account; None when there is none."""
    rows = store.rows(
        SegmentRow.select(SegmentRow.chain_id)
        .where(
            SegmentRow.provider_name == move.to_account,
            SegmentRow.session_id == move.session_id,
            SegmentRow.chain_id.not_in([move.chain_id, move.joins or move.chain_id]),
            SegmentRow.ended_at.is_null(),
        )
        .limit(1)
    )
    return str(rows[0][0]) if rows else None


def has_segment(store: Store, chain_id: str, account: str, session_id: str) -> bool:
    """Tell whether a chain has, or had, a part on an account."""
    rows = store.rows(
        SegmentRow.select(SegmentRow.id).where(
            SegmentRow.chain_id == chain_id, SegmentRow.provider_name == account, SegmentRow.session_id == session_id
        )
    )
    return bool(rows)


def check_move(store: Store, move: SegmentMove) -> None:
    """Raise SessionBusy when a chain has meanwhile gone elsewhere, SessionAmbiguous when another one is in the way."""
    rival = find_conflict(store, move)
    if rival is not None:
        message = (
            f"session {move.session_id} is open on account {move.to_account!r} in another session, {rival}: go on "
            "with that one, or give its id"
        )
        raise SessionAmbiguous(message, input=move.session_id)
    if find_owner(store, move.chain_id) != move.from_account:
        raise SessionBusy(f"session {move.session_id} has meanwhile left account {move.from_account!r}: try again")


def find_owner(store: Store, chain_id: str) -> str | None:
    """Return the account that a chain lies on, None where there is no such chain."""
    chain = next((chain for chain in find_owning_chains(store, chain_id) if chain.chain_id == chain_id), None)
    return None if chain is None or chain.active is None else chain.active.account


def move_segment(store: Store, move: SegmentMove) -> None:
    """Close a chain's open segments and open one on the target account, a former one again if there is one.

    What was said by then is marked as copied there. In one transaction. Raises as `check_move`.
    """
    instant = to_text(move.at)
    with store.write():
        check_move(store, move)
        if move.joins is not None:
            from oulipoly_engine.store.sessions import split  # noqa: PLC0415 - hardly any move joins

            split.join(store, move.chain_id, move.joins, instant)
        copied_until = _find_last_entry_at(store, move) if move.is_ahead else instant
        if copied_until is not None:
            copied_history.mark(store, move.to_account, move.session_id, move.from_account, copied_until)
        for parent in move.parents:
            note_copy(store, move, parent)
        _close_open(store, move.chain_id, instant)
        _open(store, move, instant)


def _find_last_entry_at(store: Store, move: SegmentMove) -> str | None:
    row = EntryRow
    is_of = (row.provider_name == move.from_account) & (row.session_id == move.session_id)
    found = store.rows(row.select(fn.MAX(row.timestamp)).where(is_of))[0][0]
    return None if found is None else str(found)


def note_copy(store: Store, move: SegmentMove, session_id: str) -> None:
    """Have a session's own chain know of the copy that a move leaves, so that no scan takes that for another session.

    Runs inside the caller's write transaction.
    """
    instant = to_text(move.at)
    copied_history.mark(store, move.to_account, session_id, move.from_account, instant)
    owner = chain_of(store, move.from_account, session_id)
    if owner is None or chain_of(store, move.to_account, session_id) is not None:
        return
    store.insert(
        SegmentRow,
        chain_id=owner,
        provider_name=move.to_account,
        session_id=session_id,
        started_at=instant,
        ended_at=instant,
        transition_reason=move.reason,
    )


def _close_open(store: Store, chain_id: str, instant: str) -> None:
    """End a chain's open segments, each with the turn that is its last."""
    last_entry = (
        EntryRow.select(EntryRow.entry_id)
        .where(
            EntryRow.provider_name == SegmentRow.provider_name, EntryRow.session_id == SegmentRow.session_id, IS_SAID
        )
        .order_by(EntryRow.timestamp.desc(), EntryRow.id.desc())
        .limit(1)
    )
    store.run(
        SegmentRow.update(ended_at=instant, last_turn_id=last_entry).where(
            SegmentRow.chain_id == chain_id, SegmentRow.ended_at.is_null()
        )
    )


def _open(store: Store, move: SegmentMove, instant: str) -> None:
    """Make a segment on the target account, or open the one that was there."""
    row = SegmentRow
    fresh = row.insert(
        chain_id=move.chain_id,
        provider_name=move.to_account,
        session_id=move.session_id,
        started_at=instant,
        transition_reason=move.reason,
    )
    store.run(
        fresh.on_conflict(
            conflict_target=[row.chain_id, row.provider_name, row.session_id],
            preserve=[row.started_at, row.transition_reason],
            update={row.ended_at: None, row.last_turn_id: None},
        )
    )


def is_placed_by_hand(store: Store, chain_id: str) -> bool:
    """Tell whether a chain lies where it does because the user said so."""
    rows = store.rows(
        SegmentRow.select(SegmentRow.transition_reason)
        .where(SegmentRow.chain_id == chain_id, SegmentRow.ended_at.is_null())
        .order_by(SegmentRow.started_at.desc(), SegmentRow.id.desc())
        .limit(1)
    )
    return bool(rows) and str(rows[0][0]) == "manual"


def last_boundary(store: Store, account: str, session_id: str) -> str | None:
    """Return the entry of a session's last known compaction, None if it was never compacted as far as is known."""
    rows = store.rows(
        EntryRow.select(EntryRow.entry_id)
        .where(
            EntryRow.provider_name == account,
            EntryRow.session_id == session_id,
            EntryRow.is_compaction_boundary == 1,
        )
        .order_by(EntryRow.timestamp.desc(), EntryRow.id.desc())
        .limit(1)
    )
    return str(rows[0][0]) if rows else None


def find_owning_chains(store: Store, any_id: str) -> tuple[Chain, ...]:
    """Return every chain whose own id is `any_id`, or which has a segment of that session id, a live session's too."""
    return _chains(store, _of_any_id(any_id))


@compile_query
def _select_known_ids(any_ids: Parameter) -> Query:
    live = LiveSessionRow
    chain_ids = ChainRow.select(ChainRow.chain_id).where(ChainRow.chain_id.in_(each_of(any_ids)))
    native_ids = SegmentRow.select(SegmentRow.session_id).where(SegmentRow.session_id.in_(each_of(any_ids)))
    recorded = live.select(live.session_id).join(SegmentRow, on=SegmentRow.session_id == live.native_id)
    return native_ids.union(chain_ids).union(recorded.where(live.session_id.in_(each_of(any_ids))))


def find_known_ids(store: Store, any_ids: Collection[str]) -> set[str]:
    """Return those of some ids under which `find_owning_chains` finds a chain."""
    return {any_id for (any_id,) in store.rows(_select_known_ids([*any_ids]))}


def find_chains_by_prefix(store: Store, prefix: str) -> tuple[Chain, ...]:
    """Return every chain that has an id which begins so; letters count alike in both cases."""
    return _chains(store, _with_id(lambda column: column.startswith(prefix)))


@compile_query
def _of_any_id(any_id: Parameter) -> Query:
    return _with_id(lambda column: column == any_id)


def _with_id(condition: Callable[[Field[str]], Expression]) -> Query:
    """Return the query of the chains that hold an id which fits."""
    holders = SegmentRow.select(SegmentRow.chain_id).where(condition(SegmentRow.session_id))
    own, live = ChainRow.alias(), LiveSessionRow
    told = live.select(live.native_id).where(condition(live.session_id), live.native_id.is_null(False))
    by_live_id = SegmentRow.select(SegmentRow.chain_id).where(SegmentRow.session_id.in_(told))
    known = holders.union(own.select(own.chain_id).where(condition(own.chain_id))).union(by_live_id)
    return ChainRow.select(ChainRow.chain_id, ChainRow.model_name, ChainRow.last_used_at).where(
        ChainRow.chain_id.in_(known)
    )


def latest_model(store: Store, chain_id: str) -> str | None:
    """Return the model of the latest invocation on a chain, None if there was none whose model is known."""
    same = (InvocationRow.provider_name == SegmentRow.provider_name) & (
        InvocationRow.session_id == SegmentRow.session_id
    )
    rows = store.rows(
        SegmentRow.select(InvocationRow.model_name)
        .join(InvocationRow, on=same)
        .where(SegmentRow.chain_id == chain_id, InvocationRow.model_name != UNKNOWN_MODEL)
        .order_by(InvocationRow.created_at.desc(), InvocationRow.id.desc())
        .limit(1)
    )
    return str(rows[0][0]) if rows else None


def _chains(store: Store, question: Question) -> tuple[Chain, ...]:
    return tuple(
        _with_entries(store, Chain(str(chain_id), str(model), from_text(str(used)), _segments(store, str(chain_id))))
        for chain_id, model, used in store.rows(question)
    )


@compile_query
def _segments_of(chain_id: Parameter) -> Query:
    row = SegmentRow
    return (
        row.select(row.provider_name, row.session_id, row.started_at, row.ended_at, row.last_turn_id, row.id)
        .where(row.chain_id == chain_id)
        .order_by(row.started_at, row.id)
    )


def _segments(store: Store, chain_id: str) -> tuple[Segment, ...]:
    return tuple(
        Segment(
            str(account), str(session), from_text(str(start)), None if end is None else from_text(str(end)), last, row
        )
        for account, session, start, end, last, row in store.rows(_segments_of(chain_id))
    )


@compile_query
def _count_entries(account: Parameter, session_id: Parameter) -> Query:
    return EntryRow.select(fn.COUNT(EntryRow.id)).where(
        EntryRow.provider_name == account, EntryRow.session_id == session_id
    )


def _with_entries(store: Store, chain: Chain) -> Chain:
    active = chain.active
    if active is None:
        return chain
    counted = store.rows(_count_entries(active.account, active.session_id))
    return replace(chain, entries=int(counted[0][0]))

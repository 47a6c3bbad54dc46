"""Sessions found by their turns: given a chain when these are ingested, or tied to the run that made them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of, greatest, least
from oulipoly_engine.store.base.orm import Case, Query, fn
from oulipoly_engine.store.models.live import LiveSessionRow
from oulipoly_engine.store.models.runs import InvocationRow
from oulipoly_engine.store.models.sessions import ChainRow, SegmentRow
from oulipoly_engine.store.models.transcripts import IS_READ, EntryRow
from oulipoly_engine.store.sessions import chains

ATTACH_METHOD = "turn_script"  # the capture method of a session that was found by its entries


@compile_query
def _with_segment(account: Parameter, session_ids: Parameter) -> Query:
    return SegmentRow.select(SegmentRow.session_id).where(
        SegmentRow.session_id.in_(each_of(session_ids)), SegmentRow.provider_name == account
    )


def _known(store: Store, account: str, session_ids: Collection[str]) -> set[str]:
    return {session for (session,) in store.rows(_with_segment(account, session_ids))}


@compile_query
def _first_entry(account: Parameter, session_id: Parameter) -> Query:
    row = EntryRow
    return row.select(fn.MIN(row.timestamp)).where(row.provider_name == account, row.session_id == session_id)


@compile_query
def _last_entry(account: Parameter, session_id: Parameter) -> Query:
    row = EntryRow
    return (
        row.select(least(row.timestamp, row.ingested_at))
        .where(row.provider_name == account, row.session_id == session_id)
        .order_by(row.timestamp.desc())
        .limit(1)
    )


@compile_query
def _select_runtimes(session_ids: Parameter) -> Query:
    row = LiveSessionRow
    mine = row.account.is_null() & row.native_id.in_(each_of(session_ids))
    return row.select(row.runtime_id, row.native_id).where(mine)


@compile_query
def _select_segments_of_runtimes(session_ids: Parameter) -> Query:
    segment = SegmentRow
    live = LiveSessionRow
    runtimes = live.select(live.runtime_id).where(live.account.is_null())
    mine = segment.session_id.in_(each_of(session_ids)) & segment.provider_name.in_(runtimes)
    is_of = (EntryRow.provider_name == segment.provider_name) & (EntryRow.session_id == segment.session_id)
    is_read = fn.EXISTS(EntryRow.select(EntryRow.id).where(is_of, IS_READ))
    return segment.select(segment.provider_name, segment.session_id).where(mine, ~is_read)


def _find_in_runtimes(store: Store, session_ids: Collection[str]) -> set[tuple[str, str]]:
    """Return the runtimes without an account that have sessions, also those that go on under another id by now.

    An account may have the name of such a runtime: where a transcript was read, it is the account's.
    """
    return {*store.rows(_select_segments_of_runtimes(session_ids)), *store.rows(_select_runtimes(session_ids))}


def _take_from_runtimes(store: Store, account: str, session_ids: Collection[str]) -> None:
    """Have sessions that runtimes without an account have begun lie on the account whose home has their transcripts."""
    row = SegmentRow
    for runtime_id, native_id in sorted(_find_in_runtimes(store, session_ids)):
        mine = (row.provider_name == runtime_id) & (row.session_id == native_id)
        store.run(row.update({row.provider_name: account}).where(mine))


def adopt(store: Store, account: str, session_ids: Collection[str]) -> int:
    """Give each of an account's sessions without a segment a chain of its own, and return how many were made.

    Runs inside the caller's write transaction, after the sessions' entries are stored. An entry of the far future makes
    its chain used when it was read.
    """
    known = _known(store, account, session_ids)
    if len(known) < len(session_ids):
        _take_from_runtimes(store, account, [each for each in session_ids if each not in known])
        known = _known(store, account, session_ids)
    found = []
    for session_id in session_ids:
        if session_id not in known:
            ((first,),) = store.rows(_first_entry(account, session_id))
            ((last,),) = store.rows(_last_entry(account, session_id))
            found.append((first, session_id, last))
    found.sort()
    for first, session_id, last in found:
        chains.insert(
            store,
            account,
            str(session_id),
            UNKNOWN_MODEL,
            started_at=str(first),
            last_used_at=str(last),
            reason="imported",
        )
    return len(found)


def find_concurrent_sessions(
    store: Store, account: str, row_id: int, started: datetime, finished: datetime
) -> frozenset[str | None]:
    """Return the sessions of an account that other invocations hold which ran at the same time as this one.

    None among them: one of these invocations has no session yet.
    """
    row = InvocationRow
    rows = store.rows(
        row.select(row.session_id)
        .distinct()
        .where(
            row.provider_name == account,
            row.id != row_id,
            row.created_at <= to_text(finished),
            row.finished_at.is_null() | (row.finished_at > to_text(started)),
        )
    )
    return frozenset(session_id for (session_id,) in rows)


def find_held_sessions(store: Store, account: str, session_ids: Collection[str]) -> frozenset[str]:
    """Return which of an account's sessions a run has made; one that was only resumed may still be another's."""
    row = InvocationRow
    rows = store.rows(
        row.select(row.session_id)
        .distinct()
        .where(
            row.provider_name == account,
            row.session_id.in_(each_of(sorted(session_ids))),
            row.session_capture_method != "resumed",
        )
    )
    return frozenset(str(session_id) for (session_id,) in rows)


def attach(store: Store, row_id: int, session_id: str) -> str | None:
    """Tie a session to an invocation that has none, and return the session's chain; None if it has one by now.

    A chain that was made for the session's turns a moment ago learns the invocation's model.
    """
    with store.write():
        row = InvocationRow
        found = store.rows(
            row.select(row.provider_name, row.model_name, row.finished_at).where(
                row.id == row_id,
                row.session_id.is_null(),
                row.provider_name.is_null(False),
                row.finished_at.is_null(False),
            )
        )
        if not found:
            return None
        account, model, finished_at = (str(value) for value in found[0])
        store.run(row.update(session_id=session_id, session_capture_method=ATTACH_METHOD).where(row.id == row_id))
        known = chains.chain_of(store, account, session_id)
        if known is None:
            return chains.insert(
                store, account, session_id, model, started_at=finished_at, last_used_at=finished_at, reason="initial"
            )
        learned = Case(ChainRow.model_name, [(UNKNOWN_MODEL, model)], ChainRow.model_name)
        used = greatest(ChainRow.last_used_at, finished_at)
        store.run(ChainRow.update(last_used_at=used, model_name=learned).where(ChainRow.chain_id == known))
        return known

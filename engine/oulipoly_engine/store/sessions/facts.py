"""What is known of each account's session: counted from its entries behind a watermark, and described once.

Counting reads each entry once; a session that lost or changed entries is marked by triggers (migration 7)
and counted anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import count_where, each_of, greatest, has_type, is_distinct, least, literal
from oulipoly_engine.store.base.orm import EXCLUDED, SQL, Case, ColumnBase, Expression, Field, Query, fn
from oulipoly_engine.store.models.sessions import FactsRow, FactsStateRow
from oulipoly_engine.store.models.transcripts import EntryRow

_BATCH_ENTRIES = 20_000  # some 30 ms under the write lock: bodies are not read
_BATCH_STALE = 200
_FIRST_ENTRIES = 12  # of a user, among which a title is looked for


def _select_counts() -> tuple[ColumnBase, ...]:
    """Return what is counted of some entries, in the order of the columns of `_COLUMNS` behind the key."""
    row = EntryRow
    return (
        fn.COUNT(row.id),
        count_where(row.role == "assistant"),
        count_where(row.is_sidechain != 0),
        count_where((row.is_sidechain != 0) & row.parent_entry_id.is_null()),
        fn.MIN(row.timestamp),
        fn.MAX(least(row.timestamp, row.ingested_at)),  # an entry of the year 9999 was not used later than it was read
    )


_COLUMNS = (
    FactsRow.entries,
    FactsRow.assistant_entries,
    FactsRow.sidechain_entries,
    FactsRow.side_chains,
    FactsRow.first_entry_at,
    FactsRow.last_entry_at,
)


class Undescribed(Record):
    """A session to describe, with what is known of it already."""

    account: str
    session_id: str
    entries: int
    title: str | None
    cwd: str | None
    cli_model: str | None
    forked_from: str | None = None  # the session that it is a fork of; "": of none; None: nobody has looked


class Description(Record):
    """What was found out about a session; None: not found, and what was known stays."""

    of: Undescribed
    title: str | None = None
    cwd: str | None = None
    cli_model: str | None = None
    transcript: str | None = None
    size_bytes: int | None = None
    mtime_ms: int | None = None
    forked_from: str = ""
    history: tuple[str, int] | None = None  # of a fork by reference: whose beginning is its own, up to which ordinal


def recount_damaged(store: Store) -> None:
    """Have sessions counted anew whose number of entries is no number: no description would ever fit it."""
    if store.rows(_some_damaged()):
        with store.write():
            store.run(FactsRow.update(is_stale=1).where(_is_undescribed(), ~has_type(FactsRow.entries, "integer")))


@compile_query
def _some_damaged() -> Query:
    return FactsRow.select(1).where(_is_undescribed(), ~has_type(FactsRow.entries, "integer")).limit(1)


def _is_undescribed() -> Expression:
    return is_distinct(FactsRow.described_entries, FactsRow.entries)


def count_batch(store: Store, most: int = _BATCH_ENTRIES) -> int:
    """Count the next entries, or a batch of changed sessions anew; return how many of either, 0 when none was left."""
    if not _read_count_progress(store)[1] and not _stale(store):
        return 0
    with store.write():
        counted_to, left = _read_count_progress(store)
        if left:
            last = _end_of_batch(store, counted_to, counted_to + most)
            _add(store, counted_to, last)
            store.run(FactsStateRow.update(counted_to=last))
            return last - counted_to
        stale = _stale(store)
        for account, session_id in stale:
            _recount(store, account, session_id, counted_to)
        return len(stale)


def roles(store: Store) -> tuple[str, ...]:
    """Return the roles that turns have. It looks at every entry."""
    return tuple(str(role) for (role,) in store.rows(EntryRow.select(EntryRow.role).distinct()))


@compile_query
def _select_undescribed(without: Parameter, most: Parameter) -> Query:
    row = FactsRow
    return (
        row.select(row.account, row.session_id, row.entries, row.title, row.cwd, row.cli_model, row.forked_from)
        .where(_is_undescribed(), row.account.not_in(each_of(without)))
        .order_by(row.last_entry_at.desc())
        .limit(most)
    )


def find_undescribed(store: Store, most: int, without: Iterable[str] = ()) -> tuple[Undescribed, ...]:
    """Return sessions that have got entries since they were described, the latest used first.

    without: accounts to leave out.
    """
    return tuple(
        Undescribed(str(account), str(session), int(entries), *known)
        for account, session, entries, *known in store.rows(_select_undescribed(sorted(without), most))
    )


@compile_query
def _count_undescribed() -> Query:
    row = FactsRow
    return row.select(fn.COUNT(SQL("*"))).where(_is_undescribed())


def count_undescribed(store: Store) -> int:
    """Return how many sessions are not described as they are now."""
    return int(store.rows(_count_undescribed())[0][0])


@compile_query
def _describe(
    entries: Parameter,
    title: Parameter,
    cwd: Parameter,
    cli_model: Parameter,
    transcript: Parameter,
    size_bytes: Parameter,
    mtime_ms: Parameter,
    forked_from: Parameter,
    history_session: Parameter,
    history_end: Parameter,
    account: Parameter,
    session_id: Parameter,
) -> Query:
    row = FactsRow
    return row.update(
        {
            row.described_entries: entries,
            row.title: fn.COALESCE(title, row.title),
            row.cwd: fn.COALESCE(cwd, row.cwd),
            row.cli_model: fn.COALESCE(cli_model, row.cli_model),
            row.transcript: fn.COALESCE(transcript, row.transcript),
            row.size_bytes: size_bytes,
            row.mtime_ms: mtime_ms,
            row.forked_from: forked_from,
            row.history_session: fn.COALESCE(history_session, row.history_session),
            row.history_end: fn.COALESCE(history_end, row.history_end),
        }
    ).where(row.account == account, row.session_id == session_id)


def describe(store: Store, found: Iterable[Description]) -> None:
    """Keep what was found out about sessions, in one transaction."""
    rows = [
        (
            one.of.entries,
            one.title,
            one.cwd,
            one.cli_model,
            one.transcript,
            one.size_bytes,
            one.mtime_ms,
            one.forked_from,
            *(one.history or (None, None)),
            one.of.account,
            one.of.session_id,
        )
        for one in found
    ]
    with store.write():
        store.execute_many(_describe, rows)


def note_header(store: Store, account: str, session_id: str, begun_at: str, cwd: str | None, forked_from: str) -> None:
    """Keep what a session's file says of it, before its entries are counted. forked_from: empty: it is not a fork."""
    row = FactsRow
    known = {row.cwd: cwd, row.forked_from: forked_from}
    counts = dict.fromkeys((row.entries, row.assistant_entries, row.sidechain_entries, row.side_chains), 0)
    is_it = {row.account: account, row.session_id: session_id}
    times = dict.fromkeys((row.first_entry_at, row.last_entry_at), begun_at)
    target = [row.account, row.session_id]
    store.run(row.insert({**is_it, **times, **counts, **known}).on_conflict(conflict_target=target, update=known))


def has_begun(store: Store, account: str, cwd: str, since: str) -> bool:
    """Tell whether an account's session has begun in a folder since a time."""
    row = FactsRow
    is_it = (row.account == account) & (row.cwd == cwd) & (row.first_entry_at >= since)
    return bool(store.rows(row.select(1).where(is_it).limit(1)))


@compile_query
def _described_transcript(account: Parameter, session_id: Parameter) -> Query:
    row = FactsRow
    return row.select(row.transcript).where(row.account == account, row.session_id == session_id)


def find_described_transcript(store: Store, account: str, session_id: str) -> str | None:
    """Return a session's transcript as it was described last, without a look at its entries; None: it has none."""
    rows = store.rows(_described_transcript(account, session_id))
    return rows[0][0] if rows else None


def transcript_of(store: Store, account: str, session_id: str, *, of_side_chain: bool = False) -> str | None:
    """Return the file that a session's latest entry was read from; sub-agent sessions may lie in files of their own.

    of_side_chain: that of a side chain's latest entry; a sub-agent's session may have no other ones.
    """
    row = EntryRow
    rows = store.rows(
        row.select(row.source_file)
        .where(
            row.session_id == session_id,
            row.provider_name == account,
            row.source_file.is_null(False),
            row.is_sidechain == int(of_side_chain),
        )
        .order_by(row.timestamp.desc())
        .limit(1)
    )
    return str(rows[0][0]) if rows else None


# SQL, since an outer join of a session's entries with another one's is unreadable with models. Only indices are read.
_FIRST_OWN = (
    "SELECT COUNT(o.id), MIN(CASE WHEN o.id IS NULL THEN t.timestamp END), MIN(t.id) FROM session_turns AS t"
    " LEFT JOIN session_turns AS o ON o.provider_name = ? AND o.session_id = ? AND o.turn_id = t.turn_id"
    " WHERE t.session_id = ? AND t.provider_name = ? AND t.is_sidechain = 0"
)


@compile_query
def _select_same_beginning(account: Parameter, session_id: Parameter) -> Query:
    row, mine = FactsRow, FactsRow.alias()
    return (
        row.select(row.account, row.session_id)
        .join(mine, on=(mine.first_entry_at == row.first_entry_at))
        .where(mine.account == account, mine.session_id == session_id, row.session_id != session_id)
        .where(is_distinct(row.forked_from, session_id))  # what is known of the other one stays
    )


def find_origin(store: Store, account: str, session_id: str) -> str | None:
    """Return the session that a CLI copied this one from, with the ids and times of its entries; None: from none.

    The copy goes on at once, so its first own entry is the earlier one; of two without, the one stored later is it.
    Source: Claude Code 2.1.197 with `--fork-session`, seen 2026-11.
    """
    found: list[tuple[int, int, str]] = []
    for other_account, other in store.rows(_select_same_beginning(account, session_id)):
        shared, own, first = store.rows(_FIRST_OWN, (other_account, other, session_id, account))[0]
        others_shared, others_own, others_first = store.rows(_FIRST_OWN, (account, session_id, other, other_account))[0]
        if not shared or not others_shared:  # one of them may have no entry but those of sub-agents
            continue
        is_copy = first > others_first if own is others_own is None else _is_before(own, others_own)
        if is_copy:
            found.append((-int(shared), int(others_first), str(other)))
    return min(found)[2] if found else None


def _is_before(own: str | None, others: str | None) -> bool:
    return own is not None and (others is None or own < others)


def first_user_bodies(store: Store, account: str, session_id: str) -> tuple[str, ...]:
    """Return the bodies of a user's first turns on the main line, as JSON, the first one first."""
    # SQL, to name the index: left to itself, SQLite walks all the account's user entries in order, 77 ms not 0.04.
    rows = store.rows(
        "SELECT body FROM session_turns INDEXED BY idx_session_turns_session_lookup"
        " WHERE session_id = ? AND provider_name = ? AND role = 'user'"
        " AND is_sidechain = 0 AND is_compaction_boundary = 0 AND body IS NOT NULL ORDER BY timestamp, id LIMIT ?",
        (session_id, account, _FIRST_ENTRIES),
    )
    return tuple(str(body) for (body,) in rows)


def _read_count_progress(store: Store) -> tuple[int, bool]:
    """Return up to which entry is counted, and whether there are later ones."""
    row = store.rows(_how_far())[0]
    return int(row[0]), bool(row[1])


@compile_query
def _how_far() -> Query:
    last = EntryRow.select(fn.COALESCE(fn.MAX(EntryRow.id), 0))
    counted_to = FactsStateRow.counted_to
    return FactsStateRow.select(counted_to, Case(None, [(counted_to < last, 1)], 0))


def _end_of_batch(store: Store, counted_to: int, most: int) -> int:
    """Return the last entry up to a number, or the first one behind it where none lies before."""
    last = store.rows(EntryRow.select(fn.MAX(EntryRow.id)).where(EntryRow.id > counted_to, EntryRow.id <= most))[0][0]
    if last is None:
        last = store.rows(EntryRow.select(fn.MIN(EntryRow.id)).where(EntryRow.id > counted_to))[0][0]
    return int(last)


@compile_query
def _some_stale() -> Query:
    row = FactsRow
    return row.select(row.account, row.session_id).where(literal(row.is_stale == 1)).limit(_BATCH_STALE)


def _stale(store: Store) -> list[tuple[str, str]]:
    return [(str(account), str(session)) for account, session in store.rows(_some_stale())]


@compile_query
def _add_counted(after: Parameter, last: Parameter) -> Query:
    entry, facts = EntryRow, FactsRow
    counted = (
        entry.select(entry.provider_name, entry.session_id, *_select_counts())
        .where(entry.id > after, entry.id <= last)
        .group_by(entry.provider_name, entry.session_id)
    )
    sums = (facts.entries, facts.assistant_entries, facts.sidechain_entries, facts.side_chains)
    update: dict[Field[Any], ColumnBase] = {each: each + getattr(EXCLUDED, each.column_name) for each in sums}
    update[facts.first_entry_at] = least(facts.first_entry_at, EXCLUDED.first_turn_at)
    update[facts.last_entry_at] = greatest(facts.last_entry_at, EXCLUDED.last_turn_at)
    return facts.insert_from(counted, [facts.account, facts.session_id, *_COLUMNS]).on_conflict(
        conflict_target=[facts.account, facts.session_id], update=update
    )


def _add(store: Store, after: int, last: int) -> None:
    store.run(_add_counted(after, last))


@compile_query
def _count_session(account: Parameter, session_id: Parameter, counted_to: Parameter) -> Query:
    return EntryRow.select(*_select_counts()).where(
        EntryRow.session_id == session_id, EntryRow.provider_name == account, EntryRow.id <= counted_to
    )


def _recount(store: Store, account: str, session_id: str, counted_to: int) -> None:
    """Count a session's entries anew as far as all entries are counted; its title may have changed with them."""
    row = store.rows(_count_session(account, session_id, counted_to))[0]
    is_it = (FactsRow.account == account) & (FactsRow.session_id == session_id)
    if not row[0]:
        store.run(FactsRow.delete().where(is_it))
        return
    counted = dict(zip(_COLUMNS, row, strict=True))
    undescribed = {FactsRow.is_stale: 0, FactsRow.described_entries: None, FactsRow.title: None}
    store.run(FactsRow.update({**counted, **undescribed}).where(is_it))

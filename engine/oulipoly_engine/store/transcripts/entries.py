"""Ingested entries of sessions, counted and read; the transcripts themselves stay with the CLIs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.runs.session_match import SessionActivity
from oulipoly_engine.core.transcripts.entry_text import extract_text
from oulipoly_engine.core.transcripts.turn_script import COMPACTION, LIVE_IDS, EntryLine
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query, insertion
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import count_where, each_of
from oulipoly_engine.store.base.orm import SQL, Case, Expression, Query, fn
from oulipoly_engine.store.models.quota import AccountQuotaRow
from oulipoly_engine.store.models.sessions import CopiedHistoryRow, SegmentRow
from oulipoly_engine.store.models.transcripts import BEHIND_LIVE, IS_LIVE, IS_READ, EntryRow


class EntryCounts(Record):
    """How many entries of a session are stored."""

    entries: int
    assistant: int  # those of sub-agent sessions included
    sidechain: int


class StoredEntry(Record):
    """An entry as stored."""

    entry_id: str
    role: str
    timestamp: str  # RFC 3339
    body: str | None  # JSON list of content chunks; None for a row stored without its body


_COLUMNS = (
    EntryRow.provider_name,
    EntryRow.session_id,
    EntryRow.entry_id,
    EntryRow.timestamp,
    EntryRow.role,
    EntryRow.parent_entry_id,
    EntryRow.is_sidechain,
    EntryRow.is_compaction_boundary,
    EntryRow.source_file,
    EntryRow.ingested_at,
    EntryRow.body,
)
_INSERTION = insertion(*_COLUMNS, conflict="ignore")
_WHOLE_INSERTION = insertion(*_COLUMNS, EntryRow.kind, EntryRow.turn_id, EntryRow.native_id, conflict="ignore")


def insert_new(store: Store, account: str, lines: Iterable[EntryLine], ingested_at: datetime) -> int:
    """Insert the turns that are not stored yet and return their number. Runs inside the caller's write transaction."""
    instant = to_text(ingested_at)
    rest = [*lines]
    special = [
        each for each in rest if each.native_id or each.turn_id or each.is_compaction_boundary or each.other_kind
    ]
    if special:  # transcripts have hardly any, and each column costs a tenth of a row's time
        values = ((*_values(account, line, instant), line.kind, line.turn_id, line.native_id) for line in rest)
        return store.execute_many(_WHOLE_INSERTION, values)
    return store.execute_many(_INSERTION, (_values(account, line, instant) for line in rest))


def _values(account: str, line: EntryLine, instant: str) -> tuple[object, ...]:
    return (
        account,
        line.session_id,
        line.entry_id,
        line.timestamp,
        line.role,
        line.parent_entry_id,
        int(line.is_sidechain),
        int(line.is_compaction_boundary),
        line.source_file,
        instant,
        line.body,
    )


@compile_query
def _some_read(accounts: Parameter, session_id: Parameter) -> Query:
    """Ask for two stretches of an index: for both at once, SQLite would go through all that was heard."""
    row = EntryRow
    mine = row.provider_name.in_(each_of(accounts)) & (row.session_id == session_id)
    before_live, behind_live = (
        row.select(row.id).where(mine, ids) for ids in (row.entry_id < LIVE_IDS, row.entry_id >= BEHIND_LIVE)
    )
    anything = row.alias()
    return anything.select(SQL("1")).where(fn.EXISTS(before_live) | fn.EXISTS(behind_live)).limit(1)


@compile_query
def _select_accounts(session_id: Parameter) -> Query:
    return SegmentRow.select(SegmentRow.provider_name).distinct().where(SegmentRow.session_id == session_id)


def find_accounts(store: Store, session_id: str) -> set[str]:
    """Return the accounts that a CLI's session lies on, as far as it is listed."""
    return {name for (name,) in store.rows(_select_accounts(session_id))}


def has_transcript(store: Store, accounts: Iterable[str], session_id: str) -> bool:
    """Tell whether entries of a session are stored that its CLI has written, and not only those that we have heard."""
    return bool(store.rows(_some_read([*accounts], session_id)))


def _are_live(account: Parameter, session_id: Parameter) -> Expression:
    return (EntryRow.provider_name == account) & (EntryRow.session_id == session_id) & IS_LIVE


@compile_query
def _some_live(account: Parameter, session_id: Parameter) -> Query:
    return EntryRow.select(EntryRow.id).where(_are_live(account, session_id)).limit(1)


def has_live(store: Store, account: str, session_id: str) -> bool:
    """Tell whether entries of a session are stored that a live session or a one-shot has made."""
    return bool(store.rows(_some_live(account, session_id)))


def is_only_live(store: Store, account: str, session_id: str) -> bool:
    """Tell whether these are all that is stored of it."""
    return has_live(store, account, session_id) and not has_transcript(store, (account,), session_id)


@compile_query
def _select_live(account: Parameter, session_id: Parameter) -> Query:
    return EntryRow.select(EntryRow.entry_id).where(_are_live(account, session_id))


def list_live(store: Store, account: str, session_id: str) -> tuple[str, ...]:
    """Return the ids of these entries."""
    return tuple(entry_id for (entry_id,) in store.rows(_select_live(account, session_id)))


@compile_query
def _drop_live(account: Parameter, session_id: Parameter) -> Query:
    return EntryRow.delete().where(_are_live(account, session_id))


@compile_query
def _roles_taken(turn_id: Parameter) -> Query:
    return EntryRow.select(EntryRow.role).distinct().where(EntryRow.turn_id == turn_id, IS_READ)


def find_roles_taken(store: Store, turn_id: str) -> frozenset[str]:
    """Return whose words of a turn entries of a transcript have taken over."""
    return frozenset(str(role) for (role,) in store.rows(_roles_taken(turn_id)))


@compile_query
def _copy_live(account: Parameter, former_id: Parameter, native_id: Parameter) -> Query:
    row = EntryRow
    columns = [field for field in row._meta.sorted_fields if field is not row.id]
    values = [native_id if field is row.session_id else field for field in columns]
    copies = row.select(*values).where(_are_live(account, former_id)).order_by(row.id)
    return row.insert_from(copies, columns).on_conflict(action="nothing")


def move_live(store: Store, account: str, former_id: str, native_id: str) -> None:
    """Have them lie under another id of their CLI. Runs inside the caller's write transaction."""
    store.run(_copy_live(account, former_id, native_id))
    store.run(_drop_live(account, former_id))


@compile_query
def _complete(
    account: Parameter,
    session_id: Parameter,
    entry_id: Parameter,
    parent_id: Parameter,
    turn_id: Parameter,
    native_id: Parameter,
) -> Query:
    row = EntryRow
    mine = (row.provider_name == account) & (row.session_id == session_id) & (row.entry_id == entry_id)
    values = {row.parent_entry_id: parent_id, row.turn_id: turn_id, row.native_id: native_id}
    return row.update(values).where(mine, row.turn_id.is_null())


def complete(store: Store, account: str, lines: Iterable[EntryLine]) -> None:
    """Give entries that a host of an earlier release has made what that knew nothing of."""
    values = ((account, e.session_id, e.entry_id, e.parent_entry_id, e.turn_id, e.native_id) for e in lines)
    store.execute_many(_complete, values)


def has_any(store: Store, account: str) -> bool:
    """Tell whether anything of an account's transcripts is stored."""
    row = EntryRow
    return bool(store.rows(row.select(row.id).where(row.provider_name == account, IS_READ).limit(1)))


def of_account(store: Store, account: str) -> int:
    """Count an account's entries of every role."""
    return int(store.rows(EntryRow.select(fn.COUNT(EntryRow.id)).where(EntryRow.provider_name == account))[0][0])


def activity(store: Store, account: str, started: datetime, finished: datetime) -> tuple[SessionActivity, ...]:
    """Return what came into each session of an account inside (started, finished] and was ingested after the start.

    What was copied there meanwhile did not; and what we have heard ourselves tells nothing of who has said it.
    """
    row, copied = EntryRow, CopiedHistoryRow
    copies = copied.select(copied.id).where(
        copied.account == row.provider_name, copied.session_id == row.session_id, _is_copied()
    )
    rows = store.rows(
        row.select(
            row.session_id, row.timestamp, row.source_file, Case(None, [(row.role == "user", row.body)], None)
        ).where(
            row.provider_name == account,
            row.role.in_(("user", "assistant")),
            row.timestamp > to_text(started),
            row.timestamp <= to_text(finished),
            row.ingested_at > to_text(started),
            IS_READ,
            ~fn.EXISTS(copies),
        )
    )
    sessions: dict[str, list[tuple[str, str | None, str | None]]] = {}
    for session, at, file, body in rows:
        sessions.setdefault(str(session), []).append((str(at), file, body))
    return tuple(
        SessionActivity(
            session,
            len(found),
            min(at for at, _, _ in found),
            tuple(text for _, _, body in found if (text := extract_text(body))),
            frozenset(file for _, file, _ in found if file is not None),
        )
        for session, found in sessions.items()
    )


@compile_query
def _count(account: Parameter, session_id: Parameter) -> Query:
    row = EntryRow
    return row.select(
        fn.COUNT(row.id), count_where(row.role == "assistant"), fn.COALESCE(fn.SUM(row.is_sidechain), 0)
    ).where(row.provider_name == account, row.session_id == session_id)


def count(store: Store, account: str, session_id: str) -> EntryCounts:
    """Count the stored entries of one session."""
    row = store.rows(_count(account, session_id))[0]
    return EntryCounts(int(row[0]), int(row[1]), int(row[2]))


def of_session(store: Store, account: str, session_id: str) -> tuple[StoredEntry, ...]:
    """Return a session's stored entries in order of time, then of arrival."""
    row = EntryRow
    rows = store.rows(
        row.select(row.entry_id, row.role, row.timestamp, row.body)
        .where(row.provider_name == account, row.session_id == session_id)
        .order_by(row.timestamp, row.id)
    )
    return tuple(StoredEntry(str(entry), str(role), str(at), body) for entry, role, at, body in rows)


@compile_query
def _assistant_entries_since(account: Parameter, since: Parameter) -> Query:
    row = EntryRow
    return row.select(fn.COUNT(row.id)).where(
        row.provider_name == account, row.role == "assistant", row.timestamp > since
    )


@compile_query
def _copied_entries_since(account: Parameter, copied_since: Parameter, since: Parameter) -> Query:
    row, copied = EntryRow, CopiedHistoryRow
    is_of = (row.provider_name == copied.account) & (row.session_id == copied.session_id)
    return (
        copied.select(fn.COUNT(row.id.distinct()))
        .join(row, on=is_of & _is_copied())
        .where(
            copied.account == account,
            copied.copied_at > copied_since,
            row.role == "assistant",
            row.timestamp > since,
        )
    )


def _is_copied() -> Expression:
    row, copied = EntryRow, CopiedHistoryRow
    return (row.timestamp <= copied.copied_at) & (copied.since.is_null() | (row.timestamp > copied.since))


def assistant_turns_since(store: Store, account: str, since: datetime) -> int:
    """Count an account's assistant entries strictly after an instant, sub-agent sessions included (contract 1.3).

    What was copied there is no work of the account, and left out.
    """
    instant = to_text(since)
    copied = store.rows(_copied_entries_since(account, instant, instant))[0][0]
    return int(store.rows(_assistant_entries_since(account, instant))[0][0]) - int(copied)


@compile_query
def _assistant_entries_since_reading(accounts: Parameter) -> Query:
    row = EntryRow
    quota = AccountQuotaRow
    is_later = (row.provider_name == quota.account) & (row.role == "assistant") & (row.timestamp > quota.refreshed_at)
    mine = quota.select(quota.account, fn.COUNT(row.id)).join(row, on=is_later)
    return mine.where(quota.account.in_(each_of(accounts))).group_by(quota.account)


@compile_query
def _copied_entries_since_reading(accounts: Parameter) -> Query:
    row = EntryRow
    quota = AccountQuotaRow
    copied = CopiedHistoryRow
    is_later = (copied.account == quota.account) & (copied.copied_at > quota.refreshed_at)
    is_of = (row.provider_name == copied.account) & (row.session_id == copied.session_id) & _is_copied()
    return (
        quota.select(quota.account, fn.COUNT(row.id.distinct()))
        .join(copied, on=is_later)
        .join(row, on=is_of & (row.role == "assistant") & (row.timestamp > quota.refreshed_at))
        .where(quota.account.in_(each_of(accounts)))
        .group_by(quota.account)
    )


def assistant_turns_since_reading(store: Store, accounts: Collection[str]) -> dict[str, int]:
    """Count them as `assistant_turns_since` does, each account's after its last reading; without those that have none.

    A pool of fifty accounts is counted by two statements.
    """
    names = [*accounts]
    counted = {str(name): int(number) for name, number in store.rows(_assistant_entries_since_reading(names))}
    copied = dict(store.rows(_copied_entries_since_reading(names))) if counted else {}
    return {name: number - copied.get(name, 0) for name, number in counted.items()}


def backfill_compaction(store: Store) -> int:
    """Mark stored compaction summaries as boundaries and return how many rows changed.

    A summary is known by the sentence with which Claude Code opens it (seen in 2.1.50 to 2.1.329).
    """
    row = EntryRow
    summaries = row.update(is_compaction_boundary=1, kind=COMPACTION).where(
        row.is_compaction_boundary == 0,
        row.role == "user",
        row.body.contains("This session is being continued from a previous conversation that ran out of context"),
    )
    with store.write():
        return store.run(summaries)

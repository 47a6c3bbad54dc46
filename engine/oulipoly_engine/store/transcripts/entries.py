"""Ingested entries of sessions, counted and read; the transcripts themselves stay with the CLIs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.runs.session_match import SessionActivity
from oulipoly_engine.core.transcripts.entry_text import extract_text
from oulipoly_engine.core.transcripts.turn_script import LIVE_IDS, EntryLine
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query, insertion
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import count_where, each_of
from oulipoly_engine.store.base.orm import Case, Expression, Query, fn
from oulipoly_engine.store.models.live import LiveSessionRow
from oulipoly_engine.store.models.sessions import CopiedHistoryRow, SegmentRow
from oulipoly_engine.store.models.transcripts import EntryRow


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


_BEHIND_LIVE = LIVE_IDS[:-1] + chr(ord(LIVE_IDS[-1]) + 1)  # the first text behind all that begin so
_IS_READ = (EntryRow.entry_id < LIVE_IDS) | (EntryRow.entry_id >= _BEHIND_LIVE)  # of a transcript

_INSERTION = insertion(
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
    conflict="ignore",
)


def insert_new(store: Store, account: str, found: Iterable[EntryLine], ingested_at: datetime) -> int:
    """Insert the turns that are not stored yet and return their number. Runs inside the caller's write transaction."""
    instant = to_text(ingested_at)
    return store.execute_many(
        _INSERTION,
        (
            (
                account,
                entry.session_id,
                entry.entry_id,
                entry.timestamp,
                entry.role,
                entry.parent_entry_id,
                int(entry.is_sidechain),
                int(entry.is_compaction_boundary),
                entry.source_file,
                instant,
                entry.body,
            )
            for entry in found
        ),
    )


@compile_query
def _before_live(account: Parameter, session_id: Parameter) -> Query:
    return _of_transcript(account, session_id, EntryRow.entry_id < LIVE_IDS)


@compile_query
def _behind_live(account: Parameter, session_id: Parameter) -> Query:
    return _of_transcript(account, session_id, EntryRow.entry_id >= _BEHIND_LIVE)


def _of_transcript(account: Parameter, session_id: Parameter, ids: Expression) -> Query:
    row = EntryRow
    return row.select(row.id).where(row.provider_name == account, row.session_id == session_id, ids).limit(1)


@compile_query
def _select_accounts(session_id: Parameter) -> Query:
    return SegmentRow.select(SegmentRow.provider_name).distinct().where(SegmentRow.session_id == session_id)


def has_transcript(store: Store, account: str, session_id: str) -> bool:
    """Tell whether entries of a session are stored that its CLI has written, and not only those that we have heard.

    They may be another account's: a runtime of `[runtimes.x]` without an account may use the home of one.
    """
    accounts = {account, *(name for (name,) in store.rows(_select_accounts(session_id)))}
    return any(store.rows(question(name, session_id)) for name in accounts for question in (_before_live, _behind_live))


def _are_live(account: Parameter, session_id: Parameter) -> Expression:
    row = EntryRow
    ids = (row.entry_id >= LIVE_IDS) & (row.entry_id < _BEHIND_LIVE)
    return (row.provider_name == account) & (row.session_id == session_id) & ids


@compile_query
def _some_live(account: Parameter, session_id: Parameter) -> Query:
    return EntryRow.select(EntryRow.id).where(_are_live(account, session_id)).limit(1)


def has_live(store: Store, account: str, session_id: str) -> bool:
    """Tell whether entries of a session are stored that a live session or a one-shot has made."""
    return bool(store.rows(_some_live(account, session_id)))


@compile_query
def _select_live_ids(account: Parameter, session_id: Parameter) -> Query:
    return EntryRow.select(EntryRow.entry_id).where(_are_live(account, session_id))


@compile_query
def _drop_live(account: Parameter, session_id: Parameter) -> Query:
    return EntryRow.delete().where(_are_live(account, session_id))


@compile_query
def _select_live_owners(session_ids: Parameter) -> Query:
    row = LiveSessionRow
    account = fn.COALESCE(row.account, row.runtime_id)
    return row.select(account, row.native_id).where(row.native_id.in_(each_of(session_ids)))


def drop_live(store: Store, account: str, session_ids: Collection[str]) -> None:
    """Remove the entries that live sessions and one-shots have made: a transcript is read, which has them too.

    Runs inside the caller's write transaction. account: whose transcript it is.
    """
    store.execute_many(_drop_live, _list_owners(store, account, session_ids))


def list_live(store: Store, account: str, session_ids: Collection[str]) -> set[str]:
    """Return the live sessions and one-shots, by our ids, that have made the entries which `drop_live` removes."""
    owners = _list_owners(store, account, session_ids)
    return {entry_id.split("/")[1] for owner in owners for (entry_id,) in store.rows(_select_live_ids(*owner))}


def _list_owners(store: Store, account: str, session_ids: Collection[str]) -> set[tuple[str, str]]:
    owners = store.rows(_select_live_owners([*session_ids]))
    return {*owners, *((account, session_id) for session_id in session_ids)}


def has_any(store: Store, account: str) -> bool:
    """Tell whether anything of an account's transcripts is stored."""
    row = EntryRow
    return bool(store.rows(row.select(row.id).where(row.provider_name == account, _IS_READ).limit(1)))


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
            _IS_READ,
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


def backfill_compaction(store: Store) -> int:
    """Mark stored compaction summaries as boundaries and return how many rows changed.

    A summary is known by the sentence with which Claude Code opens it (seen in 2.1.50 to 2.1.329).
    """
    row = EntryRow
    summaries = row.update(is_compaction_boundary=1).where(
        row.is_compaction_boundary == 0,
        row.role == "user",
        row.body.contains("This session is being continued from a previous conversation that ran out of context"),
    )
    with store.write():
        return store.run(summaries)

"""Entries with the bodies that were stored when they were ingested: what an export falls back on."""

from __future__ import annotations

from collections.abc import Iterator

from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query, Tuple
from oulipoly_engine.store.models.transcripts import IS_SAID, EntryRow

_PAGE = 500  # rows; a long session's bodies do not fit into flat memory at once


class StoredBody(Record):
    """A stored entry and the row it lies in."""

    row_id: int
    entry_id: str
    role: str
    timestamp: str  # RFC 3339
    body: str | None  # JSON list of content chunks; None for a row stored without its body


def bodies(store: Store, account: str, session_id: str) -> Iterator[StoredBody]:
    """Yield a session's entries in order of time, then of arrival, all from one view of the file."""
    after: tuple[str, int] = ("", 0)
    with store.read():
        while rows := _page(store, account, session_id, after):
            yield from rows
            after = (rows[-1].timestamp, rows[-1].row_id)


@compile_query
def _page_after(session_id: Parameter, account: Parameter, timestamp: Parameter, row_id: Parameter) -> Query:
    row = EntryRow
    return (
        row.select(row.id, row.entry_id, row.role, row.timestamp, row.body)
        .where(
            row.session_id == session_id,
            row.provider_name == account,
            IS_SAID,
            Tuple(row.timestamp, row.id) > Tuple(timestamp, row_id),
        )
        .order_by(row.timestamp, row.id)
        .limit(_PAGE)
    )


def _page(store: Store, account: str, session_id: str, after: tuple[str, int]) -> list[StoredBody]:
    rows = store.rows(_page_after(session_id, account, *after))
    return [StoredBody(int(row), str(entry), str(role), str(at), body) for row, entry, role, at, body in rows]

"""A session's entries by position: any page of a long one costs the same as the first.

Positions are those of time, then of arrival, sub-agent sessions left out or in as asked. Branches of one session may be
sessions of their own for its CLI, and so may be its beginning: what was said before in these is read along, each entry
once.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from oulipoly_engine.core.transcripts.entry_tree import EntryLink, place_own
from oulipoly_engine.core.transcripts.turn_script import LIVE_IDS, MESSAGE, kind_of
from oulipoly_engine.records import Record, replace
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import ModelSelect, Query
from oulipoly_engine.store.models.sessions import SegmentRow
from oulipoly_engine.store.models.transcripts import EntryRow
from oulipoly_engine.store.sessions.forks import read_history


class Entry(Record):
    """One entry with its text's raw form."""

    row_id: int
    entry_id: str
    role: str
    timestamp: str  # RFC 3339
    parent_entry_id: str | None
    is_sidechain: bool
    is_compaction_boundary: bool
    source_file: str | None
    body: str | None  # JSON list of content chunks; None for a row stored without its body
    kind: str = MESSAGE  # or compaction
    turn_id: str | None = None  # ours, that it belongs to


class _Part(Record):
    """What a CLI keeps as one session."""

    account: str
    session_id: str
    begins_behind: str | None = None  # an entry of a part before; None: it is the first one


@compile_query
def _parts(session_id: Parameter, account: Parameter) -> Query:
    """Ask for a session of a CLI, and for those that belong to the same session of ours because a person went back."""
    own = SegmentRow.alias()
    row = SegmentRow
    is_branched = row.begins_behind.is_null(is_null=False) | own.begins_behind.is_null(is_null=False)
    return (
        own.select(row.provider_name, row.session_id, row.begins_behind)
        .join(row, on=(row.chain_id == own.chain_id) & (is_branched | (row.id == own.id)))
        .where(own.session_id == session_id, own.provider_name == account)
        .order_by(row.started_at, row.id)
    )


def find_parts(store: Store, account: str, session_id: str) -> list[_Part]:
    """Return the parts of a session in their order, at least the one that is asked for."""
    parts = [_Part(*row) for row in store.rows(_parts(session_id, account))]
    return parts if len(parts) > 1 else [_Part(account, session_id)]


def _of_session(session_id: Parameter, account: Parameter) -> ModelSelect[EntryRow]:
    row = EntryRow
    places = row.select(row.id).where(row.session_id == session_id, row.provider_name == account)
    return places.order_by(row.timestamp, row.id)


_all_places = compile_query(_of_session)


@compile_query
def _main_places(session_id: Parameter, account: Parameter) -> Query:
    return _of_session(session_id, account).where(EntryRow.is_sidechain == 0)


class EntryPages:
    """The places of a session's entries, eight bytes each; `refresh` when the state file has changed."""

    def __init__(self, store: Store, account: str, session_id: str, *, with_side_chains: bool = True) -> None:
        self._store = store
        self._key = (session_id, account)
        self._has_side_chains = with_side_chains
        self._rows = array("q")
        self.refresh()

    def __len__(self) -> int:
        """Return how many turns there are."""
        return len(self._rows)

    def refresh(self) -> None:
        """Look again which turns there are."""
        parts = find_parts(self._store, self._key[1], self._key[0])
        if len(parts) == 1 and not read_history(self._store, self._key[1], self._key[0]):
            rows = self._store.rows((_all_places if self._has_side_chains else _main_places)(*self._key))
            self._rows = array("q", (row for (row,) in rows))
        else:
            placed = read_links(self._store, parts)
            kept = placed if self._has_side_chains else [link for link in placed if not link.is_sidechain]
            self._rows = array("q", (link.row_id for link in kept))

    def page(self, start: int, count: int) -> tuple[Entry, ...]:
        """Return up to `count` entries from a position on; fewer at the end, and where some went since `refresh`."""
        return by_row(self._store, self._rows[max(0, start) : max(0, start) + max(0, count)])

    def position(self, row_id: int) -> int | None:
        """Return where an entry stands, None when it is not among them."""
        try:
            return self._rows.index(row_id)
        except ValueError:
            return None


@compile_query
def _rows_behind(session_id: Parameter, account: Parameter, row_id: Parameter, count: Parameter) -> Query:
    row = EntryRow
    mine = (row.session_id == session_id) & (row.provider_name == account) & (row.is_sidechain == 0)
    return row.select(row.id).where(mine, row.id > row_id).order_by(row.id).limit(count)


def list_behind(store: Store, account: str, session_id: str, row_id: int, count: int) -> tuple[Entry, ...]:
    """Return the entries that were stored behind a row, in the order in which they were; none of sub-agents."""
    rows = store.rows(_rows_behind(session_id, account, row_id, count))
    return by_row(store, [each for (each,) in rows])


@compile_query
def _by_row(row_ids: Parameter) -> Query:
    row = EntryRow
    return row.select(
        row.id,
        row.entry_id,
        row.role,
        row.timestamp,
        row.parent_entry_id,
        row.is_sidechain,
        row.is_compaction_boundary,
        row.source_file,
        row.body,
        row.kind,
        row.turn_id,
    ).where(row.id.in_(each_of(row_ids)))


def by_row(store: Store, row_ids: Sequence[int]) -> tuple[Entry, ...]:
    """Return entries by their rows, in the order of the rows given; those that are gone are left out."""
    rows = store.rows(_by_row(row_ids))
    found = {
        row_id: Entry(
            row_id,
            entry,
            role,
            at,
            parent,
            bool(side),
            bool(boundary),
            source,
            body,
            kind_of(kind, is_compaction_boundary=bool(boundary)),
            turn_id,
        )
        for row_id, entry, role, at, parent, side, boundary, source, body, kind, turn_id in rows
    }
    return tuple(found[row_id] for row_id in row_ids if row_id in found)


@compile_query
def _links(session_id: Parameter, account: Parameter) -> Query:
    row = EntryRow
    return (
        row.select(
            row.id,
            row.entry_id,
            row.parent_entry_id,
            row.is_sidechain,
            row.timestamp,
            row.source_file,
            row.kind,
            row.turn_id,
        )
        .where(row.session_id == session_id, row.provider_name == account)
        .order_by(row.timestamp, row.id)
    )


def has_entry(store: Store, account: str, session_id: str, entry_id: str) -> bool:
    """Tell whether an entry belongs to a session, by its whole id."""
    row = EntryRow
    parts = find_parts(store, account, session_id)
    asked = (
        row.select(row.id).where(
            row.provider_name == part.account, row.session_id == part.session_id, row.entry_id == entry_id
        )
        for part in parts
    )
    if any(store.rows(query) for query in asked):
        return True
    return any(link.entry_id == entry_id for _, link in read_history(store, account, parts[0].session_id))


def links(store: Store, account: str, session_id: str) -> tuple[EntryLink, ...]:
    """Return how a session's entries hang together, in the order in which they were written; no bodies are read."""
    return read_links(store, find_parts(store, account, session_id))


def read_links(store: Store, parts: Sequence[_Part]) -> tuple[EntryLink, ...]:
    """Return the entries of parts, those once that a part has taken over from the one before.

    What a CLI has copied into a branch is known by standing before the first words of ours there.
    """
    history = read_history(store, parts[0].account, parts[0].session_id)
    placed = {link.entry_id: link for _, link in history}
    for part in parts:
        begins_behind = part.begins_behind
        rows = store.rows(_links(part.session_id, part.account))
        ours = (place for place, row in enumerate(rows) if row[-1] is not None or row[1].startswith(LIVE_IDS))
        begin = next(ours, 0) if begins_behind else 0
        links_of_part = []
        for row, entry, parent, side, at, source, kind, _ in rows[begin:]:
            if entry in placed:
                continue
            link = EntryLink(row, entry, parent, bool(side), at, source, kind)
            if begins_behind is not None and not side:
                is_ours = begins_behind.startswith(LIVE_IDS) and begins_behind in placed  # its CLI knows what is before
                if is_ours or parent not in placed:
                    link = replace(link, parent_entry_id=begins_behind)
                begins_behind = None
            links_of_part.append(link)
        if placed and part is parts[0]:  # a fork by reference: entries of ours may belong between those before it
            links_of_part = _sort([*placed.values(), *links_of_part])
        placed |= {link.entry_id: link for link in place_own(links_of_part, placed.keys())}
    if len(parts) > 1 or history:
        return tuple(_sort([*placed.values()]))
    return tuple(placed.values())


def _sort(links_of_parts: list[EntryLink]) -> list[EntryLink]:
    return sorted(links_of_parts, key=lambda link: (link.timestamp, link.row_id))

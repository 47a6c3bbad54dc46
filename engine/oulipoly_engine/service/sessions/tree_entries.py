"""The entries of a session's tree, each read when it is looked at: a screen shows forty of a hundred thousand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import overload

from oulipoly_engine.adapters.transcript_calls import find_calls, read_calls
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.sessions.tree_lines import TreeEntry, TreeLayout
from oulipoly_engine.core.text.columns import fit, plain
from oulipoly_engine.core.transcripts import claude, codex
from oulipoly_engine.core.transcripts.entry_text import chunk_kinds, passages
from oulipoly_engine.core.transcripts.entry_tree import EntryColumns
from oulipoly_engine.core.transcripts.entry_view import preview
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions import facts
from oulipoly_engine.store.sessions.sessions import list_sessions
from oulipoly_engine.store.transcripts.entry_columns import list_kept, read_columns
from oulipoly_engine.store.transcripts.entry_pages import Entry, by_row, find_parts

_PAGE = 50  # entries read at once, a screen full
_BATCH = 200  # where all are read
_HEAD = 4  # entries among which a CLI puts its folder and its instructions
_NOT_TYPED = (*claude.NOT_TYPED, *codex.NOT_TYPED)
_PREVIEW = 160  # columns: more than most rows have room for


class TreeEntries(Sequence[TreeEntry]):
    """Entries, depth first, each behind its parent; those of a page are read when one of them is asked for."""

    def __init__(
        self,
        layout: TreeLayout,
        columns: EntryColumns,
        labels: Mapping[str, str],
        read: Callable[[Sequence[int]], Iterable[Entry]],
    ) -> None:
        """layout: of all or some of the columns' entries."""
        self._layout = layout
        self._columns = columns
        self._labels = labels
        self._read = read
        self._pages: dict[int, list[TreeEntry]] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._layout.ids)

    @overload
    def __getitem__(self, place: int) -> TreeEntry: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[TreeEntry]: ...
    def __getitem__(self, place: int | slice) -> TreeEntry | Sequence[TreeEntry]:
        """Return the entry at a place. Raises RunnerError where it cannot be read."""
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        number, at = divmod(range(len(self))[place], _PAGE)
        page = self._pages.get(number)
        if page is None:
            page = self._read_page(range(len(self))[number * _PAGE : (number + 1) * _PAGE])
            self._pages[number] = page
        return page[at]

    def _read_page(self, places: range) -> list[TreeEntry]:
        rows = [self._columns.rows[self._layout.places[place]] for place in places]
        stored = {entry.row_id: entry for entry in self._read(rows)}
        calls = read_calls_of(stored.values())
        return [self._entry(place, stored.get(row), calls) for place, row in zip(places, rows, strict=True)]

    def _entry(self, place: int, entry: Entry | None, calls: Mapping[str, str]) -> TreeEntry:
        layout = self._layout
        entry_id = layout.ids[place]
        parent_id = layout.ids[layout.parents[place]] if layout.parents[place] >= 0 else None
        prefix = layout.prefix(place)
        if entry is None:  # a sync has replaced it meanwhile
            return TreeEntry(entry_id, parent_id, "message", "", "", "(gone)", prefix=prefix)
        return TreeEntry(
            entry_id,
            parent_id,
            entry.kind,
            role_of(entry),
            entry.timestamp,
            fit(f"[{plain(calls[entry_id])}]", _PREVIEW) if entry_id in calls else preview(entry.body, _PREVIEW),
            self._labels.get(entry_id, ""),
            prefix,
            entry.is_sidechain,
        )


def read_calls_of(entries: Iterable[Entry]) -> dict[str, str]:
    """Return which tools were called in entries that tell only that one was, by their ids."""
    silent: dict[str, list[str]] = {}
    for entry in entries:
        if entry.source_file and chunk_kinds(entry.body) == ("tool_use",) and not passages(entry.body):
            silent.setdefault(entry.source_file, []).append(entry.entry_id)
    return {entry_id: call for path, ids in silent.items() for entry_id, call in read_calls(path, ids).items()}


def find_calls_with(store: Store, session: ResolvedSession, words: str) -> Iterator[str]:
    """Yield the ids of a session's entries that have called a tool of such a name, or with such an argument."""
    for part in find_parts(store, session.account, session.session_id) if words else ():
        path = facts.find_described_transcript(store, part.account, part.session_id)
        if path is not None:
            yield from find_calls(path, words)


def find_said_on(store: Store, chain_id: str, wanted: str) -> set[str]:
    """Return the entries that were said on accounts with a name like that; a move takes along what was said before."""
    (session,) = list_sessions(store, (chain_id,))
    parts = dict.fromkeys((part.account, part.session_id) for part in session.parts)
    if len({account for account, _ in parts}) == 1:
        return set()
    owners: dict[str, str] = {}
    for account, session_id in parts:
        for entry_id in read_columns(store, account, session_id).ids:
            owners.setdefault(entry_id, account)
    return {entry_id for entry_id, account in owners.items() if wanted in account.casefold()}


def role_of(entry: Entry) -> str:
    """Return who said an entry: what holds a tool's results alone, nobody said."""
    return "tool_result" if chunk_kinds(entry.body) == ("tool_result",) else entry.role


def leave_notes(columns: EntryColumns, read: Callable[[Sequence[int]], Iterable[Entry]]) -> EntryColumns:
    """Return columns in which what a CLI has said at the beginning in its user's name is said by nobody."""
    places = {row: place for place, row in enumerate(columns.rows[:_HEAD])}
    notes = {places[entry.row_id] for entry in read([*places]) if _is_note(entry)}
    return replace(columns, unsaid=columns.unsaid | notes) if notes else columns


def _is_note(entry: Entry) -> bool:
    texts = [passage.text for passage in passages(entry.body)]
    return entry.role == "user" and bool(texts) and all(text.startswith(_NOT_TYPED) for text in texts)


def choose_kept(
    columns: EntryColumns,
    labels: Mapping[str, str],
    kept: str,
    leaf: str | None,
    list_rows: Callable[[], Iterable[int]],
) -> Sequence[int] | None:
    """Return the places of the entries that a filter keeps, None: all.

    kept: one of the facade's FILTERS. leaf: is seen also where nobody has said it, but with `user`. list_rows: says
    which the database keeps, for a filter by kinds.
    """
    places = range(len(columns.ids))
    left_out = columns.sides.keys() | columns.unsaid
    if kept == "all" or (kept == "default" and not left_out):
        return None
    if kept == "labelled":
        return [place for place in places if columns.ids[place] in labels]
    main = [place for place in places if place not in left_out] if left_out else places
    if kept != "default":
        rows = {*list_rows()}
        main = [place for place in main if columns.rows[place] in rows]
    at_leaf = () if kept == "user" else [place for place in columns.unsaid if columns.ids[place] == leaf]
    return sorted((*main, *at_leaf)) if at_leaf else main


def read_kept(
    store: Store, places: Iterable[tuple[str, str]], kept: str, known: dict[str, Sequence[int]]
) -> Sequence[int]:
    """Return the rows that a filter by kinds keeps. places: accounts and sessions. known: of filters read before."""
    if kept not in known:
        known[kept] = [row for place in places for row in list_kept(store, *place, kept)]
    return known[kept]


def read_all(store: Store, rows: Sequence[int]) -> Iterable[Entry]:
    """Yield entries by their rows, page by page."""
    for begin in range(0, len(rows), _BATCH):
        yield from by_row(store, rows[begin : begin + _BATCH])

"""The entries of a session's tree, each read when it is looked at: a screen shows forty of a hundred thousand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import overload

from oulipoly_engine.core.sessions.tree_lines import TreeEntry, arrange, keep_only
from oulipoly_engine.core.transcripts import entry_tree
from oulipoly_engine.core.transcripts.entry_text import chunk_kinds
from oulipoly_engine.core.transcripts.entry_tree import EntryLink
from oulipoly_engine.core.transcripts.entry_view import preview
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.transcripts.entry_pages import Entry, by_row

_PAGE = 200  # entries read at once
_PREVIEW = 60  # columns
_WORDS = frozenset({"text", "context"})  # kinds of chunks that somebody has said


class TreeEntries(Sequence[TreeEntry]):
    """Entries, depth first, each behind its parent; those of a page are read when one of them is asked for."""

    def __init__(
        self,
        links: Iterable[EntryLink],
        kept: Iterable[str],
        labels: Mapping[str, str],
        read: Callable[[Sequence[int]], Iterable[Entry]],
    ) -> None:
        """links: all of the session. kept: ids of those that are in the tree; the others' children hang higher."""
        rows = {link.entry_id: link.row_id for link in links}
        self.parents = entry_tree.parent_ids(links)
        kept = [*kept]
        if len(kept) < len(rows):
            self.parents = keep_only([*rows], self.parents, {*kept})
        self._placed = [*arrange(kept, self.parents)]
        self.ids = tuple(entry_id for entry_id, _, _ in self._placed)
        self._rows = rows
        self._labels = labels
        self._read = read
        self._pages: dict[int, list[TreeEntry]] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.ids)

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
            page = self._read_page(self._placed[number * _PAGE : (number + 1) * _PAGE])
            self._pages[number] = page
        return page[at]

    def _read_page(self, placed: Sequence[tuple[str, int, str]]) -> list[TreeEntry]:
        stored = {entry.entry_id: entry for entry in self._read([self._rows[entry_id] for entry_id, _, _ in placed])}
        return [self._entry(stored.get(entry_id), entry_id, depth, prefix) for entry_id, depth, prefix in placed]

    def _entry(self, entry: Entry | None, entry_id: str, depth: int, prefix: str) -> TreeEntry:
        parent_id = self.parents.get(entry_id)
        if entry is None:  # a sync has replaced it meanwhile
            return TreeEntry(entry_id, parent_id, "message", "", "", "(gone)", depth=depth, prefix=prefix)
        return TreeEntry(
            entry_id,
            parent_id,
            entry.kind,
            role_of(entry),
            entry.timestamp,
            preview(entry.body, _PREVIEW),
            self._labels.get(entry_id, ""),
            depth,
            prefix,
            entry.is_sidechain,
        )


def role_of(entry: Entry) -> str:
    """Return who said an entry: what holds a tool's results alone, nobody said."""
    return "tool_result" if chunk_kinds(entry.body) == ("tool_result",) else entry.role


def choose_kept(store: Store, links: Sequence[EntryLink], labels: Mapping[str, str], kept: str) -> list[str]:
    """Return the ids of the entries that a filter keeps. kept: one of the facade's FILTERS."""
    if kept == "all":
        return [link.entry_id for link in links]
    if kept == "labelled":
        return [link.entry_id for link in links if link.entry_id in labels]
    main = [link for link in links if not link.is_sidechain]
    if kept == "default":
        return [link.entry_id for link in main]
    keeps = _is_of_user if kept == "user" else _has_words
    return [entry.entry_id for entry in read_all(store, [link.row_id for link in main]) if keeps(entry)]


def _is_of_user(entry: Entry) -> bool:
    return entry.role == "user" and role_of(entry) == "user"


def _has_words(entry: Entry) -> bool:
    kinds = chunk_kinds(entry.body)
    return not kinds or not _WORDS.isdisjoint(kinds)


def read_all(store: Store, rows: Sequence[int]) -> Iterable[Entry]:
    """Yield entries by their rows, page by page."""
    for begin in range(0, len(rows), _PAGE):
        yield from by_row(store, rows[begin : begin + _PAGE])

"""The tree of a session as rows of a list, with folded branches, and two branches beside each other. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, overload

from oulipoly_engine.core.sessions.tree_lines import TreeEntry, cut_prefix
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import Record
from oulipoly_tui.view.transcript.spans import Line, Row, Span, Tone, cells, cut, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.tree_lines import Comparison
    from oulipoly_engine.facade.sessions.branches import SessionTree

FILTERS: Mapping[str, str] = {  # of the facade, in the order in which a key goes through them; how each is called
    "default": "without sub-agents",
    "no-tools": "no tools",
    "user": "user only",
    "labelled": "labelled",
    "all": "all",
}
_SPEAKERS: Mapping[str, Span] = {"user": ("me", "accent"), "assistant": ("agent", ""), "tool_result": ("tool", "dim")}
_SPEAKER = 6  # columns
_WIDE = 60  # columns of a row, from which marks are words
_BESIDE = 110  # columns, from which two branches stand side by side
_TEXT_LEAST = 6
_NOTHING: Line = (("nothing more: it is the last one that both have", "dim"),)


class TreeLook(Record):
    """How a tree is shown."""

    width: int = 80  # columns of a row
    folded: frozenset[str] = frozenset()  # entries behind which nothing is shown
    marked: str = ""  # the entry that another one is compared with
    matches: frozenset[str] = frozenset()  # entries in which the words are that were looked for


class TreeRows(Sequence[Row]):
    """The rows of a tree of any length; only those that are shown are made."""

    def __init__(self, tree: SessionTree, look: TreeLook) -> None:
        self.tree = tree
        self._look = look
        self._layout = tree.layout
        self._leaf = tree.leaf  # or the folded entry that hides it
        self._shown: Sequence[int] = range(len(tree.entry_ids))  # rows of the layout
        self._hidden: dict[str, int] = {}  # how many entries each folded one hides
        if look.folded:
            self._fold()

    def _fold(self) -> None:
        """Leave out what lies behind folded entries."""
        rows = self._layout.rows
        leaf = rows.get(self._leaf or "", -1)
        shown: list[int] = []
        end = 0  # of what is shown or hidden so far
        for row in sorted(rows[entry_id] for entry_id in self._look.folded if entry_id in rows):
            if row < end:
                continue
            shown += range(end, row + 1)
            end = row + self._layout.sizes[row]
            self._hidden[self._layout.ids[row]] = end - row - 1
            if row < leaf < end:
                self._leaf = self._layout.ids[row]
        shown += range(end, len(self._shown))
        self._shown = shown

    def find_branches(self) -> frozenset[str]:
        """Return the entries with which branches begin, where something follows on them."""
        layout = self._layout
        begins = (row for row, size in enumerate(layout.sizes) if size > 1 and layout.begins_branch(row))
        return frozenset(map(layout.ids.__getitem__, begins))

    def fold_of(self, entry_id: str) -> str | None:
        """Return the entry at which the branch that an entry lies in is folded; None: it lies in none.

        It is folded where it begins, and all branches are where they part.
        """
        row = self._layout.rows[entry_id]
        while row >= 0 and not self._can_fold(row):
            row = self._layout.parents[row]
        return self._layout.ids[row] if row >= 0 else None

    def _can_fold(self, row: int) -> bool:
        return self._layout.parts_at(row) or (self._layout.sizes[row] > 1 and self._layout.begins_branch(row))

    def place_of(self, key: str) -> int | None:
        """Return where an entry stands; None: it is not shown."""
        row = self._layout.rows.get(key, -1)
        place = bisect_left(self._shown, row)
        is_shown = place < len(self._shown) and self._shown[place] == row
        return place if is_shown else None

    def find(self, key: str | None) -> TreeEntry | None:
        """Return the entry of a row."""
        place = self.place_of(key or "")
        return None if place is None else self._entry(place)

    def _entry(self, place: int) -> TreeEntry:
        """Return the entry of a row, read now if it was not yet; the reason in its place where it cannot be."""
        shown = self._shown[place]
        try:
            return self.tree.entries[shown]
        except RunnerError as error:
            return TreeEntry(self.tree.entry_ids[shown], None, "message", "", "", error.message)

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._shown)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        """Return the row at a place."""
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        entry = self._entry(place)
        look = self._look
        mark = "  "
        if self._can_fold(self._shown[place]):
            mark = "▸ " if entry.entry_id in look.folded else "▾ "
        lines = cut_prefix(entry.prefix, look.width)
        tone: Tone = "accent" if entry.entry_id in look.matches else ""
        return Row(entry.entry_id, _fill(((lines, "dim"), (mark, "key")), entry, self._ends(entry), look.width, tone))

    def _ends(self, entry: TreeEntry) -> Iterator[Span]:
        is_wide = self._look.width >= _WIDE
        if hidden := self._hidden.get(entry.entry_id):
            yield (f" +{hidden:,}", "dim")
        if entry.entry_id == self._look.marked:
            yield (" ◆ marked" if is_wide else " ◆", "warn")
        if entry.entry_id == self._leaf:
            yield (" ← goes on here" if is_wide else " ←", "key")


def _fill(begin: Sequence[Span], entry: TreeEntry, ends: Iterator[Span], width: int, tone: Tone = "") -> Line:
    """Return who spoke and what, cut to the room that is left between what stands before it and behind it."""
    role = entry.role if entry.kind == "message" else ""  # nobody said a summary, whatever its CLI takes it for
    speaker, of_speaker = _SPEAKERS.get(role, ("·", "dim"))
    if not tone and (entry.is_sidechain or entry.role == "tool_result"):
        tone = "dim"
    label: Span = (f" [{cut(entry.label, width // 4)}]" if entry.label else "", "good")
    behind = (label, ("" if entry.kind == "message" else f" {entry.kind}", "warn"), *ends)
    taken = sum(cells(text) for text, _ in (*begin, *behind)) + _SPEAKER
    text = cut(entry.preview, max(_TEXT_LEAST, width - taken))
    return (*begin, (fit_text(speaker, _SPEAKER), of_speaker), (text, tone), *behind)


def summary_rows() -> list[Row]:
    """Return what a person can take along from a branch that they leave."""
    kinds = {
        "none": "No summary of what is left",
        "default": "A summary by a model",
        "custom": "A summary as you say …",
    }
    return [Row(kind, ((text, ""),)) for kind, text in kinds.items()]


def find_next(ids: Sequence[str], matches: Collection[str], at: str | None, step: int) -> str | None:
    """Return the next entry of those that match, round the end. ids: in their order; at: where the cursor is."""
    begin = ids.index(at) if at in ids else 0
    places = ((begin + step * far) % len(ids) for far in range(1, len(ids) + 1))
    return next((ids[place] for place in places if ids[place] in matches), None)


def find_nearest(former: SessionTree, entry_id: str | None, tree: SessionTree) -> str:
    """Return an entry of a tree, or what it followed on where another filter leaves it out; empty: nothing is left."""
    layout = former.layout
    row = layout.rows.get(entry_id or "", -1)
    while row >= 0 and layout.ids[row] not in tree.layout.rows:
        row = layout.parents[row]
    return layout.ids[row] if row >= 0 else ""


def comparison_lines(tree: SessionTree, comparison: Comparison, names: tuple[str, str], width: int) -> tuple[Line, ...]:
    """Return two branches beside each other, or one below the other where there is no room for that.

    names: what the left one and the right one are called.
    """
    count = len(comparison.shared)
    last = f", the last one: {tree.find(comparison.shared[-1:])[0].preview}" if count else ""
    shared = cut(f"= {count:,} message{'s are' if count != 1 else ' is'} in both{last}", width)
    column = (width - 3) // 2 if width >= _BESIDE else width
    left, right = (
        [((name, "heading"),), *([_fill((), entry, iter(()), column) for entry in tree.find(entry_ids)] or [_NOTHING])]
        for name, entry_ids in zip(names, (comparison.left, comparison.right), strict=True)
    )
    lines: list[Line] = [((shared, "strong"),), ()]
    if column == width:
        return (*lines, *left, (), *right)
    for of_left, of_right in zip_longest(left, right, fillvalue=()):
        filling = " " * (column - sum(cells(text) for text, _ in of_left))
        lines.append((*of_left, (filling, ""), (" │ ", "dim"), *of_right))
    return tuple(lines)

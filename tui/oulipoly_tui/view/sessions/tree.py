"""The tree of a session as rows of a list, with folded branches, and two branches beside each other. Pure."""

from __future__ import annotations

from collections import Counter
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
        self._parents = tree.parents
        self._children = Counter(map(tree.parents.get, tree.entry_ids))
        self._shown: list[int] = []  # places in the tree
        self._hidden: Counter[str] = Counter()  # how many entries each folded one hides
        self._leaf = tree.leaf  # or the folded entry that hides it
        self._fold()
        self._places = {tree.entry_ids[shown]: place for place, shown in enumerate(self._shown)}

    def _fold(self) -> None:
        """Leave out what lies behind folded entries."""
        if not self._look.folded:
            self._shown = [*range(len(self.tree.entry_ids))]
            return
        folds: dict[str, str] = {}  # by each entry that is folded or hidden the folded one
        for place, entry_id in enumerate(self.tree.entry_ids):
            fold = folds.get(self._parents.get(entry_id, ""))
            if fold is None:
                self._shown.append(place)
                if entry_id in self._look.folded:
                    folds[entry_id] = entry_id
                continue
            folds[entry_id] = fold
            self._hidden[fold] += 1
            if entry_id == self.tree.leaf:
                self._leaf = fold

    def find_branches(self) -> frozenset[str]:
        """Return the entries with which branches begin, where something follows on them."""
        return frozenset(filter(self._begins_branch, self.tree.entry_ids))

    def _begins_branch(self, entry_id: str) -> bool:
        return self._children[self._parents.get(entry_id)] > 1 and self._children[entry_id] > 0

    def fold_of(self, entry_id: str) -> str | None:
        """Return the entry at which the branch that an entry lies in is folded; None: it lies in none.

        It is folded where it begins, and all branches are where they part.
        """
        above: str | None = entry_id
        while above is not None and not self._can_fold(above):
            above = self._parents.get(above)
        return above

    def _can_fold(self, entry_id: str) -> bool:
        return self._children[entry_id] > 1 or self._begins_branch(entry_id)

    def place_of(self, key: str) -> int | None:
        """Return where an entry stands; None: it is not shown."""
        return self._places.get(key)

    def find(self, key: str | None) -> TreeEntry | None:
        """Return the entry of a row."""
        place = self._places.get(key or "")
        return None if place is None else self._entry(place)

    def _entry(self, place: int) -> TreeEntry:
        """Return the entry of a row, read now if it was not yet; the reason in its place where it cannot be."""
        shown = self._shown[place]
        try:
            return self.tree.entries[shown]
        except RunnerError as error:
            entry_id = self.tree.entry_ids[shown]
            return TreeEntry(entry_id, self._parents.get(entry_id), "message", "", "", error.message)

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
        if self._can_fold(entry.entry_id):
            mark = "▸ " if entry.entry_id in look.folded else "▾ "
        lines = cut_prefix(entry.prefix, look.width)
        tone: Tone = "accent" if entry.entry_id in look.matches else ""
        return Row(entry.entry_id, _fill(((lines, "dim"), (mark, "key")), entry, self._ends(entry), look.width, tone))

    def _ends(self, entry: TreeEntry) -> Iterator[Span]:
        is_wide = self._look.width >= _WIDE
        if hidden := self._hidden[entry.entry_id]:
            yield (f" +{hidden:,}", "dim")
        if entry.entry_id == self._look.marked:
            yield (" ◆ marked" if is_wide else " ◆", "warn")
        if entry.entry_id == self._leaf:
            yield (" ← goes on here" if is_wide else " ←", "key")


def _fill(begin: Sequence[Span], entry: TreeEntry, ends: Iterator[Span], width: int, tone: Tone = "") -> Line:
    """Return who spoke and what, cut to the room that is left between what stands before it and behind it."""
    speaker, of_speaker = _SPEAKERS.get(entry.role, ("·", "dim"))
    if not tone and (entry.is_sidechain or entry.role == "tool_result"):
        tone = "dim"
    label: Span = (f" [{cut(entry.label, width // 4)}]" if entry.label else "", "good")
    behind = (label, ("" if entry.kind == "message" else f" {entry.kind}", "warn"), *ends)
    taken = sum(cells(text) for text, _ in (*begin, *behind)) + _SPEAKER
    text = cut(entry.preview, max(_TEXT_LEAST, width - taken))
    return (*begin, (fit_text(speaker, _SPEAKER), of_speaker), (text, tone), *behind)


def find_next(ids: Sequence[str], matches: Collection[str], at: str | None, step: int) -> str | None:
    """Return the next entry of those that match, round the end. ids: in their order; at: where the cursor is."""
    begin = ids.index(at) if at in ids else 0
    places = ((begin + step * far) % len(ids) for far in range(1, len(ids) + 1))
    return next((ids[place] for place in places if ids[place] in matches), None)


def comparison_lines(tree: SessionTree, comparison: Comparison, names: tuple[str, str], width: int) -> tuple[Line, ...]:
    """Return two branches beside each other, or one below the other where there is no room for that.

    names: what the left one and the right one are called.
    """
    count = len(comparison.shared)
    last = f", the last one: {tree.find(comparison.shared[-1:])[0].preview}" if count else ""
    shared = cut(f"= {count:,} message{'s are' if count != 1 else ' is'} in both{last}", width)
    column = (width - 3) // 2 if width >= _BESIDE else width
    left, right = (
        [((name, "heading"),), *(_fill((), entry, iter(()), column) for entry in tree.find(entry_ids))]
        for name, entry_ids in zip(names, (comparison.left, comparison.right), strict=True)
    )
    lines: list[Line] = [((shared, "strong"),), ()]
    if column == width:
        return (*lines, *left, (), *right)
    for of_left, of_right in zip_longest(left, right, fillvalue=()):
        filling = " " * (column - sum(cells(text) for text, _ in of_left))
        lines.append((*of_left, (filling, ""), (" │ ", "dim"), *of_right))
    return tuple(lines)

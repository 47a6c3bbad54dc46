"""A session's tree as it is drawn: each entry behind the one that it follows on, with lines where branches part. Pure.

A run without branches is not indented, so that a long session stays readable in a narrow terminal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from operator import lt, or_

from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.transcripts.entry_tree import children_of
from oulipoly_engine.core.transcripts.turn_script import COMPACTION, LIVE_IDS, MESSAGE
from oulipoly_engine.records import Record, replace

_ELDER = ("├─ ", "│  ")  # the lines of a child, and of what follows on it
_LAST = ("└─ ", "   ")
MOST_MATCHES = 1000  # of a search, the latest: who types a letter to begin with waits no second for what nobody reads
_LEVELS = 64  # of branches that lines are drawn of: more than the widest screen has room for


class TreeEntry(Record):
    """One entry, in its place."""

    entry_id: str
    parent_id: str | None  # None: it begins the session, or nobody knows what it follows on
    kind: str  # message, compaction
    role: str  # user, assistant, tool_result; empty: nobody said it
    at: str  # RFC 3339
    preview: str = ""  # the beginning of its first line, without secrets
    label: str = ""  # what a person calls it
    prefix: str = ""  # the lines of the tree before it
    is_sidechain: bool = False  # a sub-agent said it

    def behind(self, prefix: str) -> TreeEntry:
        """Return the same entry with other lines before it."""
        return replace(self, prefix=prefix)


_LETTERS = {"user": "U", "assistant": "A", "tool_result": "T"}
_LIVE_NUMBER = re.compile(re.escape(LIVE_IDS) + r".+/0*(\d+)")
_NUMBER = re.compile(r"@\d+|....:\d+")
_FILE_LINE = re.compile(r".+(....)\.jsonl:(\d+)", re.DOTALL)


def short_id(entry_id: str) -> str:
    """Return an id as people read and type it: its beginning; where that tells little, a number.

    Of what was heard live @ and the number of its event; of a line of a file the end of its name, and the line.
    """
    if match := _LIVE_NUMBER.fullmatch(entry_id):
        return f"@{match[1]}"
    if match := _FILE_LINE.fullmatch(entry_id):
        return f"{match[1]}:{match[2]}"
    return entry_id[:8]


def is_number(text: str) -> bool:
    """Tell whether a text may be one of the numbers that `short_id` gives."""
    return _NUMBER.fullmatch(text) is not None


def find_ids(entry_ids: Iterable[str], text: str) -> list[str]:
    """Return the ids that a person may mean: the one that is just so, else those that begin so, or have the number."""
    ids = [*entry_ids]
    if text in ids or not text:
        return [text][: len(text)]
    return [entry_id for entry_id in ids if entry_id.startswith(text) or short_id(entry_id) == text]


def format_line(entry: TreeEntry, *, is_leaf: bool, columns: int = 0) -> str:
    """Return an entry's line: lines of the tree, who spoke, id, text, label, and whether the session goes on there.

    columns: how long lines may be; 0: as long as they are.
    """
    prefix = cut_prefix(entry.prefix, columns or len(entry.prefix) * 3)
    letter = "C" if entry.kind == COMPACTION else _LETTERS.get(entry.role, "·")
    kind = "" if entry.kind in (MESSAGE, COMPACTION) else f"[{plain(entry.kind.replace('_', ' '))}] "
    label = f"  [{entry.label}]" if entry.label else ""
    mark = "  ← goes on here" if is_leaf else ""
    return f"{prefix}{letter} {short_id(entry.entry_id)}  {kind}{entry.preview}{label}{mark}"


class TreeLayout:
    """Where the entries of a tree are drawn: depth first, of two children the elder one first.

    A row is a place in that order; -1 stands for none. Flat lists of numbers, for a tree may have 100,000 entries:
    what follows on a row is all that lies in the `sizes[row] - 1` rows below it.
    """

    def __init__(self, ids: Sequence[str], parents: Sequence[int | None], kept: Collection[int] | None = None) -> None:
        """Lay out entries in order of time, each once. parents: their parents' places in that order, without rings.

        kept: the places of those that are drawn, None: of all; what hangs below another one hangs higher.
        """
        none = len(ids)
        above = [none if parent is None else parent for parent in parents]
        above.append(none)
        self._all = ids, parents
        own: Sequence[int] = range(none)
        if kept is not None:
            own = [*kept]
            above = _find_kept_above(above, own)
            none = len(own)
        order = _order_parents_first(above)
        sizes = [1] * none + [0]
        for place in reversed(order):
            sizes[above[place]] += sizes[place]
        free = [0] * (none + 1)  # the next row for a child of each
        rows = [0] * none
        for place in order:
            rows[place] = row = free[above[place]]
            free[above[place]] = row + sizes[place]
            free[place] = row + 1
        rows.append(-1)
        places = [0] * none
        for place in range(none):
            places[rows[place]] = place
        self.places = [own[place] for place in places]  # in order of time, of each row
        self.ids: Sequence[str] = [ids[place] for place in self.places]
        self.parents = [rows[above[place]] for place in places]
        self.sizes = [sizes[place] for place in places]
        self._heads: dict[int, int] = {}

    def keep(self, kept: Collection[int] | None) -> TreeLayout:
        """Return the layout of some of the entries that it was made of, None: of all."""
        return TreeLayout(*self._all, kept)

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Return the row of each entry."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    @cached_property
    def parent_ids(self) -> Mapping[str, str]:
        """Return the parent of each entry that has one."""
        return {self.ids[row]: self.ids[parent] for row, parent in enumerate(self.parents) if parent >= 0}

    @cached_property
    def depths(self) -> Sequence[int]:
        """Return how many entries lie above each row."""
        depths = [-1] * (len(self.ids) + 1)
        for row, parent in enumerate(self.parents):
            depths[row] = depths[parent] + 1
        return depths[:-1]

    def parts_at(self, row: int) -> bool:
        """Tell whether several entries follow on one."""
        return self.sizes[row] > 1 and self.sizes[row + 1] != self.sizes[row] - 1

    def begins_branch(self, row: int) -> bool:
        """Tell whether an entry is one of several that follow on another one."""
        return self.parents[row] >= 0 and self.parts_at(self.parents[row])

    def prefix(self, row: int) -> str:
        """Return the lines before a row: of each branch that it lies in, of very many the last ones."""
        lines: list[str] = []
        head = self._find_head(row)
        while head >= 0 and len(lines) < _LEVELS:
            parent = self.parents[head]
            is_last = head + self.sizes[head] == parent + self.sizes[parent]
            lines.append((_LAST if is_last else _ELDER)[head != row])
            head = self._find_head(parent)
        return ("…" if head >= 0 else "") + "".join(reversed(lines))

    def _find_head(self, row: int) -> int:
        """Return the entry with which the branch begins that a row lies in; -1: it lies in none."""
        head = row
        while head >= 0 and head not in self._heads and not self.begins_branch(head):
            head = self.parents[head]
        head = self._heads.get(head, head)
        self._heads[row] = head
        return head


def _find_kept_above(above: Sequence[int], kept: Sequence[int]) -> list[int]:
    """Return for each of some places which of these lies next above it, as an index; and at the end none's.

    above: as of `_order_parents_first`.
    """
    none = len(kept)
    nearest = [-1] * len(above)
    nearest[-1] = none
    for index, place in enumerate(kept):
        nearest[place] = index
    of_kept = [above[place] for place in kept]
    for place in _order_parents_first(above):
        if nearest[place] < 0:
            nearest[place] = nearest[above[place]]
    return [*map(nearest.__getitem__, of_kept), none]


def _order_parents_first(above: Sequence[int]) -> Sequence[int]:
    """Return the places so that no entry stands before its parent: as they are, but for entries that were dated back.

    above: the place of each one's parent, and at the end the place that stands for none.
    """
    none = above[-1]
    places = range(none)
    if all(map(or_, map(lt, above, places), map(none.__eq__, above))):
        return places
    children = children_of([None if parent == none else parent for parent in above[:none]])
    order = [place for place in places if above[place] == none]
    for place in order:  # it grows meanwhile
        order += children[place]
    return order


def cut_prefix(prefix: str, columns: int) -> str:
    """Return the lines before an entry in a third of some columns: of many levels the last ones, next to it."""
    most = columns // 3
    if len(prefix) <= most:
        return prefix
    return f"…{prefix[1 - most :]}"


def path_to(entry_id: str | None, parents: Mapping[str, str]) -> list[str]:
    """Return the ids on the way to an entry, from the first one to itself; none for None."""
    path: dict[str, None] = {}
    while entry_id is not None and entry_id not in path:
        path[entry_id] = None
        entry_id = parents.get(entry_id)
    return [*path][::-1]


class Comparison(Record):
    """Two branches: what both have, and what each has alone, as ids in order."""

    shared: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]


def compare(left: str, right: str, parents: Mapping[str, str]) -> Comparison:
    """Compare the ways to two entries."""
    left_way = path_to(left, parents)
    right_way = path_to(right, parents)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left_way, right_way, strict=False)))
    return Comparison(tuple(left_way[:shared]), tuple(left_way[shared:]), tuple(right_way[shared:]))

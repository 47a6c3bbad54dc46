"""A session's tree as it is drawn: each entry behind the one that it follows on, with lines where branches part. Pure.

A run without branches is not indented, so that a long session stays readable in a narrow terminal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from oulipoly_engine.core.transcripts.turn_script import COMPACTION, LIVE_IDS
from oulipoly_engine.records import Record, replace

_ELDER = ("├─ ", "│  ")  # the lines of a child, and of what follows on it
_LAST = ("└─ ", "   ")


class TreeEntry(Record):
    """One entry, in its place."""

    entry_id: str
    parent_id: str | None  # None: it begins the session, or nobody knows what it follows on
    kind: str  # message, compaction
    role: str  # user, assistant, tool_result; empty: nobody said it
    at: str  # RFC 3339
    preview: str = ""  # the beginning of its first line, without secrets
    label: str = ""  # what a person calls it
    depth: int = 0  # how many entries lie before it
    prefix: str = ""  # the lines of the tree before it
    is_sidechain: bool = False  # a sub-agent said it

    def placed(self, parent_id: str | None, depth: int, prefix: str) -> TreeEntry:
        """Return the same entry at a place."""
        return replace(self, parent_id=parent_id, depth=depth, prefix=prefix)


_LETTERS = {"user": "U", "assistant": "A", "tool_result": "T"}
_LIVE_NUMBER = re.compile(re.escape(LIVE_IDS) + r".+/0*(\d+)")
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
    label = f"  [{entry.label}]" if entry.label else ""
    mark = "  ← goes on here" if is_leaf else ""
    return f"{prefix}{letter} {short_id(entry.entry_id)}  {entry.preview}{label}{mark}"


def arrange(entry_ids: Sequence[str], parents: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    """Yield ids depth first, each with its depth and the lines before it; of two children the elder one first.

    entry_ids: in order of time, each once. An entry whose parent is none of them, or lies behind it in a ring, begins
    a tree of its own.
    """
    known = set(entry_ids)
    children: dict[str | None, list[str]] = {None: []}
    for entry_id in entry_ids:
        parent = parents.get(entry_id)
        children.setdefault(parent if parent in known else None, []).append(entry_id)
    seen: set[str] = set()
    for begin in (*children[None], *entry_ids):  # what hangs in a ring is reached by no root
        if begin in seen:
            continue
        waiting = [(begin, 0, "", "")]  # id, depth, the lines of itself and of what follows on it
        while waiting:
            entry_id, depth, own, rest = waiting.pop()
            while entry_id not in seen:
                seen.add(entry_id)
                yield entry_id, depth, own
                following = children.get(entry_id, ())
                depth += 1
                if len(following) == 1:  # most are, and a list for each took long
                    entry_id = following[0]
                    own = rest
                    continue
                lines = _LAST
                for child in reversed(following):
                    waiting.append((child, depth, rest + lines[0], rest + lines[1]))
                    lines = _ELDER


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


def keep_only(entry_ids: Sequence[str], parents: Mapping[str, str], kept: Collection[str]) -> dict[str, str]:
    """Return the parents of those that are kept, in a tree without the others."""
    nearest: dict[str, str] = {}  # of each entry itself, or the one above it that is kept
    hung = {}
    for entry_id, _, _ in arrange(entry_ids, parents):  # a parent comes before its children
        above = nearest.get(parents.get(entry_id, ""), "")
        nearest[entry_id] = entry_id if entry_id in kept else above
        if above and entry_id in kept:
            hung[entry_id] = above
    return hung


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

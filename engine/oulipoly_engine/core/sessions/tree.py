"""A session's entries as a tree: parents, children, paths, the leaf, and what follows from them. Pure.

A place is an entry's index in the order of the file, and the only exact name: an id may stand in a file twice. The
later entry has the id then, for children and for whoever asks; the earlier one keeps its place, without children.

What cannot be followed loses nothing: an entry whose parent is missing is shown as a root, and a ring of parents is cut
at its first entry in the file, because files refer back only. Nothing here recurses: sessions are deep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from oulipoly_engine.core.transcripts.entry_tree import children_of, cut_rings, path_back
from oulipoly_engine.core.transcripts.session_file.entry import (
    COMPACTION,
    LABEL,
    MESSAGE,
    SESSION_INFO,
    SPEAKING,
    SessionEntry,
)
from oulipoly_engine.errors import TurnNotFound
from oulipoly_engine.records import Record, replace

_CHARACTERS_A_TOKEN = 4  # where no provider has counted


class SessionTree(Record):
    """The entries of a session, and where each has its place."""

    entries: tuple[SessionEntry, ...]  # in the order of the file
    places: Mapping[str, int]  # of each id
    parents: Sequence[int | None]  # the place of each entry's parent; None: it is a root
    children: Sequence[Sequence[int]]  # the places of each entry's children, by time, then in the order of the file
    depths: Sequence[int]  # a root's is 0
    roots: tuple[int, ...]  # in the order of children; orphans and cuts are among them
    orphans: tuple[int, ...]  # whose parent is missing
    cuts: tuple[int, ...]  # whose parent came of themselves
    leaf: int | None  # where the next entry hangs; None: it will be a root

    def place_of(self, entry_id: str) -> int:
        """Return the place of an entry. Raises TurnNotFound."""
        place = self.places.get(entry_id)
        if place is None:
            raise TurnNotFound(f"the session has no entry {entry_id!r}")
        return place

    def move_leaf(self, entry_id: str | None) -> SessionTree:
        """Return the tree with the leaf at an entry. None: the next entry will be a root. Raises TurnNotFound."""
        return replace(self, leaf=None if entry_id is None else self.place_of(entry_id))

    def path_to(self, place: int | None) -> tuple[SessionEntry, ...]:
        """Return the entries from a root to a place, such as the leaf; None gives none."""
        if place is None:
            return ()
        return tuple(self.entries[step] for step in path_back(place, self.parents))

    def path(self, entry_id: str) -> tuple[SessionEntry, ...]:
        """Return the entries from a root to one of them. Raises TurnNotFound."""
        return self.path_to(self.place_of(entry_id))

    def without_rings(self) -> tuple[SessionEntry, ...]:
        """Return the entries, those whose parent came of themselves without it."""
        entries = [*self.entries]
        for place in self.cuts:
            entries[place] = replace(entries[place], parent_id=None)
        return tuple(entries)

    def tips(self) -> tuple[int, ...]:
        """Return the entries without children, in the order of the file: each ends a branch."""
        return tuple(place for place, children in enumerate(self.children) if not children)

    def branch_points(self) -> tuple[int, ...]:
        """Return the entries with several children, in the order of the file."""
        return tuple(place for place, children in enumerate(self.children) if len(children) > 1)

    def labels(self) -> dict[str, str]:
        """Return the labels by the ids of what they are on: each one's last in the file, none where that is empty."""
        labels = {entry.refers_to: entry.text for entry in self.entries if entry.kind == LABEL}
        return {target: text for target, text in labels.items() if target is not None and text}

    def name(self) -> str | None:
        """Return the session's name, the last in the file on whatever branch; None: it has none."""
        names = (entry.text for entry in reversed(self.entries) if entry.kind == SESSION_INFO)
        return next(names, "") or None

    def context(self) -> tuple[SessionEntry, ...]:
        """Return what a turn at the leaf sends.

        From the path's last compaction on: it, what was said from the first entry that it keeps, and what follows. Of
        one that keeps nothing of this path, only it and what follows.
        """
        path = self.path_to(self.leaf)
        compacted = next((step for step in reversed(range(len(path))) if path[step].kind == COMPACTION), None)
        if compacted is None:
            return _speaking(path)
        kept_from = path[compacted].refers_to
        ids = [entry.id for entry in path[:compacted]]
        kept = path[ids.index(kept_from) : compacted] if kept_from in ids else ()
        return path[compacted], *_speaking(kept), *_speaking(path[compacted + 1 :])


class Statistics(Record):
    """What a session's entries amount to, on all branches."""

    roles: Mapping[str, int]  # how many messages each role has
    tool_calls: int
    tokens: int  # counted by providers; estimated where none has counted
    first_at: str  # RFC 3339; empty: no entry tells
    last_at: str
    branches: int


def build(entries: Iterable[SessionEntry]) -> SessionTree:
    """Put a session's entries together, its leaf the last one. entries: in the order of the file."""
    ordered = tuple(entries)
    places = {entry.id: place for place, entry in enumerate(ordered)}
    parents = [None if entry.parent_id is None else places.get(entry.parent_id) for entry in ordered]
    orphans = tuple(
        place for place, parent in enumerate(parents) if parent is None and ordered[place].parent_id is not None
    )
    cuts = cut_rings(parents)
    times = _times(ordered)
    children = children_of(parents)
    for siblings in children:
        if len(siblings) > 1:
            siblings.sort(key=times.__getitem__)
    roots = sorted((place for place, parent in enumerate(parents) if parent is None), key=times.__getitem__)
    return SessionTree(
        entries=ordered,
        places=places,
        parents=parents,
        children=children,
        depths=_depths(roots, children),
        roots=tuple(roots),
        orphans=orphans,
        cuts=cuts,
        leaf=len(ordered) - 1 if ordered else None,
    )


def count(tree: SessionTree) -> Statistics:
    """Return the statistics of a tree."""
    messages = [entry for entry in tree.entries if entry.kind == MESSAGE]
    instants = [entry.at for entry in tree.entries if entry.at]
    characters = sum(len(entry.text) for entry in messages)
    tokens = sum(entry.tokens for entry in tree.entries)
    return Statistics(
        roles=Counter(entry.role for entry in messages),
        tool_calls=sum(entry.tool_calls for entry in messages),
        tokens=tokens or -(-characters // _CHARACTERS_A_TOKEN),
        first_at=min(instants, default=""),
        last_at=max(instants, default=""),
        branches=len(tree.tips()),
    )


def _speaking(entries: Iterable[SessionEntry]) -> tuple[SessionEntry, ...]:
    return tuple(entry for entry in entries if entry.kind in SPEAKING and not entry.is_left_out)


def _times(entries: Sequence[SessionEntry]) -> list[str]:
    """Return when each entry was written; one that does not tell came with the one before it in the file."""
    times: list[str] = []
    latest = ""
    for entry in entries:
        latest = entry.at or latest
        times.append(latest)
    return times


def _depths(roots: Iterable[int], children: Sequence[Sequence[int]]) -> list[int]:
    depths = [0] * len(children)
    order = list(roots)
    for place in order:  # it grows meanwhile
        for child in children[place]:
            depths[child] = depths[place] + 1
            order.append(child)
    return depths

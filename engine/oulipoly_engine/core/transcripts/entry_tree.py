"""The tree of a session's entries: its main line, and the branches and sub-agent sessions where they leave it. Pure.

A branch is what was left behind when a person went back and said something else; a side chain is a sub-agent's work.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence, Set
from enum import StrEnum

from oulipoly_engine.core.transcripts.turn_script import LIVE_IDS, MESSAGE, NO_PARENT, OWN_KINDS, SAID
from oulipoly_engine.records import Record, replace


class LineKind(StrEnum):
    """What a line of entries is."""

    MAIN = "main"
    BRANCH = "branch"
    SIDE_CHAIN = "side-chain"


class EntryLink(Record):
    """An entry's place in the tree."""

    row_id: int
    entry_id: str
    parent_entry_id: str | None
    is_sidechain: bool
    timestamp: str
    source_file: str | None = None
    kind: str = MESSAGE

    @property
    def is_own(self) -> bool:
        """Tell whether it is an entry of ours that its CLI knows nothing of: a change of model or name, a summary."""
        return self.kind in OWN_KINDS and self.entry_id.startswith(LIVE_IDS)


class EntryColumns(Record):
    """The same of many entries, by columns: a hundred thousand are read in a quarter of the time."""

    rows: Sequence[int]
    ids: Sequence[str]
    parent_ids: Sequence[str | None]
    sides: Mapping[int, str | None] = {}  # the files of those that sub-agents said, by their places
    unsaid: Set[int] = frozenset()  # the places of those that nobody has said: changes of model or name, and the like


class EntryRun(Record):
    """An unbranched run of entries."""

    kind: LineKind
    rows: tuple[int, ...]  # row ids in order
    leaves_line: int | None  # index of the line that it leaves, None for the main one
    leaves_at: int | None  # row id of the entry behind which it leaves; None: before every entry
    first_at: str
    last_at: str


class EntryTree(Record):
    """All lines of a session, the main one first, then in the order of their first entries."""

    lines: tuple[EntryRun, ...]


def place_own(links: Sequence[EntryLink], others: Collection[str] = ()) -> Sequence[EntryLink]:
    """Have each entry of ours follow on what was said before it, and what was said next there follow on that.

    links: of what a CLI keeps as one session, in order of time. others: ids of what lies elsewhere.
    A transcript knows nothing of them, and of changes neither does the leaf: their time tells where they belong.
    """
    if {link.kind for link in links}.isdisjoint(OWN_KINDS):  # nearly always
        return links
    known = {NO_PARENT, *others, *(link.entry_id for link in links)}
    ends: dict[str | None, str] = {}  # the last one of ours behind an entry that nothing else follows on yet
    placed = []
    before: str | None = None
    for link in links:
        parent = link.parent_entry_id
        follows = parent if parent in known else before
        if link.is_own:
            placed.append(replace(link, parent_entry_id=ends.get(follows, follows)))
            ends[follows] = link.entry_id
            continue
        if not link.is_sidechain:
            while follows in ends:
                follows = parent = ends.pop(follows)
            before = link.entry_id
        placed.append(link if parent == link.parent_entry_id else replace(link, parent_entry_id=parent))
    return placed


def build(links: Iterable[EntryLink]) -> EntryTree:
    """Put a session's entries together.

    links: in order of time. A parent that is not an entry (a CLI's note between two entries) or is not stored is
    taken for the entry before; a side entry without a parent begins a sub-agent session, at the main entry before it.
    The last entry of the main line is the last of all that are in no sub-agent session.
    """
    ordered = list(links)
    parents = find_parents(to_columns(ordered))
    main_leaf = next((index for index in reversed(range(len(ordered))) if not ordered[index].is_sidechain), None)
    taken = [-1] * len(ordered)  # the line of each entry
    lines: list[tuple[LineKind, list[int], int | None]] = []
    if main_leaf is not None:
        lines.append((LineKind.MAIN, path_back(main_leaf, parents), None))
        _take(taken, lines[0][1], 0)
    children = children_of(parents)
    for index in range(len(ordered)):
        while taken[index] < 0:
            start = _climb(index, parents, taken)
            side = ordered[start].is_sidechain
            run = _forward(start, children, ordered, taken)
            kind = LineKind.SIDE_CHAIN if side else LineKind.BRANCH
            lines.append((kind, run, _anchor(start, parents, ordered)))
            _take(taken, run, len(lines) - 1)
    return EntryTree(tuple(_line(ordered, taken, *line) for line in lines))


def path_to(links: Iterable[EntryLink], entry_id: str) -> tuple[int, ...]:
    """Return the rows from a session's first entry to one of them; empty: it is not there. links: as of `build`."""
    ordered = list(links)
    place = next((index for index, entry in enumerate(ordered) if entry.entry_id == entry_id), None)
    if place is None:
        return ()
    return tuple(ordered[index].row_id for index in path_back(place, find_parents(to_columns(ordered))))


def parent_ids(links: Iterable[EntryLink]) -> dict[str, str]:
    """Return the entry that each one follows on, by their ids; those that begin a line are not in it."""
    ordered = list(links)
    pairs = zip(ordered, find_parents(to_columns(ordered)), strict=True)
    return {entry.entry_id: ordered[parent].entry_id for entry, parent in pairs if parent is not None}


def find_parting(of_fork: Iterable[EntryLink], of_origin: Container[str]) -> str | None:
    """Return the entry of a session behind which a fork of it leaves; None: the fork shares none.

    of_fork: as of `build`. of_origin: ids of the other session's entries. A fork that nothing was said in yet leaves
    behind the last one that both have.
    """
    links = [link for link in of_fork if not link.is_sidechain]
    own = next((link.entry_id for link in links if link.entry_id not in of_origin), None)
    if own is None:
        return links[-1].entry_id if links else None
    parent = parent_ids(links).get(own)
    return parent if parent is not None and parent in of_origin else None


def children_of(parents: Sequence[int | None]) -> list[list[int]]:
    """Return the children of each place in their order. parents: the place of each one's parent; None: it has none."""
    children: list[list[int]] = [[] for _ in parents]
    for place, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(place)
    return children


def path_back(leaf: int, parents: Sequence[int | None]) -> list[int]:
    """Return the places from the first ancestor to one. parents: as of `children_of`, without rings."""
    path: list[int] = []
    place: int | None = leaf
    while place is not None:
        path.append(place)
        place = parents[place]
    return path[::-1]


def cut_rings(parents: list[int | None]) -> tuple[int, ...]:
    """Take the parent of the first entry of each ring, and return those entries."""
    cuts = []
    walks: list[int | None] = [None] * len(parents)  # the walk that has come by each place
    for start, parent in enumerate(parents):
        if parent is None or parent < start:  # each ring has an entry that refers forward, or to itself
            continue
        place: int | None = start
        while place is not None and walks[place] is None:
            walks[place] = start
            place = parents[place]
        if place is not None and walks[place] == start:
            first = min(_ring(place, parents))
            parents[first] = None
            cuts.append(first)
    return tuple(sorted(cuts))


def _ring(start: int, parents: Sequence[int | None]) -> list[int]:
    ring = [start]
    place = parents[start]
    while place is not None and place != start:
        ring.append(place)
        place = parents[place]
    return ring


def to_columns(links: Sequence[EntryLink]) -> EntryColumns:
    """Return links by columns."""
    return EntryColumns(
        [link.row_id for link in links],
        [link.entry_id for link in links],
        [link.parent_entry_id for link in links],
        {place: link.source_file for place, link in enumerate(links) if link.is_sidechain},
        {place for place, link in enumerate(links) if link.kind not in SAID},
    )


def choose_columns(columns: EntryColumns, path: Sequence[int]) -> EntryColumns:
    """Return the columns of the entries of a path, from a root on."""
    ids = [columns.ids[place] for place in path]
    return EntryColumns(
        [columns.rows[place] for place in path],
        ids,
        [NO_PARENT, *ids][: len(ids)],
        unsaid={at for at, place in enumerate(path) if place in columns.unsaid},
    )


def put_before(past: EntryColumns, end: str, columns: EntryColumns) -> EntryColumns:
    """Return columns whose first entry follows on the last one of others. end: the id of that."""
    first = next((place for place in range(len(columns.ids)) if place not in columns.sides), -1)
    parents = [end if place == first else parent for place, parent in enumerate(columns.parent_ids)]
    before = len(past.ids)
    return EntryColumns(
        [*past.rows, *columns.rows],
        [*past.ids, *columns.ids],
        [*past.parent_ids, *parents],
        {before + place: file for place, file in columns.sides.items()},
        {*past.unsaid, *(before + place for place in columns.unsaid)},
    )


def find_parents(columns: EntryColumns) -> list[int | None]:
    """Return the place of each entry's parent, without rings; None for one that begins a line.

    A parent may be the later one of the two: claude dates back what it writes behind a compaction.
    """
    places: dict[str | None, int] = dict(zip(columns.ids, range(len(columns.ids)), strict=True))
    parents = [*map(places.get, columns.parent_ids)]
    cut_rings(parents)
    lost = {place for place, parent in enumerate(parents) if parent is None and columns.parent_ids[place] != NO_PARENT}
    if any(lost):  # before the first entry of all there is none
        _hang_lost(parents, lost, columns)
    return parents


def _hang_lost(parents: list[int | None], lost: Collection[int], columns: EntryColumns) -> None:
    """Have entries whose parent is missing follow on the entry before them."""
    last_main: int | None = None
    before: int | None = None  # the last main entry before `begin`
    begin, end = 0, -1  # of entries that may hang on later ones
    last_side: dict[str | None, int] = {}
    for index, parent in enumerate(parents):
        if index > end:
            begin = index
            before = last_main
        end = max(end, parent or 0)
        if index in columns.sides:
            source = columns.sides[index]
            if index in lost and columns.parent_ids[index] is not None:
                last = last_side.get(source)
                parents[index] = last if last is not None and last < begin else None
            last_side[source] = index
            continue
        if index in lost:
            parents[index] = before
        last_main = index


def _climb(start: int, parents: Sequence[int | None], taken: Sequence[int]) -> int:
    """Return the first ancestor of an entry that is on no line yet."""
    while (parent := parents[start]) is not None and taken[parent] < 0:
        start = parent
    return start


def _forward(
    start: int, children: Sequence[Sequence[int]], ordered: Sequence[EntryLink], taken: Sequence[int]
) -> list[int]:
    """Follow a line to its end; where it parts, its latest child goes on and the others leave it."""
    run = [start]
    while True:
        free = [
            child
            for child in children[run[-1]]
            if taken[child] < 0 and ordered[child].is_sidechain == ordered[start].is_sidechain
        ]
        if not free:
            return run
        run.append(free[-1])


def _take(taken: list[int], run: Sequence[int], line: int) -> None:
    for place in run:
        taken[place] = line


def _anchor(start: int, parents: Sequence[int | None], ordered: Sequence[EntryLink]) -> int | None:
    """Return the entry behind which a line leaves: its parent, else the main entry before it."""
    if parents[start] is not None:
        return parents[start]
    return next((index for index in reversed(range(start)) if not ordered[index].is_sidechain), None)


def _line(
    ordered: Sequence[EntryLink], taken: Sequence[int], kind: LineKind, run: Sequence[int], anchor: int | None
) -> EntryRun:
    is_main = kind is LineKind.MAIN
    return EntryRun(
        kind,
        tuple(ordered[place].row_id for place in run),
        None if is_main else 0 if anchor is None else taken[anchor],
        None if anchor is None else ordered[anchor].row_id,
        ordered[run[0]].timestamp,
        ordered[run[-1]].timestamp,
    )

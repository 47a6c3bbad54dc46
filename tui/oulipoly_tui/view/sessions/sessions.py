"""Sessions as rows of a tree: workspace or account or day, session, what lies in it. Pure.

Rows are made when they are looked at, so that ten thousand sessions cost no more than a screenful.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.facets import RECORDED
from oulipoly_engine.core.sessions.session_table import fork_text, time_left
from oulipoly_engine.core.sessions.sessions import Part, Session
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.transcripts.entry_tree import EntryRun, LineKind
from oulipoly_engine.records import Record
from oulipoly_tui.view.live.lists import facets_words
from oulipoly_tui.view.sessions.columns import columns, short_age
from oulipoly_tui.view.sessions.groups import Arrangement, Group, Grouping, places_of
from oulipoly_tui.view.sessions.look import FORK, Look
from oulipoly_tui.view.transcript.spans import Line, Row, Span, Tone, cells, cut, fit_text
from oulipoly_tui.view.work.works import heading_line, work_line

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import Board, ListedSession

_SOON = timedelta(days=7)  # a deletion that near is said
_TITLE = 40  # columns of a session's title in a dialog's
_TITLE_LEAST = 11  # beside what is merely good to know
_TITLE_CUT = 2  # beside what is pressing: a title can be read elsewhere, a transcript that is gone cannot
_PRESSING = ("bad", "warn")
_SHORT = {"transcript gone": "gone", "archived only": "archived", "pinned": "pin"}  # where there is no room


class Kind(StrEnum):
    """What a row is."""

    GROUP = "g"
    SESSION = "c"
    SEGMENT = "s"
    LINE = "l"  # a branch or a sub-agent session of the transcript
    FILE = "f"  # of a sub-agent
    LOADING = "w"
    WORKS = "k"  # the heading of the sessions that work by themselves
    WORK = "p"  # one of them
    RUN = "i"  # of the trace


class Item(Record):
    """One row before it is drawn."""

    key: str
    kind: Kind
    group: Group
    listed: ListedSession | None = None
    place: int = 0  # of a segment, a line or a file in its session
    work_id: str = ""  # of a session that works by itself


class SessionRows(Sequence[Row]):
    """The rows. One is made when it is asked for: what stands between them is counted by group, never by row."""

    def __init__(self, board: Board, found: Arrangement | Sequence[Group], look: Look) -> None:
        put = found if isinstance(found, Arrangement) else Arrangement(tuple(found), places_of(found))
        self.board = board
        self.look = look
        self.total = len(put.places)
        self._groups = put.groups
        self._places = put.places
        self._heading = int(look.grouping is not Grouping.NONE)
        self._open = self._list_opened_items()
        self._works = tuple(_work_items(board, look))
        self._starts = [*accumulate(map(self._length, range(len(put.groups))), initial=len(self._works))]
        self._by_key = {group.key: number for number, group in enumerate(put.groups)}

    def __len__(self) -> int:
        """Return how many there are."""
        return self._starts[-1]

    def __getitem__(self, place):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204 - a slice or a place
        """Return a row, or some."""
        if isinstance(place, slice):
            return [_Lazy(self, self.item(one)) for one in range(*place.indices(len(self)))]
        return _Lazy(self, self.item(place))

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, none of them drawn."""
        return (self[place] for place in range(len(self)))

    def item(self, place: int) -> Item:
        """Return what stands at a place."""
        if not 0 <= place < len(self):
            raise IndexError(place)
        if place < len(self._works):
            return self._works[place]
        number = bisect_right(self._starts, place) - 1
        group, at = self._groups[number], place - self._starts[number] - self._heading
        if at < 0:
            return Item(group.key, Kind.GROUP, group)
        for index, inner in self._open.get(number, ()):
            if at <= index:
                break
            if at - index <= len(inner):
                return inner[at - index - 1]
            at -= len(inner)
        listed = group.members[at]
        return Item(f"{Kind.SESSION}:{listed.session.chain_id}", Kind.SESSION, group, listed)

    def find(self, key: str | None) -> Item | None:
        """Return the item of a key."""
        place = None if key is None else self.place_of(key)
        return None if place is None else self.item(place)

    def place_of(self, key: str) -> int | None:
        """Return where a key stands: the footer asks for the row under the cursor with every key."""
        kind, _, rest = key.partition(":")
        if kind == Kind.GROUP:
            number = self._by_key.get(key) if self._heading else None
            return None if number is None else self._starts[number]
        if kind == Kind.SESSION:
            return self._place(rest)
        if kind in (Kind.WORKS, Kind.WORK):
            return next((place for place, item in enumerate(self._works) if item.key == key), None)
        for number, opened in self._open.items():
            for index, inner in opened:
                at = next((at for at, item in enumerate(inner) if item.key == key), None)
                if at is not None:
                    chain = self._groups[number].members[index].session.chain_id
                    above = self._place(chain)
                    return None if above is None else above + 1 + at
        return None

    def first_session(self) -> str | None:
        """Return the key of the first session that is not behind a closed heading."""
        for number, group in enumerate(self._groups):
            if self._length(number) > self._heading:
                return f"{Kind.SESSION}:{group.members[0].session.chain_id}"
        return None

    def between(self, first: str, last: str) -> list[str]:
        """Return the chains of the sessions from one row to another, whichever stands first."""
        places = sorted(place for key in (first, last) if (place := self.place_of(key)) is not None)
        if not places:
            return []
        items = (self.item(place) for place in range(places[0], places[-1] + 1))
        return [item.listed.session.chain_id for item in items if item.kind is Kind.SESSION and item.listed is not None]

    def _list_opened_items(self) -> dict[int, list[tuple[int, list[Item]]]]:
        """Return what lies in the opened sessions: by group, with the place of each in it, in order."""
        found: dict[int, list[tuple[int, list[Item]]]] = {}
        for chain in self.look.opened:
            number, index = self._places.get(chain, (-1, 0))
            if number < 0:
                continue
            group = self._groups[number]
            found.setdefault(number, []).append((index, list(_inside(group, group.members[index], self.look))))
        for opened in found.values():
            opened.sort(key=lambda one: one[0])
        return found

    def _length(self, number: int) -> int:
        """Return how many rows a group has."""
        group = self._groups[number]
        if self._is_closed(group):
            return self._heading
        return self._heading + len(group.members) + sum(len(inner) for _, inner in self._open.get(number, ()))

    def _is_closed(self, group: Group) -> bool:
        return bool(self._heading) and group.key in self.look.closed

    def _place(self, chain: str) -> int | None:
        number, index = self._places.get(chain, (-1, 0))
        if number < 0 or self._is_closed(self._groups[number]):
            return None
        above = sum(len(inner) for at, inner in self._open.get(number, ()) if at < index)
        return self._starts[number] + self._heading + index + above


class _Lazy:
    """What a list asks of a row."""

    __slots__ = ("_item", "_rows", "key")
    is_selectable = True

    def __init__(self, rows: SessionRows, item: Item) -> None:
        self.key = item.key
        self._rows = rows
        self._item = item

    @property
    def line(self) -> Line:
        """Draw it."""
        return row_line(self._item, self._rows.board, self._rows.look)


def row_line(item: Item, board: Board, look: Look) -> Line:
    """Return one row as it is drawn."""
    if item.kind is Kind.GROUP:
        return _group_line(item, board, look)
    if item.kind is Kind.WORKS:
        return heading_line(look.works, look.width, is_closed=item.key in look.closed)
    if item.kind is Kind.WORK:
        work = next(one for one in look.works if one.session.session_id == item.work_id)
        return ((" ", ""), *work_line(work, look.git_looks.get(item.work_id), look.width - 1))
    if item.listed is None:
        return ()
    if item.kind is Kind.SESSION:
        return _session_line(item.listed, board, look)
    return ((_indent(look) + "    ", ""), *_inner(item, look))


def is_at_risk(listed: ListedSession, board: Board, now: datetime) -> bool:
    """Tell whether a CLI deletes the transcript soon and the archive has no copy."""
    if listed.has_transcript is False or listed.purge_at is None or listed.purge_at - now > _SOON:
        return False
    return (listed.session.active.account, listed.session.active.session_id) not in board.kept


def badges(listed: ListedSession, board: Board, now: datetime) -> Iterator[Span]:
    """Yield what is to be said of a session in a word or two, the most pressing first."""
    one = listed.session
    owner = (one.active.account, one.active.session_id)
    is_kept = owner in board.kept
    facets = board.facets.get(one.chain_id, RECORDED)
    if facets.live_id:  # its state is more than that its CLI has it open
        state, tone = facets_words(facets)
        yield (f"live: {', '.join(filter(None, (state, facets.isolation)))}", tone)
    elif owner in board.live:
        yield ("live", "good")
    if listed.has_transcript is False:
        yield ("archived only", "warn") if is_kept else ("transcript gone", "bad")
    elif listed.purge_at is not None and listed.purge_at - now <= _SOON:
        when = time_left(listed.purge_at - now)
        yield (f"deleted in {when}, kept", "dim") if is_kept else (f"at risk in {when}", "bad")
    if one.pinned_at is not None:
        yield ("pinned", "accent")
    if one.note:
        yield ("note", "dim")
    if one.forked_from is not None:
        yield (fork_text(one), "dim")
    chains = one.active.side_chains
    if chains:
        yield (f"{chains} sub-agent{'s' * (chains != 1)}", "dim")
    if len(one.parts) > 1:
        yield (f"{len(one.parts)} segments", "dim")


def title_of(session: Session) -> str:
    """Return what a session is called on the screen."""
    return plain(session.title or "") or "(no words yet)"


def quote_title(title: str) -> str:
    """Return what a session is called as a dialog names it: in quotes, cut to what a title has room for."""
    return f"“{cut(' '.join(title.split()), _TITLE)}”"


def _work_items(board: Board, look: Look) -> Iterator[Item]:
    """Yield the sessions that work by themselves, each with its transcript's session where there is one."""
    if not look.works:
        return
    heading = Group(f"{Kind.WORKS}:", "", ())
    yield Item(heading.key, Kind.WORKS, heading)
    if heading.key in look.closed:
        return
    owners = {part.session_id: one for one in board.rows for part in one.session.parts} if board.rows else {}
    for work in look.works:
        session = work.session
        listed = owners.get(session.native_id or "")
        yield Item(f"{Kind.WORK}:{session.session_id}", Kind.WORK, heading, listed, work_id=session.session_id)


def _inside(group: Group, one: ListedSession, look: Look) -> Iterator[Item]:
    chain = one.session.chain_id
    for place in range(len(one.session.parts)):
        yield Item(f"{Kind.SEGMENT}:{chain}:{place}", Kind.SEGMENT, group, one, place)
    found = look.inside.get(chain)
    if found is None:
        yield Item(f"{Kind.LOADING}:{chain}", Kind.LOADING, group, one)
        return
    for place, line in enumerate(found.tree.lines):
        if line.kind is not LineKind.MAIN:
            yield Item(f"{Kind.LINE}:{chain}:{place}", Kind.LINE, group, one, place)
    for place in range(len(found.side_files)):
        yield Item(f"{Kind.FILE}:{chain}:{place}", Kind.FILE, group, one, place)


def _group_line(item: Item, board: Board, look: Look) -> Line:
    """Return a heading; a closed one says what would be missed behind it."""
    is_closed = item.key in look.closed
    count = f" {len(item.group.members)}"
    risks = sum(is_at_risk(one, board, look.now) for one in item.group.members) if is_closed else 0
    risk = f" {risks} at risk" if risks else ""
    room = max(1, look.width - 2 - len(count) - len(risk))
    mark = "▸" if is_closed else "▾"
    return ((f"{mark} ", "dim"), (cut(item.group.title, room), "heading"), (count, "dim"), (risk, "bad"))


def _session_line(listed: ListedSession, board: Board, look: Look) -> Line:
    one = listed.session
    chain = one.chain_id
    fold = "▾ " if chain in look.opened else "▸ " if _has_inside(one) else "  "
    mark: Span = ("✓", "accent") if chain in look.marked else (" ", "")
    head: list[Span] = [(_indent(look), ""), mark, (fold, "dim")]
    if one.forked_from is not None:
        head.append((f"{FORK} ", "accent"))
    behind = columns(listed, look)
    left = look.width - sum(cells(text) for text, _ in (*head, *behind))
    said = _format_badges(listed, board, look, left)
    room = left - sum(cells(text) for text, _ in said)
    name: Tone = "strong" if one.name else ""
    return (*head, (fit_text(title_of(one), max(1, room)), name), *said, *behind)


def _format_badges(listed: ListedSession, board: Board, look: Look, left: int) -> list[Span]:
    """Return the badges that have room beside a title; what is pressing takes the title's room."""
    found = list(badges(listed, board, look.now))
    pressing = [text for text, tone in found if tone in _PRESSING]
    room = left - sum(cells(text) + 1 for text in pressing)
    if room < _TITLE_LEAST:
        found = [(_short(text), tone) if tone in _PRESSING else (text, tone) for text, tone in found]
        room = left - sum(cells(text) + 1 for text, tone in found if tone in _PRESSING)
    said: list[Span] = []
    has_room = True
    for text, tone in found:
        if tone in _PRESSING:
            if room >= _TITLE_CUT:
                said.append((f" {text}", tone))
            continue
        if room - cells(text) - 1 < _TITLE_LEAST:
            text = _SHORT.get(text, text)
        has_room = has_room and room - cells(text) - 1 >= _TITLE_LEAST
        if has_room:
            room -= cells(text) + 1
            said.append((f" {text}", tone))
    return said


def _short(text: str) -> str:
    return _SHORT.get(text) or text.partition(" in ")[0]


def _has_inside(one: Session) -> bool:
    return len(one.parts) > 1 or bool(one.active.side_chains) or one.entries > 0


def _indent(look: Look) -> str:
    return "" if look.grouping is Grouping.NONE else " "


def _inner(item: Item, look: Look) -> Iterator[Span]:
    if item.listed is None:
        return
    one = item.listed.session
    found = look.inside.get(one.chain_id)
    if item.kind is Kind.SEGMENT:
        yield from _segment(one.parts[item.place], is_active=one.parts[item.place] is one.active)
    elif item.kind is Kind.LOADING or found is None:
        yield ("looking for branches and sub-agent sessions …", "dim")
    elif item.kind is Kind.LINE:
        yield from _entry_line(found.tree.lines[item.place], look.now)
    else:
        name, path = found.side_files[item.place]
        yield (f"sub-agent session {plain(name)}", "")
        yield (f"  {plain(path.name)}", "dim")


def _segment(part: Part, *, is_active: bool) -> Iterator[Span]:
    state = "active" if is_active else "ended" if part.ended_at is not None else "open"
    yield (f"segment {plain(part.account)}", "")
    yield (f"  {state}, {part.entries:,} turns, {part.session_id[:8]}", "dim")


def _entry_line(line: EntryRun, now: datetime) -> Iterator[Span]:
    name = "branch" if line.kind is LineKind.BRANCH else "sub-agent session"
    entries = len(line.rows)
    yield (f"{name} of {entries} turn{'s' * (entries != 1)}", "")
    yield (f"  {short_age(line.first_at, now)}", "dim")

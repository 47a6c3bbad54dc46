"""Conversations as rows of a tree: workspace or account or day, conversation, what lies in it. Pure.

Rows are made when they are looked at, so that ten thousand conversations cost no more than a screenful.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.columns import plain
from oulipoly_engine.core.conversations import Conversation, Part, Sort, fits, ordered
from oulipoly_engine.core.query import Query
from oulipoly_engine.core.session_table import short_path
from oulipoly_engine.core.turn_tree import LineKind, TurnLine
from oulipoly_tui.view.spans import Line, Row, Span, Tone, cells, cut, fitted

if TYPE_CHECKING:
    from oulipoly_engine.engine_sessions import Board, Inside
    from oulipoly_engine.service.conversations import Listed

_SOON = timedelta(days=7)  # a deletion that near is said
_AGE_WIDTH = 7  # a space before it
_TITLE_LEAST = 12
_ACCOUNT_WIDTH, _MODEL_WIDTH, _TURNS_WIDTH = 14, 16, 6
_ACCOUNT_FROM, _TURNS_FROM, _MODEL_FROM = 64, 76, 96  # columns of a row


class Grouping(StrEnum):
    """What conversations are put together by."""

    WORKSPACE = "workspace"
    ACCOUNT = "account"
    DAY = "day"
    NONE = "none"


class Kind(StrEnum):
    """What a row is."""

    GROUP = "g"
    CONVERSATION = "c"
    SEGMENT = "s"
    LINE = "l"  # a branch or a side chain of the transcript
    FILE = "f"  # of a sub-agent
    LOADING = "w"


class Group(NamedTuple):
    """Conversations under one heading."""

    key: str
    title: str
    members: tuple[Listed, ...]


class Item(NamedTuple):
    """One row before it is drawn."""

    key: str
    kind: Kind
    group: Group
    listed: Listed | None = None
    place: int = 0  # of a segment, a line or a file in its conversation


@dataclass(frozen=True, slots=True)
class Look:
    """How the rows are drawn."""

    width: int
    now: datetime
    grouping: Grouping = Grouping.WORKSPACE
    closed: Collection[str] = ()  # keys of groups
    opened: Collection[str] = ()  # chains
    marked: Collection[str] = ()  # chains
    inside: Mapping[str, Inside] = field(default_factory=dict)  # by chain


def groups(board: Board, query: Query, sort: Sort, grouping: Grouping, now: datetime) -> tuple[Group, ...]:
    """Return the conversations that a query fits, in order, under the headings of a grouping."""
    chosen = board.rows if query == Query() else [one for one in board.rows if fits(query, one.conversation, one.kind)]
    known = {one.conversation.chain_id: one for one in chosen}
    found: dict[str, list[Listed]] = {}
    # A pin leads its own group; it must not pull a group of old days or a forgotten workspace to the top.
    unpinned = (
        one.conversation._replace(pinned_at=None) if one.conversation.pinned_at else one.conversation for one in chosen
    )
    for conversation in ordered(unpinned, sort):
        title = _heading(conversation, grouping, board.home, now)
        found.setdefault(title, []).append(known[conversation.chain_id])
    return tuple(
        Group(f"{Kind.GROUP}:{title}", title, tuple(sorted(members, key=_is_unpinned)))
        for title, members in found.items()
    )


def _is_unpinned(one: Listed) -> bool:
    return one.conversation.pinned_at is None


class SessionRows(Sequence[Row]):
    """The rows; what is drawn of one is made when it is asked for."""

    def __init__(self, board: Board, found: Sequence[Group], look: Look) -> None:
        self.board = board
        self.look = look
        self.total = sum(len(group.members) for group in found)
        self.items = [item for group in found for item in _items(group, look)]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.items)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204 - a slice or a place
        """Return a row, or some."""
        found = self.items[place]
        return _Lazy(self, found) if isinstance(found, Item) else [_Lazy(self, one) for one in found]

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, none of them drawn."""
        return (_Lazy(self, item) for item in self.items)  # type: ignore[misc]  # looks like a Row

    def find(self, key: str | None) -> Item | None:
        """Return the item of a key."""
        place = None if key is None else self.places.get(key)
        return None if place is None else self.items[place]

    @cached_property
    def places(self) -> dict[str, int]:
        """Return where each key stands: the footer asks for the row under the cursor with every key."""
        return {item.key: place for place, item in enumerate(self.items)}

    def between(self, first: str, last: str) -> list[str]:
        """Return the chains of the conversations from one row to another, whichever stands first."""
        places = sorted(self.places[key] for key in (first, last) if key in self.places)
        if not places:
            return []
        return [
            item.listed.conversation.chain_id
            for item in self.items[places[0] : places[-1] + 1]
            if item.kind is Kind.CONVERSATION and item.listed is not None
        ]


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
        mark = "▸" if item.key in look.closed else "▾"
        count = f" {len(item.group.members)}"
        return ((f"{mark} ", "dim"), (cut(item.group.title, look.width - 2 - len(count)), "heading"), (count, "dim"))
    if item.listed is None:
        return ()
    if item.kind is Kind.CONVERSATION:
        return _conversation_line(item.listed, board, look)
    return ((_indent(look) + "    ", ""), *_inner(item, look))


def badges(listed: Listed, board: Board, now: datetime) -> Iterator[Span]:
    """Yield what is to be said of a conversation in a word or two, the most pressing first."""
    one = listed.conversation
    owner = (one.active.account, one.active.session_id)
    is_kept = owner in board.kept
    if owner in board.live:
        yield ("live", "good")
    if listed.has_transcript is False:
        yield ("archived only", "warn") if is_kept else ("transcript gone", "bad")
    elif listed.purge_at is not None and listed.purge_at - now <= _SOON:
        left = max(listed.purge_at - now, timedelta(0))
        when = f"{left.days} d" if left >= timedelta(hours=36) else f"{left.total_seconds() / 3600:.0f} h"
        yield (f"deleted in {when}, kept", "dim") if is_kept else (f"at risk in {when}", "bad")
    if one.pinned_at is not None:
        yield ("pinned", "accent")
    if one.note:
        yield ("note", "dim")
    chains = one.active.side_chains
    if chains:
        yield (f"{chains} side chain{'s' * (chains != 1)}", "dim")
    if len(one.parts) > 1:
        yield (f"{len(one.parts)} segments", "dim")


def short_age(at: str, now: datetime) -> str:
    """Return how long ago an instant is, in at most six columns."""
    instant = from_text(at)
    seconds = (now - instant).total_seconds()
    if seconds < 60:
        return "now"
    for least, length, unit in ((3_600, 60, "m"), (86_400, 3_600, "h"), (86_400 * 14, 86_400, "d")):
        if seconds < least:
            return f"{int(seconds // length)} {unit}"
    local = instant.astimezone()
    return f"{local:%d %b}" if local.year == now.astimezone().year else f"{local:%b%Y}"[:3] + f" {local:%y}"


def title_of(conversation: Conversation) -> str:
    """Return what a conversation is called on the screen."""
    return plain(conversation.title or "") or "(no words yet)"


def _items(group: Group, look: Look) -> Iterator[Item]:
    if look.grouping is not Grouping.NONE:
        yield Item(group.key, Kind.GROUP, group)
        if group.key in look.closed:
            return
    for one in group.members:
        chain = one.conversation.chain_id
        yield Item(f"{Kind.CONVERSATION}:{chain}", Kind.CONVERSATION, group, one)
        if chain in look.opened:
            yield from _inside(group, one, look)


def _inside(group: Group, one: Listed, look: Look) -> Iterator[Item]:
    chain = one.conversation.chain_id
    for place in range(len(one.conversation.parts)):
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


def _heading(one: Conversation, grouping: Grouping, home: str, now: datetime) -> str:
    match grouping:
        case Grouping.WORKSPACE:
            return "workspace unknown" if one.workspace is None else plain(short_path(one.workspace, home))
        case Grouping.ACCOUNT:
            return plain(one.active.account)
        case Grouping.DAY:
            return _day(from_text(one.last_used_at).astimezone(now.tzinfo), now)
        case Grouping.NONE:
            return ""


def _day(instant: datetime, now: datetime) -> str:
    local, today = instant.astimezone(), now.astimezone()
    days = (today.date() - local.date()).days
    return {0: "today", 1: "yesterday"}.get(days) or f"{local:%a %d %b %Y}"


def _conversation_line(listed: Listed, board: Board, look: Look) -> Line:
    one = listed.conversation
    chain = one.chain_id
    fold = "▾ " if chain in look.opened else "▸ " if _has_inside(one) else "  "
    mark: Span = ("✓", "accent") if chain in look.marked else (" ", "")
    head: list[Span] = [(_indent(look), ""), mark, (fold, "dim")]
    columns = _columns(listed, look)
    left = look.width - sum(cells(text) for text, _ in (*head, *columns)) - 1
    said: list[Span] = []
    for text, tone in badges(listed, board, look.now):
        taken = sum(cells(shown) for shown, _ in said) + cells(text) + 1
        if left - taken < _TITLE_LEAST:
            break
        said.append((f" {text}", tone))
    room = left - sum(cells(text) for text, _ in said)
    name: Tone = "strong" if one.name else ""
    return (*head, (fitted(title_of(one), max(1, room)), name), *said, (" ", ""), *columns)


def _columns(listed: Listed, look: Look) -> list[Span]:
    one = listed.conversation
    found: list[Span] = []
    if look.width >= _ACCOUNT_FROM and look.grouping is not Grouping.ACCOUNT:
        found.append((fitted(plain(one.active.account), _ACCOUNT_WIDTH), "dim"))
    if look.width >= _MODEL_FROM:
        found.append((" " + fitted(plain(one.shown_model or "?"), _MODEL_WIDTH), "dim"))
    if look.width >= _TURNS_FROM:
        found.append((fitted(f"{one.turns:,}", _TURNS_WIDTH, right=True), "dim"))
    found.append((fitted(short_age(one.last_used_at, look.now), _AGE_WIDTH, right=True), "dim"))
    return found


def _has_inside(one: Conversation) -> bool:
    return len(one.parts) > 1 or bool(one.active.side_chains) or one.turns > 0


def _indent(look: Look) -> str:
    return "" if look.grouping is Grouping.NONE else " "


def _inner(item: Item, look: Look) -> Iterator[Span]:
    if item.listed is None:
        return
    one = item.listed.conversation
    found = look.inside.get(one.chain_id)
    if item.kind is Kind.SEGMENT:
        yield from _segment(one.parts[item.place], is_active=one.parts[item.place] is one.active)
    elif item.kind is Kind.LOADING or found is None:
        yield ("looking for branches and side chains …", "dim")
    elif item.kind is Kind.LINE:
        yield from _turn_line(found.tree.lines[item.place], look.now)
    else:
        name, path = found.side_files[item.place]
        yield (f"side chain {plain(name)}", "")
        yield (f"  {plain(path.name)}", "dim")


def _segment(part: Part, *, is_active: bool) -> Iterator[Span]:
    state = "active" if is_active else "ended" if part.ended_at is not None else "open"
    yield (f"segment {plain(part.account)}", "")
    yield (f"  {state}, {part.turns:,} turns, {part.session_id[:8]}", "dim")


def _turn_line(line: TurnLine, now: datetime) -> Iterator[Span]:
    name = "branch" if line.kind is LineKind.BRANCH else "side chain"
    turns = len(line.rows)
    yield (f"{name} of {turns} turn{'s' * (turns != 1)}", "")
    yield (f"  {short_age(line.first_at, now)}", "dim")

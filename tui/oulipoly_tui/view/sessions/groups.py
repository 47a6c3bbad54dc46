"""Which sessions fit a filter, in which order, under which headings. Pure.

A filter is typed, so everything that does not change from key to key is worked out once a board: what the words are
looked for in, the orders, the headings. A longer filter looks only at what the shorter one has found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.search.query import Field, FieldName, Query, Term
from oulipoly_engine.core.sessions.facets import RECORDED, facets_fit
from oulipoly_engine.core.sessions.session_table import short_path
from oulipoly_engine.core.sessions.sessions import (
    Session,
    Sort,
    compose_searched_text,
    failed_fits,
    field_fits,
    field_texts,
    flags_fit,
    risk_fits,
    sort_sessions,
)
from oulipoly_engine.core.text.columns import plain, width
from oulipoly_engine.core.worktrees.worktrees import FOLDER
from oulipoly_engine.records import Record, replace

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import Board, ListedSession


_MOST = (14, 8, 16)  # columns of account, CLI and model; accounts are told apart by their beginnings


class Grouping(StrEnum):
    """What sessions are put together by."""

    WORKSPACE = "workspace"
    ACCOUNT = "account"
    DAY = "day"
    NONE = "none"


class Group(Record):
    """Sessions under one heading."""

    key: str
    title: str
    members: tuple[ListedSession, ...]


class Arrangement(Record):
    """Groups, and where each session stands in them."""

    groups: tuple[Group, ...] = ()
    places: dict[str, tuple[int, int]] = {}  # noqa: RUF012 - never written to; chain -> (group, place in it)


class Longest(Record):
    """How many columns the longest names take."""

    account: int = 14
    cli: int = 8
    model: int = 16


class Order(Record):
    """What to show, and how."""

    query: Query
    sort: Sort
    grouping: Grouping
    now: datetime  # its zone tells the days
    is_reversed: bool = False


class _Known(Record):
    """A session, and what a filter's words are looked for in."""

    listed: ListedSession
    text: str


class SessionIndex:
    """The sessions of a board, ready to be filtered at each key. For one thread at a time."""

    def __init__(self, board: Board, before: SessionIndex | None = None) -> None:
        self.board = board
        old = {} if before is None else before._known
        self._known: dict[str, _Known] = {}
        for one in board.rows:
            chain = one.session.chain_id
            known = old.get(chain)
            is_same = known is not None and known.listed is one
            self._known[chain] = (
                known if is_same and known is not None else _Known(one, compose_searched_text(one.session, one.kind))
            )
        self.longest = _measure(board.rows)
        self._has_pins = any(one.session.pinned_at is not None for one in board.rows)
        self._orders: dict[tuple[Sort, bool], list[_Known]] = {}
        self._headings: dict[tuple[Grouping, date | None], dict[str, str]] = {}
        self._last: tuple[Query, tuple[Sort, bool], list[_Known]] | None = None

    def arrange(self, order: Order) -> Arrangement:
        """Return what fits, under the headings of a grouping."""
        chosen = self._find_matches(order.query, (order.sort, order.is_reversed))
        headings = self._headings_of(order.grouping, order.now)
        found: dict[str, list[ListedSession]] = {}
        for known in chosen:
            found.setdefault(headings[known.listed.session.chain_id], []).append(known.listed)
        if self._has_pins:
            for members in found.values():
                members.sort(key=_is_unpinned)
        put = tuple(Group(f"g:{title}", title, tuple(members)) for title, members in found.items())
        return Arrangement(put, places_of(put))

    def _find_matches(self, query: Query, order: tuple[Sort, bool]) -> list[_Known]:
        last = self._last
        is_narrower = last is not None and last[1] == order and narrows(last[0], query)
        found = last[2] if is_narrower and last is not None else self._in_order(order)
        for check in (*_checks(query), *self._board_checks(query)):
            found = [known for known in found if check(known)]
        self._last = (query, order, found)
        return found

    def _board_checks(self, query: Query) -> list[Callable[[_Known], bool]]:
        """Return the checks that only the board can answer."""
        if not query.list_flags:
            return []
        kept, failed, facets = self.board.kept, self.board.failed, self.board.facets

        def check(known: _Known) -> bool:
            session = known.listed.session
            own = facets.get(session.chain_id, RECORDED)
            is_kept = (session.active.account, session.active.session_id) in kept
            return (
                risk_fits(query, known.listed.purge_at, is_kept=is_kept)
                and failed_fits(query, session, failed, own)
                and facets_fit(query, own)
            )

        return [check]

    def _in_order(self, order: tuple[Sort, bool]) -> list[_Known]:
        if order not in self._orders:
            sort, is_reversed = order
            # A pin leads its own group; it must not pull a group of old days or a forgotten workspace to the top.
            unpinned = (
                replace(one.session, pinned_at=None) if one.session.pinned_at else one.session
                for one in self.board.rows
            )
            found = sort_sessions(unpinned, sort, is_reversed=is_reversed)
            self._orders[order] = [self._known[one.chain_id] for one in found]
        return self._orders[order]

    def _headings_of(self, grouping: Grouping, now: datetime) -> dict[str, str]:
        key = (grouping, now.date() if grouping is Grouping.DAY else None)
        if key not in self._headings:
            self._headings[key] = {
                one.session.chain_id: _format_heading(one.session, grouping, self.board.home, now)
                for one in self.board.rows
            }
        return self._headings[key]


def groups(board: Board, query: Query, sort: Sort, grouping: Grouping, now: datetime) -> tuple[Group, ...]:
    """Return the sessions that a query fits, in order, under the headings of a grouping."""
    return SessionIndex(board).arrange(Order(query, sort, grouping, now)).groups


def places_of(found: Sequence[Group]) -> dict[str, tuple[int, int]]:
    """Return where each session stands, by its chain."""
    return {
        one.session.chain_id: (number, place)
        for number, group in enumerate(found)
        for place, one in enumerate(group.members)
    }


def narrows(before: Query, after: Query) -> bool:
    """Tell whether whatever fits the second query certainly fits the first one too."""
    if not before.flags.items() <= after.flags.items():
        return False
    if before.since is not None and (after.since is None or after.since < before.since):
        return False
    if before.until is not None and (after.until is None or after.until > before.until):
        return False
    if any(not _follows(field, after.fields) for field in before.fields):
        return False
    return all(_holds(term, after.terms) for term in before.terms)


def _follows(field: Field, after: Iterable[Field]) -> bool:
    """Tell whether one of some fields asks for no less than this one."""
    for one in after:
        if one == field:
            return True
        is_plain = not field.is_negated and not one.is_negated and len(field.values) == len(one.values) == 1
        if is_plain and field.name is one.name is FieldName.SESSION and "*" not in field.values[0]:
            return one.values[0].startswith(field.values[0])
    return False


def _holds(term: Term, after: Iterable[Term]) -> bool:
    if term.is_negated:
        return any(one.is_negated and one.text.lower() in term.text.lower() for one in after)
    return any(not one.is_negated and term.text.lower() in one.text.lower() for one in after)


def _checks(query: Query) -> list[Callable[[_Known], bool]]:
    """Return what a session must pass, the quickest first."""
    found: list[Callable[[_Known], bool]] = [_term_check(term) for term in query.terms]
    found += [_field_check(field) for field in query.fields if field.name is not FieldName.ROLE]
    if (query.pinned, query.sidechain, query.since, query.until) != (None,) * 4:
        found.append(lambda known: flags_fit(query, known.listed.session))
    return found


def _term_check(term: Term) -> Callable[[_Known], bool]:
    text = term.text.lower()
    if term.is_negated:
        return lambda known: text not in known.text
    return lambda known: text in known.text


def _field_check(field: Field) -> Callable[[_Known], bool]:
    if field.name is FieldName.SESSION and not any("*" in value for value in field.values):
        return _session_check(field)
    answers: dict[tuple[str | None, ...], bool] = {}  # there are few accounts, models and folders

    def check(known: _Known) -> bool:
        texts = field_texts(field.name, known.listed.session, known.listed.kind) or ()
        answer = answers.get(texts)
        if answer is None:
            answer = answers[texts] = field_fits(field, texts)
        return answer

    return check


def _session_check(field: Field) -> Callable[[_Known], bool]:
    """Compare beginnings: ids are all different, and a pattern takes five times as long."""

    def check(known: _Known) -> bool:
        one = known.listed.session
        found = one.chain_id.lower().startswith(field.values) or any(
            part.session_id.lower().startswith(field.values) for part in one.parts
        )
        return found is not field.is_negated

    return check


def _measure(rows: Iterable[ListedSession]) -> Longest:
    """Measure the names that there are, each once; a heading and its mark have room, the longest are cut."""
    names: tuple[set[str], ...] = (set(), set(), set())
    for one in rows:
        session = one.session
        for found, name in zip(names, (session.active.account, one.kind, session.shown_model or "?"), strict=True):
            found.add(name)
    widths = (max((width(plain(name)) for name in found), default=0) for found in names)
    return Longest(*map(_between, widths, ("account▼", "CLI", "model▼"), _MOST))


def _between(found: int, heading: str, most: int) -> int:
    return min(most, max(len(heading), found))


def _is_unpinned(one: ListedSession) -> bool:
    return one.session.pinned_at is None


def _format_heading(one: Session, grouping: Grouping, home: str, now: datetime) -> str:
    match grouping:
        case Grouping.WORKSPACE:
            return "workspace unknown" if one.workspace is None else plain(short_path(_repository(one.workspace), home))
        case Grouping.ACCOUNT:
            return plain(one.active.account)
        case Grouping.DAY:
            return _day(from_text(one.last_used_at), now)
        case Grouping.NONE:
            return ""


def _repository(workspace: str) -> str:
    """Return the repository of a session's own worktree; any other folder as it is."""
    return workspace.partition(f"/{FOLDER}/")[0]


def _day(instant: datetime, now: datetime) -> str:
    """Return a day's name in the zone of `now`."""
    local = instant.astimezone(now.tzinfo)
    days = (now.date() - local.date()).days
    return {0: "today", 1: "yesterday"}.get(days) or f"{local:%a %d %b %Y}"

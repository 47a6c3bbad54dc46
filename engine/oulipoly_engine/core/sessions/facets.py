"""What a session is besides what is recorded of it: a terminal, live, or work on its own; and how it stands. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from oulipoly_engine.core.search.query import Query
from oulipoly_engine.records import Record


class SessionKind(StrEnum):
    """What holds a session; of one that is several things the last of these."""

    RECORDED = "recorded"  # nothing of ours: it is what its CLI has written
    TERMINAL = "terminal"  # a terminal of ours has it open now
    LIVE = "live"  # it was begun as a live session, whether or not its process lives
    WORK = "work"  # a live session that works by itself, most of them on a branch of its own


LIVE_KINDS = frozenset((SessionKind.LIVE, SessionKind.WORK))  # those that were begun as live sessions

# Every word for how a session stands, and what lists say of it.
STATUSES: Mapping[str, str] = {
    "queued": "queued",
    "starting": "starting",
    "running": "running",
    "waiting_input": "ready",
    "closing": "closing",
    "recoverable": "recoverable",
    "fenced": "blocked",
    "closed": "ended",
    "failed": "failed",
    "canceled": "canceled",
    "timed_out": "timed out",
}
WAITS = "waits for you"  # what lists say in place of that while something is asked


class LiveStanding(Record):
    """What the records say of a session that was begun as a live one."""

    session_id: str  # ours
    is_work: bool
    status: str  # active, fenced, closed
    ended: str  # how its last process has ended; empty: it has not, or nobody knows
    has_begun: bool  # a process of it was started once
    has_turn: bool  # a turn is open
    has_request: bool  # a request waits for an answer
    has_message: bool  # a message waits for its process
    isolation: str = ""  # of the box in which its CLI stands; empty: in none


class Facets(Record):
    """What a session is, and how it stands."""

    kind: SessionKind = SessionKind.RECORDED
    status: str = "closed"  # of `STATUSES`
    is_alive: bool = False  # its host lives
    is_waiting: bool = False  # for the answer of a person
    live_id: str = ""  # of its live session; empty: it is none
    isolation: str = ""  # as its standing has it


RECORDED = Facets()
FAILED = Facets(status="failed")  # its last run did
IN_TERMINAL = Facets(SessionKind.TERMINAL, "running", is_alive=True)


def choose_status(standing: LiveStanding, *, is_alive: bool, is_starting: bool = False) -> str:
    """Return the word for how a live session stands as long as its host is not asked; `closed` of each that ended.

    is_starting: its open turn has not begun, where that is known.
    """
    if standing.status == "fenced":
        return "fenced"
    if is_alive and is_starting:
        return "starting"
    if is_alive:
        return "running" if standing.has_turn else "waiting_input"
    if standing.has_turn:
        return "recoverable"
    is_new = not standing.has_begun and not standing.ended
    return "queued" if standing.has_message and is_new else "closed"  # one that waits for a place was never begun


def choose_rest_status(standing: LiveStanding, *, is_alive: bool, is_starting: bool) -> str:
    """Return the word of `STATUSES` that REST has for a live session (contract A32).

    is_starting: its open turn has not begun. One that is idle stays `running`, as the contract has it (B2): `busy`
    tells it apart.
    """
    if is_alive:
        return "starting" if is_starting else "running"
    if standing.ended:
        return standing.ended
    if not standing.has_begun:
        return "queued"
    return "failed" if standing.has_turn else "closed"


def live_facets(standing: LiveStanding, *, is_alive: bool, in_terminal: bool) -> Facets:
    """Return the facets of a session that was begun as a live one.

    is_alive: its host lives. in_terminal: a terminal has it open.
    """
    kind = SessionKind.WORK if standing.is_work else SessionKind.LIVE
    if in_terminal and not is_alive:
        return Facets(
            kind, IN_TERMINAL.status, is_alive=True, live_id=standing.session_id, isolation=standing.isolation
        )
    status = choose_status(standing, is_alive=is_alive)
    if status == "closed" and standing.ended:
        status = standing.ended
    is_waiting = is_alive and standing.has_request
    return Facets(kind, status, is_alive, is_waiting, standing.session_id, standing.isolation)


def seems_lost(standing: LiveStanding, *, is_alive: bool) -> bool:
    """Tell whether a session's host has gone without a word, or wrote its end after its records were read."""
    return standing.has_turn and not standing.ended and not is_alive


def asks_for_facets(query: Query) -> bool:
    """Tell whether facets matter to a query."""
    return (query.live, query.waiting, query.work, query.failed) != (None, None, None, None)


def facets_fit(query: Query, facets: Facets) -> bool:
    """Tell whether a session is live, waits for a person and works by itself as a query asks."""
    has_facets = (facets.is_alive, facets.is_waiting, facets.kind is SessionKind.WORK)
    asked = (query.live, query.waiting, query.work)
    return all(wanted is None or wanted is has for wanted, has in zip(asked, has_facets, strict=True))


def facets_text(facets: Facets) -> str:
    """Return what a list says of a session besides what is recorded; nothing where that says all."""
    state = STATUSES.get(facets.status, facets.status)
    if facets.is_waiting:
        state = WAITS
    elif facets.kind is SessionKind.RECORDED or facets.status == "closed":
        state = ""
    words = ", ".join(filter(None, (state, facets.isolation)))
    return words and f"{facets.kind}: {words}"

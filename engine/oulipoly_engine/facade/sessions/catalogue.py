"""All sessions: the list, searching, what lies in one, and who started it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.search.query import Query, parse
from oulipoly_engine.core.sessions.sessions import Part, Session, Sort
from oulipoly_engine.errors import ConfigInvalid, SessionNotFound, StoreUnusable
from oulipoly_engine.facade.base import upkeep
from oulipoly_engine.facade.sessions.base import PATIENCE_S, SessionPart
from oulipoly_engine.records import Record
from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds, ListedSession
from oulipoly_engine.store.sessions.sessions import list_sessions

if TYPE_CHECKING:
    from datetime import datetime

    from oulipoly_engine.core.sessions.spawned import Spawned
    from oulipoly_engine.facade.base.home import Home
    from oulipoly_engine.service.search import Found
    from oulipoly_engine.service.sessions.board import Board, Boards, Inside
    from oulipoly_engine.store.base.db import Store

# ruff: noqa: PLC0415 - a list in the shell needs neither the app's board nor the search index

_DESCRIBING_S = 5.0  # before a list; what is left is said
_INDEXING_S = 2.0  # before a search in the app; likewise
_SCRIPTS_S = 0.2  # of a question's patience for foreign storage scripts; a scan has more
_BATCH = 2_000  # entries that an index step takes
_TRACED = 3_000  # of the latest invocations


class Steps(Protocol):
    """What counts the steps of something that takes long."""

    def step(self, _result: object = None) -> None:
        """Count one more as done."""


Counting = Callable[[str, int], AbstractContextManager[Steps]]  # (what, how many steps) -> shown while they are done


class _Uncounted:
    def step(self, _result: object = None) -> None:
        """Tell nobody."""


def count_nothing(_what: str, _total: int) -> AbstractContextManager[Steps]:
    """Show nothing of the steps."""
    return nullcontext(_Uncounted())


class SessionTable(Record):
    """A part of the list of sessions."""

    rows: tuple[ListedSession, ...] = ()
    total: int = 0  # that fit
    undescribed: int = 0
    unknown: tuple[str, ...] = ()  # where nothing fits: what the query names and nothing stored has, a sentence each
    has_state: bool = False  # False: no state file was made yet


class SearchResult(Record):
    """What came of a search."""

    found: Found
    unknown: tuple[str, ...] = ()  # as of a table
    has_sessions: bool = True  # False: there is nothing yet that could be found


class SessionCatalogue(SessionPart):
    """The sessions of one user."""

    def board(self, before: Board | None = None, *, looks: bool = False) -> Board:
        """Return every session; the board before where nothing has changed. looks: at each transcript again."""
        with self._home.lend_store_to_read() as store:
            boards, now = self._boards(store), self._home.now()
            left = self._home.write_along(store, boards.describe, 0)
            return boards.read(now, before, left, looks=looks)

    @property
    def history_size(self) -> int:
        """Return how many sessions are listed where nobody says how many."""
        return self._home.files.settings().session_history_size

    def table(
        self,
        query: Query,
        sort: Sort = Sort.USED,
        limit: int | None = None,
        *,
        is_reversed: bool = False,
        kinds: Collection[str] | None = None,
        after: str = "",
        counting: Counting = count_nothing,
    ) -> SessionTable:
        """Return the sessions that a query fits; no state file is made. A broken configuration is told and left out.

        kinds: of these of `SessionKind` alone. after: those behind this chain. UsageInvalid: it is not there.
        """
        if not self._home.paths.state_db.exists():
            return SessionTable()
        with self._home.lend_store_to_read() as store:
            upkeep.enter_runs(self._home, store)
            known = catalogue(self._home, store)
            left = self._home.write_along(store, lambda: describe(known, _DESCRIBING_S, counting=counting), 0)
            listing = known.list(query, sort, limit, is_reversed=is_reversed, kinds=kinds, after=after)
            unknown = () if listing.rows else known.unknown_values(query)
        return SessionTable(listing.rows, listing.total, left, unknown, has_state=True)

    def find(self, text: str) -> Session:
        """Return what a person means by an id or its beginning. Raises SessionNotFound and SessionAmbiguous."""
        with self._session(text.strip()) as (store, session):
            found = list_sessions(store, (session.chain_id,))
        if not found:
            raise SessionNotFound(f"there is no session {session.chain_id} any more", input=text)
        return found[0]

    def inside(self, session: Session) -> Inside:
        """Return the branches and sub-agent sessions of a session."""
        part = session.active
        with self._home.lend_store_to_read() as store:
            return self._boards(store).inside(part.account, part.session_id, part.transcript)

    def query(self, text: str) -> Query:
        """Read a query with days of the user's own zone. Raises UsageInvalid."""
        return parse(text, self._home.now().astimezone(), lambda naive: naive.astimezone())

    def search(self, text: str, limit: int = 200) -> Found:
        """Return entries that a query fits, the newest first; what is not indexed yet is indexed first, within 2 s."""
        from oulipoly_engine.service import search as searching

        query = self.query(text)
        with self._home.lend_store_to_read() as store:
            self._home.write_along(store, lambda: searching.catch_up(store, _INDEXING_S), 0)
            return searching.search(store, query, Kinds(*self._read_configuration()), limit, width=120)

    def search_all(
        self,
        query: Query,
        limit: int,
        *,
        width: int,
        by_rank: bool = False,
        as_is: bool = False,
        counting: Counting = count_nothing,
    ) -> SearchResult:
        """Return entries as `search` does, with all that is new described and indexed first; no state file is made.

        as_is: describe and index nothing. A broken configuration is told and left out.
        """
        from oulipoly_engine.service.search import Found, search
        from oulipoly_engine.store.sessions import chains

        if not self._home.paths.state_db.exists():
            return SearchResult(Found((), 0), has_sessions=False)
        with self._home.lend_store_to_read() as store:
            known = catalogue(self._home, store)
            if not as_is:
                self._home.write_along(store, lambda: describe(known, counting=counting), 0)
                self._home.write_along(store, lambda: index(store, counting=counting), 0)
            found = search(store, query, known.kinds, limit, by_rank=by_rank, width=width)
            if found.hits:
                return SearchResult(found)
            return SearchResult(found, known.unknown_values(query), has_sessions=chains.has_any(store))

    def list_spawned(self) -> tuple[Spawned, ...]:
        """Return the latest invocations with who started them, the newest first."""
        from oulipoly_engine.store.runs.spawned import recent

        with self._home.lend_store_to_read() as store:
            return recent(store, _TRACED)

    def _boards(self, store: Store) -> Boards:
        from oulipoly_engine.service.sessions.board import Boards

        locator = self._locator()
        return Boards(store, self._home.wiring.catalogue(store, locator.accounts, locator.scripts, locator), locator)


def to_json(listed: ListedSession, now: datetime) -> dict[str, object]:
    """Return what every face tells of a session by the same keys."""
    session = listed.session
    active = session.active
    days = None if listed.purge_at is None else round((listed.purge_at - now).total_seconds() / 86_400, 2)
    states = {True: "available", False: "missing", None: "unknown"}
    return {
        "chain_id": session.chain_id,
        "session_id": active.session_id or None,
        "kind": listed.facets.kind,
        "status": listed.facets.status,
        "account": active.account,
        "cli": listed.kind,
        "model": session.model,
        "cli_model": active.cli_model,
        "name": session.name,
        "title": session.title,
        "note": session.note,
        "pinned": session.pinned_at is not None,
        "forked_from": session.forked_from,
        "workspace": session.workspace,
        "first_used_at": session.first_used_at,
        "last_used_at": session.last_used_at,
        "turns": active.entries,
        "assistant_turns": active.assistant_entries,
        "sidechain_turns": active.sidechain_entries,
        "side_chains": active.side_chains,
        "transcript": active.transcript,
        "transcript_state": states[listed.has_transcript],
        "transcript_bytes": listed.size_bytes,
        "purge_at": None if listed.purge_at is None else to_text(listed.purge_at),
        "at_risk_in_days": days,
        "kept_copy": session.has_kept_copy,
        "segments": list(_segments(session)),
    }


def _segments(session: Session) -> Iterator[dict[str, object]]:
    for part in filter(_has_id, session.parts):
        yield {
            "account": part.account,
            "session_id": part.session_id,
            "started_at": part.started_at,
            "ended_at": part.ended_at,
            "is_active": part is session.active,
            "turns": part.entries,
        }


def _has_id(part: Part) -> bool:
    """Tell whether its CLI has an id for it: a live session that waits for its start has none yet."""
    return bool(part.session_id)


def catalogue(home: Home, store: Store) -> Catalogue:
    """Return the sessions. A broken configuration is told and left out: what is stored can be listed without."""
    files, wiring = home.quiet_files, home.wiring
    try:
        accounts, scripts = files.accounts(), files.scripts()
    except ConfigInvalid as error:
        home.note(f"Warning: {error.message}; the accounts' CLIs are guessed from their transcripts")
        return wiring.catalogue(store, {}, {}, None)
    return wiring.catalogue(store, accounts, scripts, wiring.locator(accounts, scripts, PATIENCE_S))


def describe(
    known: Catalogue,
    budget_s: float | None = None,
    *,
    scripts_s: float = _SCRIPTS_S,
    counting: Counting = count_nothing,
) -> int:
    """Count and describe what is new; return how many sessions are left undescribed."""
    left = known.refresh(budget_s=0.0, scripts_s=scripts_s)  # the first hundred: most calls find fewer
    if not left or (budget_s is not None and budget_s <= 0):
        return left
    with counting("describing sessions", left) as steps:
        return known.refresh(budget_s, steps.step, scripts_s=0.0)


def index(store: Store, budget_s: float | None = None, *, counting: Counting = count_nothing) -> int:
    """Index the entries that are new; return how many are left."""
    from oulipoly_engine.service.search import catch_up
    from oulipoly_engine.store.search import index as search_index

    behind = search_index.state(store).behind
    if behind <= _BATCH:
        return catch_up(store, budget_s)
    with counting(f"indexing {behind} turns: part", math.ceil(behind / _BATCH)) as steps:
        return catch_up(store, budget_s, steps.step)


def after_scan(home: Home, store: Store, budget_s: float, counting: Counting) -> None:
    """Count, describe and index what a scan has found, as far as it goes within so long; a search does the rest."""
    try:
        describe(catalogue(home, store), budget_s, scripts_s=budget_s, counting=counting)
        index(store, budget_s, counting=counting)
    except StoreUnusable as error:  # the scan itself is done and stored
        home.note(f"Warning: what was found is not indexed yet: {error.message}")

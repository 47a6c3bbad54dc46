"""Sessions for lists and trees: counted and described bit by bit, then read in one pass.

What is known of a session is kept in the state file, so that a list of ten thousand opens no transcript.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from oulipoly_engine.adapters import transcript_head
from oulipoly_engine.clock import from_text
from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.core.search.query import FieldName, Query
from oulipoly_engine.core.sessions.facets import RECORDED, Facets, LiveStanding, asks_for_facets, facets_fit
from oulipoly_engine.core.sessions.resolve import OF_FILES, ResolvedSession
from oulipoly_engine.core.sessions.sessions import (
    Session,
    Sort,
    cli_kind,
    failed_fits,
    field_texts,
    fits,
    purge_at,
    risk_fits,
    sort_sessions,
    title_of,
    unknown_value,
)
from oulipoly_engine.core.transcripts import entry_tree as tree
from oulipoly_engine.core.transcripts.entry_text import extract_text
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.sessions.facets import list_unrecorded_terminals, read_facets
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import invocations, spawned
from oulipoly_engine.store.sessions import facts, live_origin
from oulipoly_engine.store.sessions.sessions import latest, list_sessions
from oulipoly_engine.store.transcripts.entry_pages import links

_AT_ONCE = 100  # sessions described in a transaction


class ListedSession(Record):
    """A session with what only configuration and disk know."""

    session: Session
    kind: str  # claude, codex, opencode, gemini, other
    has_transcript: bool | None  # None: no file of it is known
    size_bytes: int | None = None
    purge_at: datetime | None = None  # when its CLI deletes the transcript; None: it does not, or it is gone
    facets: Facets = RECORDED  # as they were asked for; a board has those of its sessions beside them


class Listing(Record):
    """A part of a list, and how long the whole of it is."""

    rows: tuple[ListedSession, ...]
    total: int


def read_entry_tree(store: Store, account: str, session_id: str) -> tree.EntryTree:
    """Return a session's main line and the branches and sub-agent sessions that leave it."""
    return tree.build(links(store, account, session_id))


class Kinds:
    """Which CLI each account runs, asked once an account."""

    def __init__(self, accounts: Mapping[str, Account], scripts: Mapping[str, SessionScripts]) -> None:
        self._accounts = accounts
        self._scripts = scripts
        self._known: dict[str, str] = {}

    def of(self, session: Session) -> str:
        """Return the kind of a session's CLI."""
        active = session.active
        return self.of_account(active.account, active.transcript)

    def of_account(self, name: str, transcript: str | None = None) -> str:
        """Return the kind of an account's CLI; a transcript helps where the account is not configured any more."""
        if name not in self._accounts and name not in self._scripts:
            return cli_kind(None, None, transcript)
        if name not in self._known:
            self._known[name] = cli_kind(self._accounts.get(name), self._scripts.get(name), transcript)
        return self._known[name]


class _ScriptBudget(Record, frozen=False):
    """How long storage scripts were asked in one pass, and whose; the next pass goes on with the rest."""

    allowed_s: float
    accounts: set[str] = field(default_factory=set)
    seconds: float = 0.0

    @contextmanager
    def of(self, account: str) -> Iterator[None]:
        begun = time.monotonic()
        yield
        self.accounts.add(account)
        self.seconds += time.monotonic() - begun

    def exhausted_accounts(self) -> frozenset[str]:
        """Return the accounts that are not asked any more."""
        return frozenset(self.accounts) if self.seconds >= self.allowed_s else frozenset()


class Catalogue(Record):
    """The sessions of one state file."""

    store: Store
    kinds: Kinds
    locator: Locator | None = None  # asks foreign storage scripts; None: those accounts' folders stay unknown
    paths: Paths | None = None  # where hosts tell what they hold; None: no session has facets
    _periods: dict[str, float | None] = field(default_factory=dict)

    def refresh(
        self, budget_s: float | None = None, step: Callable[[], None] | None = None, *, scripts_s: float = 0.2
    ) -> int:
        """Count new entries and describe new sessions, the latest used first; return how many are left undescribed.

        budget_s: stop describing after so long; None: never. step: called after each session.
        scripts_s: about how long to ask the scripts of storages that tell no file with their turns; another call goes
        on where this one stopped.
        """
        facts.recount_damaged(self.store)
        while facts.count_batch(self.store):
            pass
        deadline = None if budget_s is None else time.monotonic() + budget_s
        asked = _ScriptBudget(scripts_s)
        while waiting := facts.find_undescribed(self.store, _AT_ONCE, without=asked.exhausted_accounts()):
            found = []
            for one in waiting:
                if one.account not in asked.exhausted_accounts():
                    found.append(self._describe(one, asked))
                if step is not None:
                    step()
            facts.describe(self.store, found)
            if deadline is not None and time.monotonic() > deadline:
                break
        return facts.count_undescribed(self.store)

    def list(
        self,
        query: Query,
        sort: Sort = Sort.USED,
        limit: int | None = None,
        *,
        is_reversed: bool = False,
        kinds: Collection[str] | None = None,
        after: str = "",
    ) -> Listing:
        """Return the sessions that a query fits, in order; the transcripts of those returned are looked at.

        Where it asks what is at risk, all of them are.
        kinds: of these kinds alone. after: those behind this chain. Raises UsageInvalid where that is not in the list.
        """
        unrecorded = self.list_unrecorded()
        is_usual = sort is Sort.USED and not is_reversed and query == Query() and kinds is None and not after
        if limit is not None and is_usual:  # what nearly every call asks for
            leading, total = latest(self.store, limit)
            found = sort_sessions((*list_sessions(self.store, leading), *unrecorded), sort)[:limit]
            facets = self.read_facets(found, unrecorded)
            return Listing(tuple(self.look(one, facets) for one in found), total + len(unrecorded))
        sessions: Iterable[Session] = (*list_sessions(self.store), *unrecorded)
        if query != Query():
            sessions = (session for session in sessions if fits(query, session, self.kinds.of(session)))
        found = sort_sessions(sessions, sort, is_reversed=is_reversed)
        facets = {}
        if kinds is not None or asks_for_facets(query):
            failed = spawned.find_failed_sessions(self.store)
            facets = self.read_facets(found, unrecorded, failed)

            def has_facets(session: Session) -> bool:
                own = facets.get(session.chain_id, RECORDED)
                if kinds is not None and own.kind not in kinds:
                    return False
                return facets_fit(query, own) and failed_fits(query, session, failed, own)

            found = list(filter(has_facets, found))
        if query.at_risk is not None:
            found = [session for session in found if _risk_fits(query, self.look(session))]
        begin = _find_place(found, after) + 1 if after else 0
        shown = found[begin:][:limit]
        if not facets:
            facets = self.read_facets(shown, unrecorded)
        return Listing(tuple(self.look(one, facets) for one in shown), len(found))

    def list_unrecorded(self) -> Mapping[Session, LiveStanding | None]:
        """Return the live sessions and terminals of which nothing is recorded yet, and how live ones stand."""
        terminals = () if self.paths is None else list_unrecorded_terminals(self.store, self.paths)
        return dict.fromkeys(terminals) | dict(live_origin.list_unrecorded(self.store))

    def read_facets(
        self,
        sessions: Collection[Session],
        unrecorded: Mapping[Session, LiveStanding | None],
        failed: Collection[tuple[str, str]] | None = None,
    ) -> Mapping[str, Facets]:
        """Return the facets of sessions as `service.sessions.facets` does; none where nothing is known of hosts."""
        if self.paths is None:
            return {}
        return read_facets(self.store, self.paths, sessions, [*filter(None, unrecorded.values())], failed)

    def unknown_values(self, query: Query) -> tuple[str, ...]:
        """Say which accounts, CLIs, models and roles a query names that nothing stored has, and which there are.

        For who has found nothing: it looks at everything.
        """
        names = (FieldName.ACCOUNT, FieldName.CLI, FieldName.MODEL, FieldName.ROLE)
        asked = [one for one in query.of(*names) if not one.is_negated]
        found = list_sessions(self.store) if asked else ()
        return tuple(text for one in asked if (text := unknown_value(one, self._texts(one.name, found))) is not None)

    def _texts(self, name: FieldName, found: Iterable[Session]) -> Iterable[str | None]:
        if name is FieldName.ROLE:
            return facts.roles(self.store)
        if name is FieldName.ACCOUNT:
            return {part.account for one in found for part in one.parts}
        return {text for one in found for text in field_texts(name, one, self.kinds.of(one)) or ()}

    def look(self, session: Session, facets: Mapping[str, Facets] | None = None) -> ListedSession:
        """Look at a session's transcript: whether it is there, and until when. facets: by chain."""
        own = RECORDED if facets is None else facets.get(session.chain_id, RECORDED)
        kind = self.kinds.of(session)
        path = session.active.transcript
        if path is None:
            return ListedSession(session, kind, None, facets=own)
        standing = transcript_head.look_at(path)
        if standing is None:
            return ListedSession(session, kind, has_transcript=False, facets=own)
        gone_at = purge_at(kind, standing.mtime_ms, self._keeps_days(path))
        return ListedSession(
            session, kind, has_transcript=True, size_bytes=standing.size_bytes, purge_at=gone_at, facets=own
        )

    def _keeps_days(self, transcript: str) -> float | None:
        root, _, below = transcript.rpartition("/projects/")
        if not below:
            return None
        if root not in self._periods:
            self._periods[root] = transcript_head.keeps_days(transcript)
        return self._periods[root]

    def _describe(self, one: facts.Undescribed, asked: _ScriptBudget) -> facts.Description:
        path = facts.transcript_of(self.store, one.account, one.session_id)
        title, cwd, model, forked_from = one.title, one.cwd, one.cli_model, one.forked_from
        live = live_origin.find_origin(self.store, one.account, one.session_id)
        if live is not None and live.forked_from:  # its transcript may tell of none, or has the words of several
            title = live.title or title
            forked_from = live.forked_from
        if live is not None and not path:
            title, cwd, model = title or live.title, cwd or live.workspace, model or live.cli_model
        locator = self._asks(one.account)
        if path is None and cwd is None and locator is not None:
            with asked.of(one.account):
                path, cwd = _ask(locator, one)
        told = path or facts.transcript_of(self.store, one.account, one.session_id, of_side_chain=True)
        head = transcript_head.Head()
        if told is not None and (forked_from or None in (cwd, model, forked_from)):  # live forks tell no history
            head = transcript_head.read_head(told, one.session_id)
            cwd, model, forked_from = cwd or head.cwd, model or head.cli_model, forked_from or head.forked_from
        if cwd is None:
            cwd = invocations.find_folder(self.store, one.account, one.session_id)
        standing = None if path is None else transcript_head.look_at(path)
        is_unknown = not forked_from and (live is None or live.forked_from is None)
        if is_unknown and one.account != OF_FILES:  # of which the file's header says it
            forked_from = facts.find_origin(self.store, one.account, one.session_id)
        return facts.Description(
            of=one,
            title=title or self._title(one),
            cwd=cwd,
            cli_model=model,
            transcript=path,
            size_bytes=None if standing is None else standing.size_bytes,
            mtime_ms=None if standing is None else standing.mtime_ms,
            forked_from=forked_from or "",
            history=head.history,
        )

    def _asks(self, account: str) -> Locator | None:
        """Return what asks an account's storage scripts, None where it has none."""
        known = None if self.locator is None else self.locator.accounts.get(account)
        return None if known is None or known.storage is None else self.locator

    def _title(self, one: facts.Undescribed) -> str | None:
        title = title_of(
            extract_text(body) for body in facts.first_user_bodies(self.store, one.account, one.session_id)
        )
        if title is None:
            return None
        from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, only new sessions need it

        return redact(title)


def _find_place(sessions: Sequence[Session], chain_id: str) -> int:
    for place, session in enumerate(sessions):
        if session.chain_id == chain_id:
            return place
    raise UsageInvalid(f"there is no session {chain_id!r}")


def _risk_fits(query: Query, one: ListedSession) -> bool:
    return risk_fits(query, one.purge_at, is_kept=bool(one.session.has_kept_copy))


def _ask(locator: Locator, one: facts.Undescribed) -> tuple[str | None, str | None]:
    """Ask the storage's own scripts for transcript and folder; what they refuse stays unknown."""
    session = ResolvedSession("", "", one.account, one.session_id, from_text("1970-01-01T00:00:00Z"))
    try:
        transcript, workspace = locator.transcript(session), locator.workspace(session)
    except RunnerError:
        return None, None
    return _storable(transcript.path), _storable(workspace.path)


def _storable(path: Path | None) -> str | None:
    """Return a path as the state file can hold it; one with a byte that is no UTF-8 it cannot."""
    try:
        return None if path is None else os.fsencode(path).decode()
    except UnicodeDecodeError:
        return None

"""Search everything that was said, in every session of every account."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.search import rank
from oulipoly_engine.core.search.query import FieldName, Query, Term
from oulipoly_engine.core.search.snippet import Snippet, places, snippet
from oulipoly_engine.core.sessions.sessions import Part, Session, field_fits
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.entry_text import passages, text_of
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record
from oulipoly_engine.service.sessions.catalogue import Kinds
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.search import index as search_index
from oulipoly_engine.store.search import search as index
from oulipoly_engine.store.sessions.chains import list_deleted
from oulipoly_engine.store.sessions.sessions import list_sessions

STEP_ENTRIES = 2_000
_SPEAKERS = {"me": "user", "agent": "assistant"}  # what a person calls the roles
_REDACTED_AT_ONCE = 20_000  # characters; around the first place in a longer text


class Hit(Record):
    """A turn that was found, and the session that it belongs to."""

    account: str
    session_id: str
    entry_id: str
    row_id: int
    role: str
    timestamp: str
    snippet: Snippet  # without secrets
    kind: str  # claude, codex, opencode, gemini, other
    session: Session | None  # None: its session has no chain
    score: float | None = None  # greater is better; None: by time
    speaker: str = ""  # me, agent, tool; of other roles the role

    @property
    def part(self) -> Part | None:
        """Return the segment of its session in which it was said."""
        parts = () if self.session is None else self.session.parts
        key = (self.account, self.session_id)
        return next((part for part in parts if (part.account, part.session_id) == key), None)


class Found(Record):
    """What came of a search."""

    hits: tuple[Hit, ...]
    unindexed: int  # turns that are not searched yet
    cut: int = 0  # entries whose texts are so long that only their beginnings are searched


def catch_up(store: Store, budget_s: float | None = None, step: Callable[[int], None] | None = None) -> int:
    """Index turns that are new, and return about how many are left.

    Works in short transactions, so that other processes can write between; several may do it at once.
    budget_s: stop after so long; None: never. step: called each time that STEP_TURNS or more were indexed.
    """
    deadline = None if budget_s is None else time.monotonic() + budget_s
    untold = 0
    while True:
        # Of a former index a piece each time, so that the new one fills its place in the file.
        is_cleared, indexed = search_index.clear_batch(store), search_index.index_batch(store)
        if not (is_cleared or indexed):
            break
        untold += indexed
        if step is not None and untold >= STEP_ENTRIES:
            step(untold)
            untold = 0
        if deadline is not None and time.monotonic() > deadline:
            break
    return search_index.state(store).behind


def search(store: Store, query: Query, kinds: Kinds, limit: int, *, by_rank: bool = False, width: int = 160) -> Found:
    """Return turns that a query fits, the newest first; by rank: the best ones among the newest RANKED_AMONG.

    width: of the snippets, in characters.
    """
    for flag in query.list_flags:
        message = f"is:{flag} is asked of the list of sessions: `session list is:{flag}`, or the app's / filter"
        raise UsageInvalid(message)
    ranked = by_rank and any(not term.is_negated for term in query.terms)
    wanted = _resolve_scope(store, query, kinds)
    matches: Sequence[index.Match] = index.search(store, wanted, max(limit, rank.RANKED_AMONG) if ranked else limit)
    scores: dict[int, float] = {}  # by row
    if ranked:
        told = rank.scores([text_of(match.body) for match in matches], query.terms)
        scores = {match.row_id: score for match, score in zip(matches, told, strict=True)}
        matches = sorted(matches, key=lambda match: -scores[match.row_id])  # stable: the newest first among equals
    found, chains = _distinct(store, matches, limit)
    asked = limit
    while not ranked and len(found) < limit and len(matches) == asked:  # copies took the places of others
        asked *= 2
        matches = index.search(store, wanted, asked)
        found, chains = _distinct(store, matches, limit)
    used = {chains.get((match.account, match.session_id), "") for match in found}
    known = {one.chain_id: one for one in list_sessions(store, used - {""})}
    hits = (
        _hit(
            match,
            scores.get(match.row_id),
            known.get(chains.get((match.account, match.session_id), "")),
            kinds,
            query.terms,
            width,
        )
        for match in found
    )
    state = search_index.state(store)
    return Found(tuple(hits), state.behind, state.cut)


def _distinct(
    store: Store, matches: Sequence[index.Match], limit: int
) -> tuple[list[index.Match], dict[tuple[str, str], str]]:
    """Return the first matches, and the chains of their sessions.

    A turn that was copied as its session moved is one hit, that of the account where it was read last.
    """
    chains = index.chains_of(store, {(match.account, match.session_id) for match in matches})
    deleted = list_deleted(store)
    if deleted:
        matches = [each for each in matches if chains.get((each.account, each.session_id)) not in deleted]
    return _once(matches, chains)[:limit], chains


def _once(matches: Sequence[index.Match], chains: Mapping[tuple[str, str], str]) -> list[index.Match]:
    def key(match: index.Match) -> tuple[str, ...]:
        chain = chains.get((match.account, match.session_id), f"{match.account}\n{match.session_id}")
        return chain, match.entry_id, match.role, match.timestamp

    latest: dict[tuple[str, ...], int] = {}
    for match in matches:
        latest[key(match)] = max(match.row_id, latest.get(key(match), 0))
    return [match for match in matches if not match.entry_id or latest[key(match)] == match.row_id]


def _hit(
    match: index.Match,
    score: float | None,
    session: Session | None,
    kinds: Kinds,
    terms: Sequence[Term],
    width: int,
) -> Hit:
    kind = kinds.of_account(match.account, None if session is None else session.active.transcript)
    shown = snippet(_safe(text_of(match.body), terms), terms, width)
    return Hit(
        match.account,
        match.session_id,
        match.entry_id,
        match.row_id,
        match.role,
        match.timestamp,
        shown,
        kind,
        session,
        score,
        _find_speaker(match, terms),
    )


def _find_speaker(match: index.Match, terms: Sequence[Term]) -> str:
    """Return who says what was found: CLIs file what a tool gives under the role of a user or an assistant."""
    said = passages(match.body)
    found = [passage for passage in said if places(passage.text, terms)] or said
    if found and not any(passage.is_plain for passage in found):
        return "tool"
    return next((name for name, role in _SPEAKERS.items() if role == match.role), match.role)


def _safe(text: str, terms: Sequence[Term]) -> str:
    """Return the text, or of a long one what lies around the first place, without secrets."""
    if len(text) > _REDACTED_AT_ONCE:
        first = next(iter(places(text, terms)), (0, 0))[0]
        begin = max(0, first - _REDACTED_AT_ONCE // 2)
        text = text[begin : begin + _REDACTED_AT_ONCE]
    return redact(text)


def _read_roles(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(_SPEAKERS.get(name, name) for name in names)


def _resolve_scope(store: Store, query: Query, kinds: Kinds) -> index.SearchScope:
    """Resolve what only configuration, facts and notes know into accounts and sessions."""
    roles = query.of(FieldName.ROLE)
    sessions: index.Sessions | None = None
    since, until = query.since, query.until
    accounts = _accounts(store, query, kinds)
    if query.of(FieldName.MODEL, FieldName.CWD, FieldName.SESSION) or query.pinned is not None:
        sessions = index.sessions(store, query.fields, pinned=query.pinned, accounts=accounts)
        since, until = _narrow_time(sessions, since, until)
        accounts = None  # the sessions are theirs
    return index.SearchScope(
        terms=query.terms,
        accounts=accounts,
        sessions=None if sessions is None else sessions.numbers,
        roles=next((_read_roles(field.values) for field in roles if not field.is_negated), None),
        not_roles=next((_read_roles(field.values) for field in roles if field.is_negated), ()),
        sidechain=query.sidechain,
        since=since,
        until=until,
    )


def _accounts(store: Store, query: Query, kinds: Kinds) -> frozenset[str] | None:
    fields = query.of(FieldName.ACCOUNT, FieldName.CLI)
    if not fields:
        return None

    def fits(name: str, transcript: str | None) -> bool:
        texts = {FieldName.ACCOUNT: name, FieldName.CLI: kinds.of_account(name, transcript)}
        return all(field_fits(field, (texts[field.name],)) for field in fields)

    return frozenset(name for name, transcript in index.accounts(store).items() if fits(name, transcript))


def _narrow_time(
    sessions: index.Sessions, since: datetime | None, until: datetime | None
) -> tuple[datetime | None, datetime | None]:
    """Narrow the time to when the sessions had entries: a common word elsewhere must not be looked up by match."""
    if sessions.first_entry_at is None or sessions.last_entry_at is None:
        return since, until
    first, behind = from_text(sessions.first_entry_at), from_text(sessions.last_entry_at) + timedelta(seconds=1)
    return first if since is None else max(since, first), behind if until is None else min(until, behind)

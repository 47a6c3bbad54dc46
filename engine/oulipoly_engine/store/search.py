"""Search the full-text index. What a user types never becomes SQL, nor syntax of the index: every word is quoted.

The index is walked from its newest turn and left after the last one that is asked for; nothing is cut off, so two kinds
of queries take longer than a few milliseconds among a million turns. A beginning of five letters and more has no index
of its own (migration 10): some 0.4 us for each turn that holds such a word. A phrase of words that most turns hold, but
that hardly one says together, is looked for in all of them: 250 ms.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.cjk import has_runs, paired_phrase
from oulipoly_engine.core.conversations import glob_of
from oulipoly_engine.core.query import Field, FieldName, Term
from oulipoly_engine.store.db import Store
from oulipoly_engine.store.search_index import PER_SECOND, state

# So many are told to the index, some 50 us each to open; more are looked up match by match, 2 us each.
_FEW_SESSIONS = 400

SessionKey = tuple[str, str]  # account, session id


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look for, with everything resolved that only configuration or other tables know."""

    terms: tuple[Term, ...] = ()
    accounts: frozenset[str] | None = None  # None: any
    not_accounts: frozenset[str] = frozenset()
    roles: tuple[str, ...] | None = None
    not_roles: tuple[str, ...] = ()
    sessions: frozenset[SessionKey] | None = None  # None: any
    sidechain: bool | None = None
    since: datetime | None = None
    until: datetime | None = None  # exclusive


@dataclass(frozen=True, slots=True)
class Match:
    """A turn that was found."""

    row_id: int
    account: str
    session_id: str
    turn_id: str
    role: str
    timestamp: str
    body: str | None


def search(store: Store, wanted: Wanted, limit: int) -> tuple[Match, ...]:
    """Return matches, the newest first."""
    if (wanted.sessions is not None and not wanted.sessions) or wanted.accounts == frozenset():
        return ()
    with store.read():
        few = wanted.sessions if wanted.sessions is not None and len(wanted.sessions) <= _FEW_SESSIONS else None
        conditions, given = _conditions(store, wanted)
        # A turn with signs of Chinese or Japanese is in the index of pairs, whole.
        is_paired = any(has_runs(term.text) for term in wanted.terms if not term.is_negated)
        if not is_paired:
            wanted, never = _without_pairs(wanted)
            if never:
                conditions += (
                    " AND f.rowid NOT IN (SELECT rowid FROM turn_search_pairs WHERE turn_search_pairs MATCH ?)"
                )
                given.append(never)
        question = _NEWEST.format(table="turn_search_pairs" if is_paired else "turn_search", conditions=conditions)
        found = store.rows(question, (_expression(wanted, few), *given, limit))
    return tuple(
        sorted((Match(*row) for row in found), key=lambda match: (match.timestamp, match.row_id), reverse=True)
    )


class SessionTexts(NamedTuple):
    """What fields compare of a session; a named tuple, since every session's is made at once."""

    account: str
    session_id: str
    cwd: str | None
    cli_model: str | None
    chain_id: str
    model: str
    is_pinned: bool
    first_turn_at: str | None
    last_turn_at: str | None


# Each narrows the segments alone, before anything is joined to them: two joins of ten thousand rows take 15 ms. The
# signs `+` keep SQLite from looking each session up in another index, which takes three times as long.
_OF_FACTS = "(+s.provider_name, +s.session_id) IN (SELECT account, session_id FROM session_facts WHERE {} {})"
_LIKE = "LIKE ? ESCAPE '!'"
_COMPARED = {
    FieldName.CWD: (_OF_FACTS.format("cwd", _LIKE),),
    FieldName.MODEL: (
        f"+s.chain_id IN (SELECT chain_id FROM session_chains WHERE model_name {_LIKE})",  # noqa: S608 - our own words
        _OF_FACTS.format("cli_model", _LIKE),
    ),
    FieldName.SESSION: (f"s.chain_id {_LIKE}", f"s.session_id {_LIKE}"),
}


def session_texts(store: Store, fields: Iterable[Field] = (), *, pinned: bool = False) -> list[SessionTexts]:
    """Return what fields compare, of every chain's every session that may fit; the caller looks closer.

    pinned: pinned ones alone.
    """
    conditions, given = ["n.pinned_at IS NOT NULL"] if pinned else [], []  # type: tuple[list[str], list[str]]
    for field in fields:
        ways = _COMPARED.get(field.name, ())
        if ways and not field.is_negated:
            conditions.append(f"({' OR '.join(way for way in ways for _ in field.values)})")
            given += [_like(glob_of(field.name, value)) for _ in ways for value in field.values]
    narrowed = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = store.rows(
        "SELECT s.provider_name, s.session_id, f.cwd, f.cli_model, c.chain_id, c.model_name, n.pinned_at IS NOT NULL,"  # noqa: S608 - our own words
        " f.first_turn_at, f.last_turn_at"
        " FROM session_chain_segments s CROSS JOIN session_chains c ON c.chain_id = s.chain_id"
        " LEFT JOIN session_facts f ON f.account = s.provider_name AND f.session_id = s.session_id"
        f" LEFT JOIN conversation_notes n ON n.chain_id = s.chain_id{narrowed}",
        given,
    )
    return list(map(SessionTexts._make, rows))


def _like(glob: str) -> str:
    """Return a pattern for LIKE that fits at least what a glob fits: it knows cases of ASCII letters only."""
    escaped = "".join(f"!{sign}" if sign in "%_!" else sign if sign.isascii() else "%" for sign in glob)
    return escaped.replace("*", "%").replace("\0", "%")


def accounts(store: Store) -> dict[str, str | None]:
    """Return every account that has sessions, with one of its transcripts where any is known."""
    rows = store.rows("SELECT account, MAX(transcript) FROM session_facts GROUP BY account")
    return {str(name): transcript for name, transcript in rows}


def chains_of(store: Store, keys: Collection[SessionKey]) -> dict[SessionKey, str]:
    """Return the chain of each session, the latest used one where there are several."""
    wanted = json.dumps([list(key) for key in sorted(keys)])
    rows = store.rows(
        "SELECT s.provider_name, s.session_id, s.chain_id FROM json_each(?) j JOIN session_chain_segments s"
        " ON s.session_id = json_extract(j.value, '$[1]') AND s.provider_name = json_extract(j.value, '$[0]')"
        " JOIN session_chains c ON c.chain_id = s.chain_id ORDER BY c.last_used_at, s.started_at, s.chain_id DESC",
        (wanted,),
    )
    return {(str(account), str(session)): str(chain) for account, session, chain in rows}


_COLUMNS = "t.id, t.provider_name, t.session_id, t.turn_id, t.role, t.timestamp, t.body"
# CROSS JOIN: the index must be walked from its newest match and the rest looked up, never the other way round.
_NEWEST = (
    f"SELECT {_COLUMNS} FROM {{table}} f CROSS JOIN search_docs d CROSS JOIN session_turns t"  # noqa: S608 - our own words
    " WHERE {table} MATCH ? AND d.doc = f.rowid AND t.id = d.turn {conditions} ORDER BY f.rowid DESC LIMIT ?"
)


def _without_pairs(wanted: Wanted) -> tuple[Wanted, str]:
    """Return what is wanted without Chinese and Japanese words that must not be there, and an expression of these."""
    never = [term for term in wanted.terms if has_runs(term.text)]
    kept = tuple(term for term in wanted.terms if term not in never)
    return replace(wanted, terms=kept), " OR ".join(f"({_text(term)})" for term in never)


def _expression(wanted: Wanted, sessions: Collection[SessionKey] | None) -> str:
    """Return the index's expression: what must be there, then `NOT` what must not."""
    must = [_text(term) for term in wanted.terms if not term.is_negated]
    if wanted.accounts is not None:
        must.append(_tags(_tag("a", account) for account in sorted(wanted.accounts)))
    if wanted.roles is not None:
        must.append(_tags(_role(role) for role in wanted.roles))
    if sessions is not None:  # their accounts are compared in the rows: here that made it eight times as slow
        must.append(_tags(sorted({_tag("s", session) for _, session in sessions})))
    if wanted.sidechain is not None or not must:
        must.append(
            _tags(['"k1"'] if wanted.sidechain else ['"k0"'] if wanted.sidechain is False else ['"k0"', '"k1"'])
        )
    never = [_text(term) for term in wanted.terms if term.is_negated]
    never += [_tags([_tag("a", account)]) for account in sorted(wanted.not_accounts)]
    never += [_tags([_role(role)]) for role in wanted.not_roles]
    together = " AND ".join(f"({one})" for one in must)
    return f"({together}) NOT ({' OR '.join(never)})" if never else together


def _text(term: Term) -> str:
    words, is_prefix = term.text.replace('"', " ").replace("\0", " "), term.is_prefix
    if has_runs(words):
        words, is_prefix = paired_phrase(words, is_prefix=is_prefix)
    return f'{{text}}: "{words}"{"*" if is_prefix else ""}'


def _tags(quoted: Iterable[str]) -> str:
    return f"{{tags}}: ({' OR '.join(quoted)})"


def _tag(kind: str, value: str) -> str:
    return f'"{kind}{value.encode().hex()}"'


def _role(value: str) -> str:
    begin, star, _ = value.partition("*")
    return f"{_tag('r', begin)}{star}"


def _conditions(store: Store, wanted: Wanted) -> tuple[str, list[object]]:
    parts: list[str] = []
    given: list[object] = []
    if wanted.since is not None:
        parts += ["AND f.rowid >= ?", "AND t.timestamp >= ?"]
        given += [_number(wanted.since), to_text(wanted.since)]
    if wanted.until is not None:
        parts += ["AND f.rowid <= ?", "AND t.timestamp < ?"]
        given += [_number(wanted.until) + PER_SECOND + state(store).most_spill, to_text(wanted.until)]
    if wanted.sessions is not None:
        parts.append(
            "AND (t.provider_name, t.session_id) IN"
            " (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))"
        )
        given.append(json.dumps([list(key) for key in wanted.sessions]))
    return " ".join(parts), given


def _number(instant: datetime) -> int:
    return int(instant.timestamp() // 1) * PER_SECOND

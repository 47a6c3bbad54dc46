"""Search the full-text index. What a user types never becomes SQL, nor syntax of the index: every word is quoted.

The index is walked from its newest entry and left after the last one that is asked for; nothing is cut off, so two
kinds of queries take longer than a few milliseconds among a million entries. A beginning of five letters and more has
no index of its own (migration 10): some 0.4 us for each turn that holds such a word. A phrase of words that most
entries hold, but that hardly one says together, is looked for in all of them: 250 ms.

What asks the index is SQL, since no other database has it. The rest asks with models.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import product

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.search.cjk import has_runs, pair_phrase
from oulipoly_engine.core.search.query import Field, FieldName, Term
from oulipoly_engine.core.sessions.sessions import field_fits, glob_of
from oulipoly_engine.records import Record, replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import fn
from oulipoly_engine.store.models.search import SearchSessionRow
from oulipoly_engine.store.models.sessions import ChainRow, FactsRow, SegmentRow
from oulipoly_engine.store.search.index import PER_SECOND, state

# So many are told to the index, some 50 us each to open; more are looked up match by match, 1 us each.
_FEW_SESSIONS = 400

SessionKey = tuple[str, str]  # account, session id


class SearchScope(Record):
    """What to look for, with everything resolved that only configuration or other tables know."""

    terms: tuple[Term, ...] = ()
    accounts: frozenset[str] | None = None  # None: any
    not_accounts: frozenset[str] = frozenset()
    roles: tuple[str, ...] | None = None
    not_roles: tuple[str, ...] = ()
    sessions: frozenset[int] | None = None  # their numbers in the index; None: any
    sidechain: bool | None = None
    since: datetime | None = None
    until: datetime | None = None  # exclusive


class Match(Record):
    """A turn that was found."""

    row_id: int
    account: str
    session_id: str
    entry_id: str
    role: str
    timestamp: str
    body: str | None


def search(store: Store, wanted: SearchScope, limit: int) -> tuple[Match, ...]:
    """Return matches, the newest first."""
    if (wanted.sessions is not None and not wanted.sessions) or wanted.accounts == frozenset():
        return ()
    with store.read():
        few = wanted.sessions if wanted.sessions is not None and len(wanted.sessions) <= _FEW_SESSIONS else None
        ids = None if few is None else _ids(store, few)
        conditions, given = _conditions(store, wanted)
        # An entry with signs of Chinese or Japanese is in the index of pairs, whole.
        is_paired = any(has_runs(term.text) for term in wanted.terms if not term.is_negated)
        if not is_paired:
            wanted, never = _without_pairs(wanted)
            if never:
                conditions += " AND f.rowid NOT IN (SELECT rowid FROM search_pairs WHERE search_pairs MATCH ?)"
                given.append(never)
        question = _NEWEST.format(table="search_pairs" if is_paired else "search_words", conditions=conditions)
        found = store.rows(question, (_expression(wanted, ids), *given, limit))
    return tuple(
        sorted((Match(*row) for row in found), key=lambda match: (match.timestamp, match.row_id), reverse=True)
    )


class Sessions(Record):
    """Sessions that fields fit, and when they had entries."""

    numbers: frozenset[int]
    first_entry_at: str | None  # None: not known of all of them
    last_entry_at: str | None


_FACTS, _SEGMENTS = "session_facts f", "session_chain_segments s"
_SAME = "f.account = s.provider_name AND f.session_id = s.session_id"
_NUMBERS = "SELECT x.number, f.first_turn_at, f.last_turn_at FROM {} WHERE {}"
_OF_FACTS = "CROSS JOIN search_sessions x ON x.session_id = f.session_id AND x.account = f.account"
_OF_SEGMENT = "CROSS JOIN search_sessions x ON x.session_id = s.session_id AND x.account = s.provider_name"
_IN = "{} IN (SELECT value FROM json_each(?))"
_PINNED = "s.chain_id {} (SELECT chain_id FROM conversation_notes WHERE pinned_at IS NOT NULL)"
# What a field is compared with: a column, its table, and the condition on a session by the texts that fit.
_COMPARED = {
    FieldName.CWD: (("cwd", "session_facts", _IN.format("f.cwd")),),
    FieldName.MODEL: (
        # Not a join: it would look up the chain of every session.
        (
            "model_name",
            "session_chains",
            f"s.chain_id IN (SELECT chain_id FROM session_chains WHERE {_IN.format('model_name')})",  # noqa: S608 - ours
        ),
        ("cli_model", "session_facts", _IN.format("f.cli_model")),
    ),
    FieldName.SESSION: (
        ("chain_id", "session_chain_segments", _IN.format("s.chain_id")),
        ("session_id", "session_chain_segments", _IN.format("s.session_id")),
    ),
}

_Condition = tuple[str, str | None]  # and the JSON that it is given


def sessions(
    store: Store, fields: Iterable[Field], *, pinned: bool | None = None, accounts: Collection[str] | None = None
) -> Sessions:
    """Return the sessions that fit all fields which compare folders, models and ids of sessions.

    A session without a chain is found by its folder and its CLI's model alone.
    Each field is held against every text once, however many sessions have it.
    pinned: those of pinned chains alone, or of others alone. accounts: of these alone; None: of all.
    """
    ways: list[list[tuple[_Condition, ...]]] = []
    if pinned is not None:
        ways.append([((_PINNED.format("IN" if pinned else "NOT IN"), None),)])
    ways += [_ways(store, field) for field in fields if field.name in _COMPARED]
    owned = [] if accounts is None else [(_IN.format("x.account"), json.dumps(sorted(accounts)))]
    rows = [
        row
        for one in product(*ways)
        for row in _numbers(store, [*(condition for way in one for condition in way), *owned])
    ]
    if not rows:
        return Sessions(frozenset(), None, None)
    numbers, firsts, lasts = zip(*rows, strict=True)
    is_known = all(isinstance(instant, str) for instant in (*firsts, *lasts))
    return Sessions(frozenset(numbers), min(firsts) if is_known else None, max(lasts) if is_known else None)


def _ways(store: Store, field: Field) -> list[tuple[_Condition, ...]]:
    """Return the ways to fit a field, each with conditions of which all must hold; negated, there is one way."""
    wanted = replace(field, is_negated=False)
    found = []
    for column, table, condition in _COMPARED[field.name]:
        fitting = [text for text in _texts(store, column, table, field) if field_fits(wanted, (text,))]
        if fitting:
            found.append((condition, json.dumps(fitting)))
    if field.is_negated:  # what is not known fits
        return [tuple((f"NOT COALESCE({condition}, 0)", given) for condition, given in found)]
    return [(condition,) for condition in found]


def _texts(store: Store, column: str, table: str, field: Field) -> list[str]:
    """Return a column's texts, each once; of ids, which are many, at least those that may fit."""
    narrowed, given = "", []  # type: tuple[str, list[str]]
    if field.name is FieldName.SESSION:
        like = f"{column} LIKE ? ESCAPE '!'"
        narrowed = f" WHERE {' OR '.join([like] * len(field.values))}"
        given = [_like(glob_of(field.name, value)) for value in field.values]
    rows = store.rows(f"SELECT DISTINCT {column} FROM {table}{narrowed}", given)  # noqa: S608 - our own words
    return [text for (text,) in rows if text and isinstance(text, str)]  # a damaged one fits nothing


def _numbers(store: Store, conditions: Sequence[_Condition]) -> list[tuple[int, str | None, str | None]]:
    """Return the numbers of sessions and when they had entries."""
    # SQL, since what comes first is told, in SQLite's way: it would look up the facts of every segment. One table less
    # saves a third.
    by_facts = any(condition.startswith("f.") for condition, _ in conditions)
    by_segment = any("s.chain_id" in condition or "s.session_id" in condition for condition, _ in conditions)
    if by_facts:
        joined = f"{_FACTS} {_OF_FACTS}" + (f" CROSS JOIN {_SEGMENTS} ON {_SAME}" if by_segment else "")
    else:
        joined = f"{_SEGMENTS} LEFT JOIN {_FACTS} ON {_SAME} {_OF_SEGMENT}"
    together = " AND ".join(condition for condition, _ in conditions) or "1"
    given = [texts for _, texts in conditions if texts is not None]
    return store.rows(_NUMBERS.format(joined, together), given)


def numbers_of(store: Store, keys: Iterable[SessionKey]) -> frozenset[int]:
    """Return the numbers that sessions have in the index; none for those without an entry in it."""
    row, wanted = SearchSessionRow, frozenset(keys)
    ids = sorted({session for _, session in wanted})
    rows = store.rows(row.select(row.number, row.account, row.session_id).where(row.session_id.in_(each_of(ids))))
    return frozenset(number for number, *key in rows if tuple(key) in wanted)


def _ids(store: Store, numbers: Collection[int]) -> list[str]:
    row = SearchSessionRow
    rows = store.rows(row.select(row.session_id).distinct().where(row.number.in_(each_of(numbers))))
    return sorted(session for (session,) in rows)


def _like(glob: str) -> str:
    """Return a pattern for LIKE that fits at least what a glob fits: it knows cases of ASCII letters only."""
    escaped = "".join(f"!{sign}" if sign in "%_!" else sign if sign.isascii() else "%" for sign in glob)
    return escaped.replace("*", "%").replace("\0", "%")


def accounts(store: Store) -> dict[str, str | None]:
    """Return every account that has sessions, with one of its transcripts where any is known."""
    row = FactsRow
    rows = store.rows(row.select(row.account, fn.MAX(row.transcript)).group_by(row.account))
    return {str(name): transcript for name, transcript in rows}


def chains_of(store: Store, keys: Collection[SessionKey]) -> dict[SessionKey, str]:
    """Return the chain of each session, the latest used one where there are several."""
    segment, chain = SegmentRow, ChainRow
    rows = store.rows(
        segment.select(segment.provider_name, segment.session_id, segment.chain_id)
        .join(chain, on=chain.chain_id == segment.chain_id)
        .where(segment.session_id.in_(each_of(sorted({session for _, session in keys}))))
        .order_by(chain.last_used_at, segment.started_at, segment.chain_id.desc())
    )
    wanted = frozenset(keys)
    return {(account, session): str(chain) for account, session, chain in rows if (account, session) in wanted}


_COLUMNS = "t.id, t.provider_name, t.session_id, t.turn_id, t.role, t.timestamp, t.body"
# CROSS JOIN: the index must be walked from its newest match and the rest looked up, never the other way round.
_NEWEST = (
    f"SELECT {_COLUMNS} FROM {{table}} f CROSS JOIN search_numbers d CROSS JOIN session_turns t"  # noqa: S608 - our own words
    " WHERE {table} MATCH ? AND d.doc = f.rowid AND t.id = d.turn {conditions} ORDER BY f.rowid DESC LIMIT ?"
)


def _without_pairs(wanted: SearchScope) -> tuple[SearchScope, str]:
    """Return what is wanted without Chinese and Japanese words that must not be there, and an expression of these."""
    never = [term for term in wanted.terms if has_runs(term.text)]
    kept = tuple(term for term in wanted.terms if term not in never)
    return replace(wanted, terms=kept), " OR ".join(f"({_text(term)})" for term in never)


def _expression(wanted: SearchScope, session_ids: Iterable[str] | None) -> str:
    """Return the index's expression: what must be there, then `NOT` what must not."""
    must = [_text(term) for term in wanted.terms if not term.is_negated]
    if wanted.accounts is not None:
        must.append(_tags(_tag("a", account) for account in sorted(wanted.accounts)))
    if wanted.roles is not None:
        must.append(_tags(_role(role) for role in wanted.roles))
    if session_ids is not None:  # their accounts are told by their numbers: here that made it eight times as slow
        must.append(_tags(_tag("s", session) for session in session_ids))
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
        words, is_prefix = pair_phrase(words, is_prefix=is_prefix)
    return f'{{text}}: "{words}"{"*" if is_prefix else ""}'


def _tags(quoted: Iterable[str]) -> str:
    return f"{{tags}}: ({' OR '.join(quoted)})"


def _tag(kind: str, value: str) -> str:
    return f'"{kind}{value.encode().hex()}"'


def _role(value: str) -> str:
    begin, star, _ = value.partition("*")
    return f"{_tag('r', begin)}{star}"


def _conditions(store: Store, wanted: SearchScope) -> tuple[str, list[object]]:
    parts: list[str] = []
    given: list[object] = []
    if wanted.since is not None:
        parts += ["AND f.rowid >= ?", "AND t.timestamp >= ?"]
        given += [_number(wanted.since), to_text(wanted.since)]
    if wanted.until is not None:
        parts += ["AND f.rowid <= ?", "AND t.timestamp < ?"]
        given += [_number(wanted.until) + PER_SECOND + state(store).most_spill, to_text(wanted.until)]
    if wanted.sessions is not None:
        parts.append("AND d.session IN (SELECT value FROM json_each(?))")
        given.append(json.dumps(list(wanted.sessions)))
    return " ".join(parts), given


def _number(instant: datetime) -> int:
    return int(instant.timestamp() // 1) * PER_SECOND

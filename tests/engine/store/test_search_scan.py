"""The index and the narrowed lists give what looking at every entry and every session gives."""

import contextlib
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.search.query import Field, FieldName, Term
from oulipoly_engine.core.search.snippet import fold
from oulipoly_engine.core.sessions.sessions import Sort, field_fits, sort_sessions
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.search import index
from oulipoly_engine.store.search.search import SearchScope, numbers_of, search, sessions
from oulipoly_engine.store.sessions import facts, imported
from oulipoly_engine.store.sessions.sessions import latest, list_sessions
from oulipoly_engine.store.transcripts import entries

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ACCOUNTS, SESSIONS, ROLES = ("acc", "other"), ("S", "T", "U"), ("user", "assistant")
WORDS = ["con", "Cont", "contrast", "control", "controls", "controlled", "contré", "café", "red", "re"]
SIGNS = "全文検索"


def word_list(text):
    """The text's words as the index has them; a sign of Chinese or Japanese is one."""
    return re.findall(rf"[{SIGNS}]|[^\W_{SIGNS}]+", fold(text))


def holds(text, term):
    held, asked = word_list(text), word_list(term.text)

    def fits(at):
        part = held[at : at + len(asked)]
        last = part[-1].startswith(asked[-1]) if term.is_prefix else part[-1] == asked[-1]
        return part[:-1] == asked[:-1] and last

    return any(fits(at) for at in range(len(held) - len(asked) + 1))


ENTRIES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join) | st.text(SIGNS, min_size=1, max_size=5),
        st.sampled_from(ACCOUNTS),
        st.sampled_from(SESSIONS),
        st.sampled_from(ROLES),
        st.integers(0, 3),
    ),
    max_size=25,
)
PREFIXES = st.builds(
    lambda word, length: Term(word[:length], is_prefix=True), st.sampled_from(WORDS[:-1]), st.integers(3, 8)
)
PHRASES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(lambda words: Term(" ".join(words)))
RUNS = st.text(SIGNS, min_size=1, max_size=3).map(Term)
TERMS = st.lists(st.one_of(PREFIXES, PHRASES, RUNS), min_size=1, max_size=2)
NEVER = st.none() | st.one_of(PREFIXES, PHRASES, RUNS)
KEYS = st.frozensets(st.tuples(st.sampled_from(ACCOUNTS), st.sampled_from(SESSIONS)), min_size=1) | st.none()


def stored(path, found):
    """Store entries, one state file for all examples, and return them with the numbers by which they are ordered."""
    store = open_store(path)
    with store.write():
        store.execute("DELETE FROM session_turns")
        for number, (text, account, session, role, second) in enumerate(found):
            body = json.dumps([{"type": "text", "text": text}], ensure_ascii=False)
            at = to_text(NOW + timedelta(seconds=second))
            entries.insert_new(store, account, [EntryLine(session, f"t{number}", at, role, body=body)], NOW)
    while index.index_batch(store, 7):
        pass
    return store


def told_by_the_index(store, terms, never, keys, role, limit):
    wanted = (*terms, *([] if never is None else [Term(never.text, never.is_prefix, is_negated=True)]))
    numbers = None if keys is None else numbers_of(store, keys)
    matches = search(store, SearchScope(wanted, roles=role and (role,), sessions=numbers), limit)
    return [match.entry_id for match in matches]


def told_by_a_scan(found, terms, never, keys, role):
    return {
        f"t{number}": second
        for number, (text, account, session, said_by, second) in enumerate(found)
        if all(holds(text, term) for term in terms)
        and (never is None or not holds(text, never))
        and (keys is None or (account, session) in keys)
        and role in (None, said_by)
    }


QUERIES = st.lists(st.tuples(TERMS, NEVER, KEYS, st.sampled_from((None, *ROLES))), min_size=1, max_size=8)


@given(ENTRIES, QUERIES, st.integers(1, 30))
@settings(max_examples=20, deadline=None)
def test_search_finds_what_a_look_at_every_turn_finds(tmp_path_factory, found, queries, limit):
    store = stored(tmp_path_factory.getbasetemp() / "scan.db", found)
    for query in queries:
        told, fitting = told_by_the_index(store, *query, limit), told_by_a_scan(found, *query)

        assert min(limit, len(fitting)) == len(set(told)) == len(told)
        assert sorted(fitting.values(), reverse=True)[:limit] == [fitting[one] for one in told]
    store.close()


@pytest.fixture(scope="module")
def chains(tmp_path_factory):
    """Sixty sessions: some have two sessions, some were used after their last entry, two are pinned."""
    store = open_store(tmp_path_factory.mktemp("chains") / "state.db")
    sessions = [f"{number * 3 % 70:02d}-session" for number in range(70)]
    with store.write():
        for number, session in enumerate(sessions):
            at = to_text(NOW + timedelta(minutes=number * 11 % 70))
            entries.insert_new(store, "acc", [EntryLine(session, f"t{number}", at, "user")], NOW + timedelta(days=1))
        imported.adopt(store, "acc", sessions)
        names = [name for (name,) in store.rows("SELECT chain_id FROM session_chain_segments ORDER BY session_id")]
        used = [(to_text(NOW + timedelta(minutes=at, seconds=30)), name) for at, name in enumerate(names[::6])]
        store.execute_many("UPDATE session_chains SET last_used_at = ? WHERE chain_id = ?", used)
        store.execute_many(
            "UPDATE session_chain_segments SET chain_id = ? WHERE chain_id = ?", zip(names[10:20], names, strict=False)
        )
        store.execute("UPDATE session_chains SET last_used_at = '2027' WHERE chain_id = ?", (names[0],))
        for name in names[40:42]:
            store.insert("conversation_notes", chain_id=name, pinned_at="2026", changed_at="2026")
    while facts.count_batch(store) or index.index_batch(store):
        pass
    with store.write():
        store.execute(
            "UPDATE session_facts SET cwd = '/Home/' || substr(session_id, 2, 1) || '_É',"
            " cli_model = 'Opus-' || substr(session_id, 1, 1) WHERE session_id NOT LIKE '1%5-session'"
        )
        store.execute("UPDATE session_chains SET model_name = 'Opus-0' WHERE chain_id = ?", (names[30],))
    yield store
    store.close()


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("limit", [1, 5, 33, 70, 500])
def test_the_head_of_the_list_is_the_head_of_the_whole_list(chains, limit):
    leading, total = latest(chains, limit)

    assert 60 == total
    assert {one.chain_id for one in sort_sessions(list_sessions(chains), Sort.USED)[:limit]} == leading


FIELDS = [
    Field(FieldName.CWD, ("/home/3",)),
    Field(FieldName.CWD, ("_é", "nowhere")),
    Field(FieldName.CWD, ("e/*_é",)),
    Field(FieldName.MODEL, ("opus-2",)),
    Field(FieldName.MODEL, ("opus-0", "nobody")),
    Field(FieldName.MODEL, ("nothing",)),
    Field(FieldName.SESSION, ("3", "45-")),
]
COMPARED = {
    FieldName.CWD: lambda row: (row[2],),
    FieldName.MODEL: lambda row: (row[3], row[4]),
    FieldName.SESSION: lambda row: (row[1], row[5]),
}


@given(
    st.lists(st.tuples(st.sampled_from(FIELDS), st.booleans()), max_size=3),
    st.sampled_from((None, True, False)),
)
@settings(max_examples=80, deadline=None)
def test_sessions_are_narrowed_as_by_a_look_at_every_one(chains, chosen, pinned):
    fields = [Field(field.name, field.values, is_negated) for field, is_negated in chosen]
    rows = chains.rows(
        "SELECT x.number, s.session_id, f.cwd, c.model_name, f.cli_model, s.chain_id, n.pinned_at IS NOT NULL"
        " FROM session_chain_segments s JOIN session_chains c USING (chain_id) JOIN search_sessions x"
        " ON x.account = s.provider_name AND x.session_id = s.session_id LEFT JOIN session_facts f"
        " ON f.account = s.provider_name AND f.session_id = s.session_id"
        " LEFT JOIN conversation_notes n ON n.chain_id = s.chain_id"
    )
    fitting = {
        row[0]
        for row in rows
        if pinned in (None, bool(row[6])) and all(field_fits(field, COMPARED[field.name](row)) for field in fields)
    }

    assert 70 == len(rows)
    assert fitting == sessions(chains, fields, pinned=pinned).numbers


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_the_test_above_but_one_finds_some_sessions_and_leaves_out_others(chains, field):
    found = len(sessions(chains, [field]).numbers)

    assert (0 < found < 70) is (field.values != ("nothing",))


def test_when_narrowed_sessions_had_turns_is_told_unless_it_is_not_known_of_all(chains):
    field = Field(FieldName.SESSION, ("30-", "45-"))
    told = "SELECT MIN(first_turn_at), MAX(last_turn_at) FROM session_facts WHERE session_id IN ('30-session', {})"
    found = sessions(chains, [field])
    assert [(found.first_entry_at, found.last_entry_at)] == chains.rows(told.format("'45-session'"))

    with contextlib.suppress(ZeroDivisionError), chains.write():
        chains.execute("DELETE FROM session_facts WHERE session_id = '45-session'")
        found = sessions(chains, [field])
        raise ZeroDivisionError
    assert (2, None, None) == (len(found.numbers), found.first_entry_at, found.last_entry_at)

import contextlib
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.search.query import Term
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.search import index as search_index
from oulipoly_engine.store.search.search import SearchScope, numbers_of, search
from oulipoly_engine.store.transcripts import entries

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def entry(number, text, session="S", seconds=None, **more):
    at = to_text(NOW + timedelta(seconds=number if seconds is None else seconds))
    body = None if text is None else json.dumps([{"type": "text", "text": text}])
    return EntryLine(session, f"t{number}", at, more.pop("role", "user"), body=body, **more)


class Rows:
    """A state file with entries, whole or partly indexed."""

    def __init__(self, path):
        self.store = open_store(path)

    def add(self, *found, account="acc"):
        with self.store.write():
            entries.insert_new(self.store, account, found, NOW)

    def index(self, most=2000):
        while search_index.index_batch(self.store, most):
            pass

    def change(self, sql, *parameters):
        with self.store.write():
            self.store.execute(sql, parameters)

    def found(self, word=None, limit=100, sessions=None, **more):
        terms = () if word is None else (Term(word),)
        more["sessions"] = None if sessions is None else numbers_of(self.store, sessions)
        return [match.entry_id for match in search(self.store, SearchScope(terms, **more), limit)]

    def is_sound(self):
        """Whether the index holds exactly what is stored, told by the index's own words and their counts."""
        self.store.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.held USING fts5vocab(main, search_words, instance)")
        held = self.store.rows("SELECT term, doc, col, offset FROM temp.held ORDER BY 1, 2, 3, 4")
        with self.store.write():
            self.store.execute(
                "CREATE VIRTUAL TABLE fresh USING fts5(text, tags, tokenize = 'unicode61 remove_diacritics 2')"
            )
            self.store.execute(
                "INSERT INTO fresh (rowid, text, tags) SELECT d.doc, s.text, s.tags FROM search_numbers d"
                " JOIN search_source s ON s.turn = d.turn"
            )
            self.store.execute("CREATE VIRTUAL TABLE temp.wanted USING fts5vocab(main, fresh, instance)")
            wanted = self.store.rows("SELECT term, doc, col, offset FROM temp.wanted ORDER BY 1, 2, 3, 4")
            self.store.execute("DROP TABLE temp.wanted")
            self.store.execute("DROP TABLE fresh")
        documents = self.store.rows("SELECT COUNT(*) FROM search_numbers")[0]
        return held == wanted and documents == self.store.rows("SELECT COUNT(*) FROM session_turns")[0]


@pytest.fixture
def rows(tmp_path):
    made = Rows(tmp_path / "state.db")
    yield made
    made.store.close()


def test_newest_turns_come_first_whatever_order_they_were_stored_in(rows):
    rows.add(entry(1, "needle", seconds=30), entry(2, "needle", seconds=10))
    rows.index()
    rows.add(entry(3, "needle", seconds=20))
    rows.index()

    assert ["t1", "t3", "t2"] == rows.found("needle")
    assert ["t1"] == rows.found("needle", limit=1)


def test_nothing_is_found_before_it_is_indexed_and_the_backlog_is_told(rows):
    rows.add(entry(1, "needle"))

    assert [] == rows.found("needle")
    assert 1 == search_index.state(rows.store).behind


def test_words_are_found_without_case_accents_and_as_phrases(rows):
    rows.add(entry(1, "The Café's burn-rate"), entry(2, "rate of burn"))
    rows.index()

    assert ["t1"] == rows.found("cafe")
    assert ["t1"] == rows.found("burn rate")
    assert ["t2", "t1"] == rows.found("burn")


def test_fields_narrow_the_search(rows):
    rows.add(entry(1, "needle"), entry(2, "needle", role="assistant"), entry(3, "needle", is_sidechain=True))
    rows.add(entry(4, "needle", session="T"), account="other")
    rows.index()

    assert ["t4"] == rows.found("needle", accounts=frozenset({"other"}))
    assert ["t2"] == rows.found("needle", roles=("assistant",))
    assert ["t2"] == rows.found("needle", roles=("ass*",))
    assert ["t4", "t3", "t1"] == rows.found("needle", not_roles=("assistant",))
    assert ["t3"] == rows.found("needle", sidechain=True)
    assert ["t4"] == rows.found("needle", sessions=frozenset({("other", "T")}))
    assert [] == rows.found("needle", sessions=frozenset())
    assert ["t4", "t3", "t2", "t1"] == rows.found()


def test_many_sessions_narrow_as_few_do(rows):
    rows.add(*(entry(number, "needle", session=f"S{number}") for number in range(1000)))
    rows.index()
    wanted = frozenset(("acc", f"S{number}") for number in range(0, 1000, 2))

    assert [f"t{number}" for number in range(998, -1, -2)] == rows.found("needle", limit=500, sessions=wanted)


def test_a_session_is_told_from_one_of_the_same_id_on_another_account(rows):
    rows.add(entry(1, "needle"), entry(2, "needle", session="T"))
    rows.add(entry(3, "needle"), account="other")
    rows.index()

    assert ["t3"] == rows.found("needle", sessions=frozenset({("other", "S")}))
    assert ["t2", "t1"] == rows.found("needle", sessions=frozenset({("acc", "S"), ("acc", "T")}))


def test_dates_are_exact_also_where_many_turns_share_a_second(rows):
    rows.add(*(entry(number, "needle", seconds=0) for number in range(40)), entry(99, "needle", seconds=1))
    rows.index(most=7)
    second = timedelta(seconds=1)

    assert 40 == len(rows.found("needle", since=NOW, until=NOW + second))
    assert ["t99"] == rows.found("needle", since=NOW + second)
    assert [] == rows.found("needle", until=NOW)
    assert rows.is_sound()


def test_deleted_turns_are_forgotten_and_stored_again_are_found_again(rows):
    rows.add(*(entry(number, f"old {number}") for number in range(6)))
    rows.index()
    rows.change("DELETE FROM session_turns WHERE id > 2")
    rows.add(entry(3, "new 3"), entry(4, "new 4"))  # with the ids of those that are gone

    assert ["t1", "t0"] == rows.found("old")
    rows.index()
    assert ["t4", "t3"] == rows.found("new")
    assert rows.is_sound()


def test_a_session_that_is_replaced_in_one_transaction_is_found_as_it_is_then(rows):
    rows.add(*(entry(number, f"old {number}") for number in range(4)), entry(9, "other", session="T"))
    rows.index(most=3)
    with rows.store.write():
        rows.store.execute("DELETE FROM session_turns WHERE session_id = 'S'")
        entries.insert_new(rows.store, "acc", [entry(1, "edited")], NOW)
    rows.index()

    assert ["t1"] == rows.found("edited")
    assert [] == rows.found("old")
    assert rows.is_sound()


def test_a_changed_body_is_found_by_its_new_words(rows):
    rows.add(entry(1, "before"), entry(2, "unindexed"))
    rows.index(most=1)
    rows.change("""UPDATE session_turns SET body = '[{"type":"text","text":"after"}]' WHERE turn_id = 't1'""")

    assert [] == rows.found("before")
    assert ["t1"] == rows.found("after")
    assert rows.is_sound()


def test_a_transaction_that_is_rolled_back_leaves_the_index_as_it_was(rows):
    rows.add(entry(1, "needle"))
    rows.index()
    with contextlib.suppress(ZeroDivisionError), rows.store.write():
        rows.store.execute("DELETE FROM session_turns")
        raise ZeroDivisionError

    assert ["t1"] == rows.found("needle")
    assert rows.is_sound()


@pytest.mark.parametrize(
    "body", [None, "no json", "[1, 2]", '"text"', '{"text": "in an object"}', '[{"text": 5}]', "["]
)
def test_bodies_of_any_form_are_stored_indexed_and_deleted(rows, body):
    rows.add(entry(1, "needle"))
    rows.change("UPDATE session_turns SET body = ?", body)
    rows.index()

    assert ["t1"] == rows.found()
    rows.change("DELETE FROM session_turns")
    assert rows.is_sound()


MOST = 1 << 20  # characters of a text that are indexed


def test_of_a_long_text_the_beginning_is_found_and_the_turn_is_counted_until_it_is_gone(rows):
    rows.add(entry(1, "beginning " + "x" * (MOST - 21) + " end unfound"), entry(2, "short unfound"))
    rows.index()

    assert (["t1"], ["t1"], ["t2"]) == (rows.found("beginning"), rows.found("end"), rows.found("unfound"))
    assert 1 == search_index.state(rows.store).cut
    rows.change("DELETE FROM session_turns WHERE turn_id = 't1'")
    assert ([], 0) == (rows.found("end"), search_index.state(rows.store).cut)
    assert rows.is_sound()


def test_a_text_that_grows_or_shrinks_over_the_bound_is_counted_as_it_is_then(rows):
    rows.add(entry(1, "short"))
    rows.index()
    rows.change("UPDATE session_turns SET body = ?", entry(1, "long " * MOST).body)
    assert (["t1"], 1) == (rows.found("long"), search_index.state(rows.store).cut)
    rows.change("UPDATE session_turns SET body = ?", entry(1, "short").body)

    assert (["t1"], [], 0) == (rows.found("short"), rows.found("long"), search_index.state(rows.store).cut)
    assert rows.is_sound()


def test_a_turn_that_gets_another_session_is_found_in_that_one(rows):
    rows.add(entry(1, "needle"))
    rows.index()
    rows.change("UPDATE session_turns SET session_id = 'T'")

    assert [] == rows.found("needle", sessions=[("acc", "S")])
    assert ["t1"] == rows.found("needle", sessions=[("acc", "T")])


def test_long_texts_make_short_batches(rows):
    rows.add(*(entry(number, "word " * 20_000) for number in range(6)))

    assert [2, 2, 2, 0] == [search_index.index_batch(rows.store) for _ in range(4)]


def test_a_former_index_is_taken_away_in_steps_between_which_others_write(rows, monkeypatch):
    monkeypatch.setattr(search_index, "_CLEARED_S", 0.0)
    names = "SELECT name FROM sqlite_master WHERE name LIKE 'turn_search%' AND type = 'table' OR name = 'search_docs'"
    with rows.store.write():  # as it was filled before the migration
        rows.store.execute_many(
            "INSERT INTO turn_search (rowid, text, tags) VALUES (?, ?, 'tag')",
            ((number, " ".join(f"w{number}x{word}" for word in range(99))) for number in range(3000)),
        )
        rows.store.execute_many("INSERT INTO search_docs VALUES (?, ?)", ((number, number) for number in range(3000)))
    rows.add(entry(1, "needle"))
    steps = 0
    while search_index.clear_batch(rows.store):
        steps += 1
        rows.add(entry(10 + steps, "needle"))
    rows.index()

    assert steps > 10
    assert [] == rows.store.rows(names)
    assert steps + 1 == len(rows.found("needle"))
    assert [("ok",)] == rows.store.rows("PRAGMA integrity_check")


@given(st.text(max_size=30), st.booleans(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_no_text_of_a_user_becomes_syntax(tmp_path_factory, word, is_prefix, is_negated):
    path = tmp_path_factory.getbasetemp() / "syntax.db"
    rows = Rows(path)
    if not rows.found():
        rows.add(entry(1, "needle in hay"))
        rows.index()
    terms = (Term(word, is_prefix, is_negated), Term("needle"))

    found = search(rows.store, SearchScope(terms, roles=(word or "r",)), 5)
    rows.store.close()

    assert len(found) <= 1


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 30), st.integers(0, 3)),
        st.tuples(st.just("delete"), st.integers(0, 30)),
        st.tuples(st.just("update"), st.integers(0, 30), st.sampled_from(["red", "green", "blue"])),
        st.tuples(st.just("index"), st.integers(1, 4)),
    ),
    max_size=25,
)


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_index_is_right_after_any_mixture_of_changes(tmp_path_factory, steps):
    rows = Rows(tmp_path_factory.getbasetemp() / "mixture.db")
    rows.change("DELETE FROM session_turns")  # one state file for all examples: making one takes longer than they do
    for kind, *values in steps:
        if kind == "add":
            rows.add(entry(values[0], "red word", seconds=values[1]))
        elif kind == "delete":
            rows.change("DELETE FROM session_turns WHERE turn_id = ?", f"t{values[0]}")
        elif kind == "update":
            body = json.dumps([{"type": "text", "text": values[1]}])
            rows.change("UPDATE session_turns SET body = ? WHERE turn_id = ?", body, f"t{values[0]}")
        else:
            search_index.index_batch(rows.store, values[0])
    rows.index()

    assert rows.is_sound()
    rows.store.close()


_WORKER = """
import sys
from pathlib import Path
from oulipoly_engine.store.search import index
from oulipoly_engine.store.base.db import open_store
store = open_store(Path(sys.argv[1]))
sys.stdin.readline()
done = 0
while count := index.index_batch(store, 25):
    done += count
print(done)
"""


def test_two_processes_index_every_turn_once_while_a_third_writes(rows, tmp_path):
    rows.add(*(entry(number, "needle") for number in range(1000)))
    command = [sys.executable, "-c", _WORKER, str(tmp_path / "state.db")]
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    for worker in workers:
        worker.stdin.write(b"go\n")
        worker.stdin.flush()
    rows.change("DELETE FROM session_turns WHERE id % 100 = 0")
    counts = [int(worker.communicate(timeout=60)[0]) for worker in workers]
    rows.index()

    assert 990 <= sum(counts) <= 1000
    assert 990 == len(rows.found("needle", limit=2000))
    assert rows.is_sound()

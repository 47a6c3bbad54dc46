import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import chains, facts, notes
from oulipoly_engine.store.sessions.sessions import list_sessions
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.store.transcripts.entry_pages import EntryPages, by_row, links

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def entry(number, session="S", **more):
    at = to_text(NOW + timedelta(seconds=number))
    return EntryLine(session, f"t{number}", at, ("user", "assistant")[number % 2], body='[{"text":"x"}]', **more)


@pytest.fixture
def store(tmp_path):
    made = open_store(tmp_path / "state.db")
    yield made
    made.close()


def add(store, *found, account="acc", at=NOW + timedelta(days=1)):
    with store.write():
        entries.insert_new(store, account, found, at)


def change(store, sql, *parameters):
    with store.write():
        store.execute(sql, parameters)


def count(store, most=3):
    while facts.count_batch(store, most):
        pass


def counted(store):
    return store.rows(
        "SELECT account, session_id, turns, assistant_turns, sidechain_turns, side_chains, first_turn_at, last_turn_at"
        " FROM session_facts ORDER BY 1, 2"
    )


def truth(store):
    return store.rows(
        "SELECT provider_name, session_id, COUNT(*), SUM(role = 'assistant'), SUM(is_sidechain),"
        " SUM(is_sidechain AND parent_turn_id IS NULL), MIN(timestamp), MAX(timestamp) FROM session_turns"
        " GROUP BY 1, 2 ORDER BY 1, 2"
    )


def test_a_turn_of_the_far_future_was_used_when_it_was_read(store):
    add(store, entry(1), entry(250_000_000_000), at=NOW + timedelta(hours=1))
    add(store, entry(250_000_000_001), at=NOW + timedelta(hours=2))
    count(store)

    assert [(to_text(NOW + timedelta(hours=2)),)] == store.rows("SELECT last_turn_at FROM session_facts")


def test_turns_are_counted_by_session_as_they_come(store):
    add(store, *(entry(number, session=f"S{number % 3}") for number in range(20)))
    count(store)
    add(
        store,
        entry(30, session="S1", is_sidechain=True),
        entry(31, session="S1", is_sidechain=True, parent_entry_id="t30"),
    )
    count(store)

    assert truth(store) == counted(store)
    assert 0 == facts.count_batch(store)


def test_replaced_session_is_counted_anew_and_an_emptied_one_is_forgotten(store):
    add(store, *(entry(number) for number in range(6)), *(entry(number, session="T") for number in range(6, 9)))
    count(store)
    change(store, "DELETE FROM session_turns")
    add(store, entry(1), entry(2))
    count(store)

    assert truth(store) == counted(store)
    assert ["S"] == [session for _, session, *_ in counted(store)]


STEPS = st.lists(st.tuples(st.sampled_from("aadc"), st.integers(0, 25)), max_size=30)


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_counts_are_right_after_any_mixture_of_changes(tmp_path_factory, steps):
    store = open_store(tmp_path_factory.getbasetemp() / "counts.db")
    change(store, "DELETE FROM session_turns")  # one state file for all examples: making one takes longer than they do
    for kind, number in steps:
        if kind == "a":
            add(store, entry(number, session=f"S{number % 3}", is_sidechain=number % 5 == 0))
        elif kind == "d":
            change(store, "DELETE FROM session_turns WHERE turn_id = ?", f"t{number}")
        else:
            facts.count_batch(store, 4)
    count(store)

    assert truth(store) == counted(store)
    store.close()


def test_a_session_is_to_be_described_again_when_it_has_grown(store):
    add(store, entry(1))
    count(store)
    (one,) = facts.find_undescribed(store, 10)
    facts.describe(store, [facts.Description(one, title="first words", cwd="/work")])
    assert () == facts.find_undescribed(store, 10)
    add(store, entry(2))
    count(store)

    (again,) = facts.find_undescribed(store, 10)
    assert ("first words", "/work", 2) == (again.title, again.cwd, again.entries)
    assert () == facts.find_undescribed(store, 10, without={"acc"})


def test_a_description_that_comes_too_late_does_not_hide_newer_turns(store):
    add(store, entry(1))
    count(store)
    (one,) = facts.find_undescribed(store, 10)
    add(store, entry(2))
    count(store)
    facts.describe(store, [facts.Description(one)])

    assert 1 == facts.count_undescribed(store)


def test_conversations_carry_facts_notes_and_segments(store):
    add(store, entry(1), entry(2))
    at = to_text(NOW)
    with store.write():
        chain = chains.insert(store, "acc", "S", "m", started_at=at, last_used_at=at, reason="initial")
    count(store)
    notes.rename(store, chain, "Name", NOW)
    notes.pin(store, chain, NOW)
    (one,) = list_sessions(store)

    assert (chain, "m", "Name", 2, at) == (one.chain_id, one.model, one.title, one.entries, one.pinned_at)
    assert to_text(NOW + timedelta(seconds=2)) == one.last_used_at
    assert (one,) == list_sessions(store, {chain, "nothing"})


def test_notes_vanish_with_their_last_word_and_with_their_chain(store):
    with store.write():
        chain = chains.insert(store, "acc", "S", "m", started_at="a", last_used_at="a", reason="initial")
    notes.annotate(store, chain, "a note", NOW)
    notes.pin(store, chain, NOW)
    notes.pin(store, chain, NOW + timedelta(days=1))
    assert notes.SessionNotes(None, "a note", to_text(NOW)) == notes.of_chain(store, chain)
    notes.unpin(store, chain, NOW)
    notes.annotate(store, chain, None, NOW)
    assert [] == store.rows("SELECT * FROM conversation_notes")
    notes.rename(store, chain, "x", NOW)
    change(store, "DELETE FROM session_chains")

    assert [] == store.rows("SELECT * FROM conversation_notes")


def test_pages_give_turns_by_position_also_when_some_are_gone(store):
    add(store, *(entry(number) for number in (5, 3, 1, 4, 2)), entry(6, is_sidechain=True))
    pages = EntryPages(store, "acc", "S", with_side_chains=False)

    assert 5 == len(pages)
    assert ["t2", "t3"] == [one.entry_id for one in pages.page(1, 2)]
    assert () == pages.page(9, 3)
    row = pages.page(2, 1)[0].row_id
    assert 2 == pages.position(row)
    change(store, "DELETE FROM session_turns WHERE id = ?", row)
    assert ["t2", "t4"] == [one.entry_id for one in pages.page(1, 3)]
    pages.refresh()
    assert 4 == len(pages)


def test_rows_come_in_the_order_that_was_asked_for(store):
    add(store, entry(1), entry(2), entry(3))

    assert ["t3", "t1"] == [one.entry_id for one in by_row(store, [3, 99, 1])]
    assert ["t1", "t2", "t3"] == [one.entry_id for one in links(store, "acc", "S")]
    assert json.loads(by_row(store, [1])[0].body)

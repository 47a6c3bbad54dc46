"""What a fork has of its origin and no CLI tells it: our own entries and labels on the way to where it leaves."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import LiveSession, Past, SessionOptions
from oulipoly_engine.core.transcripts.entry_tree import parent_ids
from oulipoly_engine.core.transcripts.turn_script import BRANCH_SUMMARY, MODEL_CHANGE, NO_PARENT, EntryLine
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_entries, live_events, live_sessions, own_entries, pasts
from oulipoly_engine.store.sessions import chains, imported, labels, leaves
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.store.transcripts.entry_pages import links
from oulipoly_engine.store.transcripts.entry_paths import EntryPlace

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)


def moment(second):
    return AT + timedelta(seconds=second)


@pytest.fixture
def store(tmp_path):
    with closing(open_store(tmp_path / "state.db")) as opened:
        live_sessions.insert(opened, LiveSession("s1", "/work", "mine", "claude", "a", AT, AT, native_id="n1"))
        write(opened, "n1", ("e1", 1, NO_PARENT), ("e2", 2, "e1"))
        yield opened


def write(store, native_id, *said):
    lines = [EntryLine(native_id, entry, to_text(moment(at)), "user", parent) for entry, at, parent in said]
    with store.write():
        entries.insert_new(store, "mine", lines, AT)
        imported.adopt(store, "mine", [native_id])
        leaves.move_to_end(store, "mine", [native_id])


def add_own(store, kind, text, at, parent=None):
    with store.write():
        return own_entries.add(store, "s1", kind, text, moment(at), parent)


def begin_fork(store, past, **options):
    opening = SessionOptions(past=past, **options)
    fork = LiveSession("s2", "/work", "mine", "claude", "a", moment(20), moment(20), opening=opening)
    live_sessions.insert(store, replace(fork, forked_from="s1"))


def say(store, native_id="n2", number=1):
    """Have the fork's CLI tell its id and say something."""
    live_sessions.update(store, "s2", AT, native_id=native_id)
    events = (ev.SessionOpened(native_id), ev.ItemEnded(ev.Item(f"i{number}", "agent_message", "completed", "hi"), "t"))
    live_events.append(
        store, "s2", [ev.Numbered(seq, to_text(moment(20 + seq)), event) for seq, event in enumerate(events, number)]
    )
    live_entries.enter(store, "s2")


def path(store, native_id, end):
    """Return the way to an entry; what was heard live counts as the end."""
    placed = links(store, "mine", native_id)
    parents = parent_ids(placed)
    steps = [end]
    while steps[0] in parents:
        steps.insert(0, parents[steps[0]])
    return steps


def test_a_fork_has_the_changes_and_labels_on_its_way_and_those_behind_its_end(store):
    first = add_own(store, MODEL_CHANGE, "mine/a", 3)
    second = add_own(store, MODEL_CHANGE, "mine/b", 4)
    write(store, "n1", ("e3", 5, "e2"), ("e4", 6, "e3"))
    last = add_own(store, MODEL_CHANGE, "mine/c", 7)
    for entry in ("e2", "e4"):
        labels.put(store, "s1", entry, f"at {entry}", AT)
    at_e3 = pasts.read(store, EntryPlace("mine", "n1", "e3"), is_end=False)
    at_end = pasts.read(store, EntryPlace("mine", "n1", "e4"), is_end=True)

    assert ([first, second], {"e2": "at e2"}) == ([each.entry_id for each in at_e3.entries], at_e3.labels)
    assert [first, second, last] == [each.entry_id for each in at_end.entries]

    begin_fork(store, at_end, fork_of="n1")
    write(store, "n2", ("e1", 1, NO_PARENT), ("e2", 2, "e1"), ("e3", 5, "e2"), ("e4", 6, "e3"), ("e5", 30, "e4"))
    say(store)
    assert ["e1", "e2", first, second, "e3", "e4", last, "e5"] == path(store, "n2", "e5")
    assert ["e1", "e2", first, second, "e3", "e4"] == path(store, "n1", "e4")
    assert {"e2": "at e2", "e4": "at e4"} == labels.of_chain(store, "s2")

    labels.put(store, "s2", "e2", "", AT)
    say(store, number=5)
    assert {"e4": "at e4"} == labels.of_chain(store, "s2")


def test_what_a_fork_says_next_follows_on_the_summary_that_it_was_made_at(store):
    write(store, "n1", ("e3", 3, "e2"))
    summary = add_own(store, BRANCH_SUMMARY, "what was left", 4, "e2")
    begin_fork(store, pasts.read(store, EntryPlace("mine", "n1", summary), is_end=False), fork_of="n1")
    write(store, "n2", ("e1", 1, NO_PARENT), ("e2", 2, "e1"))
    say(store)

    assert ["e1", "e2", summary, "live/s2/0000000002"] == path(store, "n2", "live/s2/0000000002")
    assert ["e1", "e2", "e3"] == path(store, "n1", "e3")


def test_the_chain_of_a_scan_that_was_sooner_goes_by_the_id_of_the_live_session(store):
    begin_fork(store, Past("e2"), fork_of="n1")
    write(store, "n2", ("e1", 1, NO_PARENT), ("e2", 2, "e1"), ("e5", 30, "e2"))
    before = chains.chain_of(store, "mine", "n2")
    say(store)

    assert () == pasts.list_waiting(store, "s1")
    assert "s2" == chains.chain_of(store, "mine", "n2") != before


def test_a_fork_that_has_not_begun_or_has_only_a_preface_has_its_way_from_its_origin(store):
    write(store, "n1", ("e3", 3, "e2"))
    labels.put(store, "s1", "e2", "here", AT)
    begin_fork(store, Past("e2"))
    assert [("s2", "e2")] == [(fork.chain_id, fork.entry_id) for fork in pasts.list_waiting(store, "s1")]
    for has_begun in (False, True):
        way = pasts.find_way(store, "s2", has_begun=has_begun)

        assert (["e1", "e2"], [NO_PARENT, "e1"], {"e2": "here"}) == (
            way.columns.ids,
            way.columns.parent_ids,
            way.labels,
        )
        assert ("s2", "s1", (("mine", "n1"),)) == (way.session_id, way.origin_id, way.places)
    assert None is pasts.find_way(store, "s1", has_begun=True)
    live_sessions.change_opening(store, "s2", AT, past=Past("live/s1/1", "t1"))  # its transcript was not read yet
    store.execute("UPDATE session_turns SET live_turn_id = 't1' WHERE turn_id = 'e2'")
    assert way == pasts.find_way(store, "s2", has_begun=False)
    store.execute("UPDATE session_chains SET deleted_at = 'now'")
    assert None is pasts.find_way(store, "s2", has_begun=False)

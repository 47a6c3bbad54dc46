"""The outbox: written with what has happened, only for readers, read at least once, and then gone."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest

from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.outbox import events

NOW = datetime(2026, 11, 29, 12, 0, 0, 250_000, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    with_events = open_store(tmp_path / "state.db")
    yield with_events
    with_events.close()


def publish(store, *codes):
    with store.write():
        for code in codes:
            events.publish(store, "error", NOW, "s1", {"code": code})


def codes(store, reader):
    return [event.body["code"] for event in events.read_after(store, reader)]


def stored(store):
    return [json for (json,) in store.rows("SELECT body FROM events ORDER BY id")]


def test_without_a_reader_nothing_is_written(store):
    publish(store, "a")

    assert not store.has_readers()
    assert [] == stored(store)


def test_a_reader_is_told_what_happens_from_then_on_in_order(store):
    publish(store, "before")
    events.register(store, "hooks")
    publish(store, "a", "b")
    events.register(store, "hooks")  # again: it stays where it is

    first, _ = events.read_after(store, "hooks")
    assert ["a", "b"] == codes(store, "hooks")
    assert ("error", 1_795_953_600_250, "s1") == (first.topic, first.at, first.session_id)


def test_what_is_not_written_is_not_told(store):
    events.register(store, "hooks")
    with suppress(TypeError), store.write():
        events.publish(store, "error", NOW, "s1", {"code": "never"})
        events.publish(store, "error", NOW, "s1", {"code": store})

    assert [] == codes(store, "hooks")


def test_events_stay_until_every_reader_has_read_them(store):
    events.register(store, "hooks")
    events.register(store, "telemetry")
    publish(store, "a", "b")
    first, second = events.read_after(store, "hooks")
    events.advance(store, "hooks", second.id)
    events.advance(store, "hooks", first.id)  # late: nobody goes back

    assert ([], ["a", "b"], 2) == (codes(store, "hooks"), codes(store, "telemetry"), len(stored(store)))

    events.advance(store, "telemetry", first.id)
    assert ['{"code":"b"}'] == stored(store)

    events.unregister(store, "telemetry")
    assert [] == stored(store)


def test_no_id_comes_twice_where_all_was_read(store):
    events.register(store, "hooks")
    publish(store, "a")
    (read,) = events.read_after(store, "hooks")
    events.advance(store, "hooks", read.id)
    publish(store, "b")

    assert ["b"] == codes(store, "hooks")


def test_a_reader_that_never_comes_costs_a_bounded_space(store, monkeypatch):
    monkeypatch.setattr(events, "MOST_EVENTS", 300)
    events.register(store, "dead")
    publish(store, *range(events._PRUNE_EVERY * 3))

    assert 300 == len(stored(store))
    assert events._PRUNE_EVERY * 3 - 300 == codes(store, "dead")[0]


def test_half_a_character_is_no_reason_to_lose_what_happens(store):
    events.register(store, "hooks")
    publish(store, "\ud83d")

    assert ["?"] == codes(store, "hooks")


def test_events_of_a_session_go_with_it(store):
    events.register(store, "hooks")
    publish(store, "a")
    events.forget_session(store, "s1")

    assert [] == codes(store, "hooks")

"""What hosts of earlier releases have left as events alone becomes entries when somebody looks."""

from datetime import UTC, datetime

import pytest

from oulipoly_engine.clock import SystemClock, to_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import LiveSession, Turn
from oulipoly_engine.service.transcripts.live_ingest import enter_live
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_events, live_sessions
from oulipoly_engine.store.transcripts import entries

LONG_AGO = datetime(2026, 1, 2, tzinfo=UTC)


def now():
    return SystemClock().now()


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "state.db")
    yield store
    store.close()


def insert(store, session_id, at, texts):
    session = LiveSession(session_id, "/work", "mine", "acp", "m", at, at, native_id=f"native-{session_id}")
    live_sessions.insert(store, session)
    for seq, text in enumerate(texts, 1):
        event = ev.ItemEnded(ev.Item(str(seq), "agent_message", "completed", text))
        live_events.append(store, session_id, [ev.Numbered(seq, to_text(at), event)])


def count(store, session_id):
    return entries.count(store, "mine", f"native-{session_id}").entries


def test_all_that_is_there_is_entered_by_the_first_look_and_then_what_has_changed(store, tmp_path):
    insert(store, "old", LONG_AGO, ["a", "b"])

    assert 2 == enter_live(store, tmp_path / "looks")

    insert(store, "missed", LONG_AGO, ["c"])
    insert(store, "new", now(), ["d"])

    assert 1 == enter_live(store, tmp_path / "looks")
    assert (2, 0, 1) == (count(store, "old"), count(store, "missed"), count(store, "new"))
    assert 1 == enter_live(store, tmp_path / "looks", afresh=True)
    assert 0 == enter_live(store, tmp_path / "looks", afresh=True)


def test_what_is_said_in_a_running_turn_is_entered(store, tmp_path):
    insert(store, "busy", LONG_AGO, ["a"])
    live_sessions.insert_turn(store, Turn("t", "busy", "user", "starting", "hello", "", now()))
    enter_live(store, tmp_path / "looks")
    said = ev.ItemEnded(ev.Item("2", "agent_message", "completed", "b"))
    live_events.append(store, "busy", [ev.Numbered(2, to_text(now()), said)])

    assert 1 == enter_live(store, tmp_path / "looks")

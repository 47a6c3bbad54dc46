"""Entries of live sessions: made once of what was said, and given up for those of a transcript."""

from datetime import UTC, datetime

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.transcripts.entry_text import text_of
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_entries, live_events, live_sessions
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.store.sessions.sessions import list_sessions
from oulipoly_engine.store.transcripts import entries

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Talk:
    """One live session and what is stored of it."""

    def __init__(self, path):
        self.store, self.seq = open_store(path), 0
        live_sessions.insert(self.store, LiveSession("s1", "/work", "mine", "acp", "a-model", AT, AT))

    def happens(self, *events):
        first = self.seq + 1
        self.seq += len(events)
        numbered = [ev.Numbered(seq, to_text(AT), event) for seq, event in enumerate(events, first)]
        live_events.append(self.store, "s1", numbered)

    def is_named(self, native_id, event=ev.SessionOpened):
        live_sessions.update(self.store, "s1", AT, native_id=native_id)
        self.happens(event(native_id))

    def says(self, text, kind="agent_message", **more):
        self.happens(ev.ItemEnded(ev.Item(f"i{self.seq}", kind, "completed", text, **more)))

    def texts(self, native_id="n1"):
        return [text_of(each.body) for each in entries.of_session(self.store, "mine", native_id)]

    def enter(self):
        return live_entries.enter(self.store, "s1")

    def read_transcript(self, native_id, *texts):
        for number, text in enumerate(texts):
            body = f'[{{"type":"text","text":"{text}"}}]'
            line = EntryLine(native_id, f"theirs-{number}", to_text(AT), "user", body=body)
            with self.store.write():
                entries.drop_live(self.store, "mine", [native_id])
                entries.insert_new(self.store, "mine", [line], AT)


@pytest.fixture
def talk(tmp_path):
    talk = Talk(tmp_path / "state.db")
    yield talk
    talk.store.close()


def test_each_thing_that_was_said_is_an_entry_once(talk):
    talk.is_named("n1")
    talk.says("hello", "user_message")
    talk.happens(ev.TurnStarted())

    assert 1 == talk.enter()

    talk.says("I look", "reasoning")
    talk.says("a.py", "command", title="ls")
    talk.happens(ev.ItemStarted(ev.Item("x", "agent_message")), ev.ItemDelta("x", "unsaid"))
    talk.says("done")

    assert 3 == talk.enter()
    assert 0 == talk.enter()
    assert ["hello", "I look", "ls\na.py", "done"] == talk.texts()
    found = entries.of_session(talk.store, "mine", "n1")
    assert ["user", "assistant", "assistant", "assistant"] == [each.role for each in found]
    assert '[{"type":"tool_use","text":"ls"},{"type":"tool_result","text":"a.py"}]' == found[2].body
    (listed,) = list_sessions(talk.store)
    assert ("a-model", "mine", "n1") == (listed.model, listed.active.account, listed.active.session_id)


def test_nothing_is_entered_before_the_cli_has_told_its_id_and_all_of_it_then(talk):
    talk.says("hello", "user_message")
    assert 0 == talk.enter()

    talk.is_named("n1", ev.NativeIdChanged)
    talk.enter()

    assert ["hello"] == talk.texts()


def test_a_transcript_takes_the_place_of_what_was_entered_and_nothing_is_entered_beside_it(talk):
    talk.is_named("n1")
    talk.says("ours")
    talk.enter()
    talk.read_transcript("n1", "theirs")
    talk.says("ours again")

    assert 0 == talk.enter()
    assert ["theirs"] == talk.texts()


def test_an_event_that_cannot_be_read_costs_itself_alone(talk):
    talk.is_named("n1")
    for text in ("first", "broken", "undated", "last"):
        talk.says(text)
    for seq, column, value in ((3, "event", "{"), (4, "at", "yesterday")):
        with talk.store.write():
            talk.store.execute(f"UPDATE live_events SET {column} = ? WHERE seq = ?", (value, seq))

    assert 2 == talk.enter()
    assert ["first", "last"] == talk.texts()
    assert 0 == talk.enter()


def test_what_was_entered_does_not_make_an_account_one_whose_transcripts_were_read(talk):
    talk.is_named("n1")
    talk.says("ours")
    talk.enter()

    assert not entries.has_any(talk.store, "mine")


def test_a_session_that_is_opened_under_another_id_takes_all_of_itself_along(talk):
    talk.is_named("n1")
    talk.says("before")
    talk.enter()
    chain = chains.chain_of(talk.store, "mine", "n1")
    talk.is_named("n2")
    talk.says("after")
    talk.enter()

    assert ["before", "after"] == talk.texts("n2")
    assert [] == talk.texts("n1")
    assert chain == chains.chain_of(talk.store, "mine", "n2")
    assert [chain] == [each.chain_id for each in list_sessions(talk.store)]


def test_what_a_cli_begins_anew_under_another_id_stays_apart(talk):
    talk.is_named("n1")
    talk.says("before")
    talk.is_named("n2", ev.NativeIdChanged)
    talk.says("after")
    talk.enter()

    assert ["before"] == talk.texts("n1")
    assert ["after"] == talk.texts("n2")

"""Texts that go from the events of sessions which nobody uses: everybody reads what they read before."""

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import LiveSession, Turn
from oulipoly_engine.core.transcripts.entry_text import text_of
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.paths import Paths
from oulipoly_engine.service.live.event_retention import shorten_session, shorten_unused
from oulipoly_engine.service.transcripts.ingest import give_texts_back
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_entries, live_events, live_sessions
from oulipoly_engine.store.live.entry_bodies import EntryKey
from oulipoly_engine.store.models.account_names import rename_account
from oulipoly_engine.store.sessions import imported
from oulipoly_engine.store.transcripts import entries, takeovers
from oulipoly_engine.testing import FakeClock

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
LONG = "what was said " * 100
CHANGES = (ev.FileChange("a.py", "update", "-old\n+new"),)
ITEMS = (
    ev.Item("user/t1", "user_message", "completed", f"question {LONG}"),
    ev.Item("1", "reasoning", "completed", f"thought {LONG}"),
    ev.Item("2", "command", "failed", f"output {LONG}", "ls", exit_code=2),
    ev.Item("3", "file_change", "completed", f"result {LONG}", "a.py", changes=CHANGES),
    ev.Item("4", "agent_message", "completed", f"answer {LONG}"),
)
LAST = ev.SessionClosed("closed", "it was closed")


class Talk:
    """One live session and what is stored of it."""

    def __init__(self, path):
        self.store, self.seq = open_store(path), 0
        live_sessions.insert(self.store, LiveSession("s1", "/work", "mine", "acp", "m", AT, AT, "mine", "n1"))
        live_sessions.insert_turn(self.store, Turn("t1", "s1", "user", "running", "question", "", AT))
        self.happens(ev.SessionOpened("n1"))
        for item in ITEMS:
            started = ev.ItemStarted(ev.Item(item.id, item.kind, title=item.title), "t1")
            self.happens(started, ev.DiffUpdated(f"diff {self.seq}"), ev.ItemEnded(item, "t1"))
        live_sessions.end_turn(self.store, "t1", "completed", AT)
        self.happens(ev.TurnEnded("completed", turn_id="t1"))

    def happens(self, *events, at=AT):
        first = self.seq + 1
        self.seq += len(events)
        numbered = [ev.Numbered(seq, to_text(at), event) for seq, event in enumerate(events, first)]
        live_events.append(self.store, "s1", numbered)

    def rows(self):
        return [text for (text,) in self.store.rows("SELECT event FROM live_events ORDER BY seq")]

    def read(self):
        """Return the items that have ended as each reader of events gives them."""
        lines = (json.loads(line)["event"] for _, line in live_events.lines_after(self.store, "s1", 0, 100))
        return [
            [each.event for each in numbered if isinstance(each.event, ev.ItemEnded)]
            for numbered in (
                live_events.before(self.store, "s1", None, 100),
                live_events.after(self.store, "s1", 0),
                live_events.of_types(self.store, "s1", 0, ("item_ended",), 100)[0],
            )
        ] + [[line["item"]["text"] for line in lines if line["type"] == "item_ended"]]

    def texts(self, native_id="n1"):
        return [text_of(each.body) for each in entries.of_session(self.store, "mine", native_id)]

    def read_transcript(self, *texts):
        lines = [
            EntryLine("n1", f"theirs-{number}", to_text(AT), "user", body=json.dumps([{"type": "text", "text": text}]))
            for number, text in enumerate(texts)
        ]
        with self.store.write():
            entries.insert_new(self.store, "mine", lines, AT)
            takeovers.take_over_all(self.store, "mine", ["n1"], give_texts_back)


@pytest.fixture
def talk(tmp_path):
    talk = Talk(tmp_path / "state.db")
    yield talk
    talk.store.close()


def test_every_reader_reads_the_same_and_no_text_lies_there_twice(talk):
    before = talk.read()

    shorten_session(talk.store, "s1")

    assert before == talk.read()
    assert list(ITEMS) == [event.item for event in talk.read()[0]]
    assert not any(LONG in text or "+new" in text for text in talk.rows())


def test_only_what_has_a_use_is_left_of_progress(talk):
    talk.happens(ev.ItemStarted(ev.Item("5", "tool"), "t2"), LAST)  # it was cut off

    shorten_session(talk.store, "s1")

    left = [each.event for each in live_events.after(talk.store, "s1", 0)]
    assert ["2", "5"] == [event.item.id for event in left if isinstance(event, ev.ItemStarted)]
    assert ["diff 13"] == [event.diff for event in left if isinstance(event, ev.DiffUpdated)]


def test_the_last_number_does_not_go_back(talk):
    talk.happens(ev.ItemEnded(ev.Item("5", "tool", "completed"), "t2"), ev.ItemStarted(ev.Item("5", "tool"), "t2"))

    shorten_session(talk.store, "s1")

    assert talk.seq == live_events.last_number(talk.store, "s1")


def test_what_a_transcript_has_word_for_word_goes_and_the_rest_stays(talk):
    talk.read_transcript(ITEMS[0].text, "something else", ITEMS[4].text)
    before = talk.read()

    shorten_session(talk.store, "s1")

    assert before == talk.read()
    assert [False, True, True, True, False] == [LONG in text for text in talk.rows() if '"item_ended"' in text]


def test_a_transcript_that_is_read_later_costs_nothing(talk):
    before = talk.read()
    shorten_session(talk.store, "s1")

    talk.read_transcript(ITEMS[0].text)

    assert before == talk.read()
    assert [ITEMS[0].text] == talk.texts()


def test_a_session_that_goes_on_under_another_id_keeps_its_entries(talk):
    live_entries.enter(talk.store, "s1")
    before, texts = talk.read(), talk.texts()
    shorten_session(talk.store, "s1")

    live_sessions.update(talk.store, "s1", AT, native_id="n2")
    talk.happens(ev.SessionOpened("n2"))
    live_entries.enter(talk.store, "s1")

    assert before == talk.read()
    assert texts == talk.texts("n2")


def test_sessions_that_had_one_id_lose_nothing_when_one_of_them_goes_on_under_another(talk):
    before = talk.read()
    shorten_session(talk.store, "s1")
    live_sessions.insert(talk.store, LiveSession("s2", "/work", "mine", "acp", "m", AT, AT, "mine", "n1"))

    for seq, native_id in enumerate(("n1", "n2"), 1):
        live_sessions.update(talk.store, "s2", AT, native_id=native_id)
        live_events.append(talk.store, "s2", [ev.Numbered(seq, to_text(AT), ev.SessionOpened(native_id))])
        live_entries.enter(talk.store, "s2")

    assert before == talk.read()


def test_what_a_run_has_heard_of_the_same_session_holds_no_text_for_it(talk):
    talk.read_transcript(*(item.text for item in ITEMS))
    body = json.dumps([{"type": "text", "text": ITEMS[0].text}])
    later = to_text(AT + timedelta(days=1))
    with talk.store.write():
        run = EntryLine("n1", "live/zz-run/0000000000", later, "user", body=body, turn_id="zz-run")
        entries.insert_new(talk.store, "mine", [run], AT)
        talk.store.execute("UPDATE session_turns SET turn_id = '0' || turn_id WHERE turn_id LIKE 'theirs%'")
    before = talk.read()
    shorten_session(talk.store, "s1")

    with talk.store.write():
        entries.insert_new(talk.store, "mine", [EntryLine("n1", "0theirs-9", later, "user", body=body)], AT)
        takeovers.take_over_all(talk.store, "mine", ["n1"], give_texts_back)

    assert before == talk.read()


def test_an_entry_that_is_gone_for_a_while_tells_its_text_when_it_is_back(talk):
    talk.read_transcript(*(item.text for item in ITEMS))
    before = talk.read()
    shorten_session(talk.store, "s1")
    with talk.store.write():
        talk.store.execute("DELETE FROM session_turns")
        live_events.restore(talk.store, "s1")
    assert "[its entry was removed]" == talk.read()[0][0].item.text

    talk.read_transcript(*(item.text for item in ITEMS))

    assert before == talk.read()


def test_another_text_of_the_same_entry_on_another_account_changes_nothing(talk):
    def store_edited(account):
        body = json.dumps([{"type": "text", "text": "edited"}])
        with talk.store.write():
            entries.insert_new(talk.store, account, [EntryLine("n1", "theirs-0", to_text(AT), "user", body=body)], AT)

    store_edited("aa")
    talk.read_transcript(ITEMS[0].text)
    before = talk.read()
    shorten_session(talk.store, "s1")
    store_edited("zz")
    with talk.store.write():
        imported.adopt(talk.store, "aa", ["n1"])
        imported.adopt(talk.store, "zz", ["n1"])

    assert before == talk.read()
    with talk.store.write():
        talk.store.execute("DELETE FROM session_turns WHERE provider_name = 'mine'")
    assert "[its entry was removed]" == talk.read()[0][0].item.text


def test_an_account_of_another_name_has_its_sessions_as_before(talk):
    before = talk.read()
    shorten_session(talk.store, "s1")

    rename_account(talk.store, "mine", "another")

    assert before == talk.read()


def test_what_was_cut_off_in_the_middle_is_read_and_goes_on(talk):
    before = talk.read()
    live_entries.enter(talk.store, "s1")
    keys = {seq: EntryKey("n1", f"live/s1/{seq:010}") for seq in (4, 10)}

    live_events.shorten(talk.store, "s1", keys)

    assert 3 == sum(LONG in text for text in talk.rows())
    assert before == talk.read()
    shorten_session(talk.store, "s1")
    assert before == talk.read()


@pytest.mark.parametrize(("days", "is_open", "is_short"), [(1, False, False), (40, False, True), (40, True, False)])
def test_only_a_session_at_rest_for_long_gets_shorter(talk, tmp_path, days, is_open, is_short):
    live_sessions.update(talk.store, "s1", AT - timedelta(days=99))
    if is_open:
        live_sessions.insert_turn(talk.store, Turn("t2", "s1", "user", "running", "", "", AT))
    now = AT + timedelta(days=days)
    paths = Paths(config=tmp_path, data=tmp_path, home=tmp_path)

    shorten_unused(talk.store, paths, AT - timedelta(days=9), now - timedelta(days=30))

    assert is_short is not any(LONG in text for text in talk.rows())


def test_a_setting_says_after_how_many_days_and_each_session_is_looked_at_once():
    clock = FakeClock(AT)
    with closing(Engine(Surroundings(clock=clock))) as engine:
        talk = Talk(engine.paths.state_db)
        engine.paths.config.mkdir(parents=True)
        lengths = []
        for jump_days, keep_days in ((29, 30), (31, 0), (0, 30)):
            clock.jump(jump_days * 86_400)
            (engine.paths.config / "config.toml").write_text(f"event_keep_days = {keep_days}\n")
            engine.retention.shorten_events()
            lengths.append(sum(map(len, talk.rows())))
        talk.happens(ev.ItemEnded(ITEMS[0], "t1"), LAST)
        engine.retention.shorten_events()
        rows = talk.rows()
        talk.store.close()

    assert lengths[0] == lengths[1] > 5 * lengths[2]
    assert LONG in rows[-2]

"""Entries of live sessions: made once of what was said, and given up for those of a transcript."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import LiveSession, Turn
from oulipoly_engine.core.transcripts.entry_text import text_of
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_entries, live_events, live_sessions
from oulipoly_engine.store.sessions import chains, imported, leaves
from oulipoly_engine.store.sessions.sessions import list_sessions
from oulipoly_engine.store.transcripts import entries, takeovers
from oulipoly_engine.store.transcripts.entry_pages import EntryPages

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Talk:
    """One live session and what is stored of it."""

    def __init__(self, path):
        self.store, self.seq = open_store(path), 0
        live_sessions.insert(self.store, LiveSession("s1", "/work", "mine", "acp", "a-model", AT, AT))

    def happens(self, *events):
        first = self.seq + 1
        self.seq += len(events)
        numbered = [
            ev.Numbered(seq, to_text(AT + timedelta(seconds=seq)), event) for seq, event in enumerate(events, first)
        ]
        live_events.append(self.store, "s1", numbered)

    def is_named(self, native_id, event=ev.SessionOpened):
        live_sessions.update(self.store, "s1", AT, native_id=native_id)
        self.happens(event(native_id))

    def says(self, text, kind="agent_message", turn="", **more):
        self.happens(ev.ItemEnded(ev.Item(f"i{self.seq}", kind, "completed", text, **more), turn))

    def begins(self, turn, text):
        """Have a person send a message, which begins a turn."""
        live_sessions.insert_turn(self.store, Turn(turn, "s1", "user", "running", text, "", AT))
        self.says(text, "user_message", turn)

    def texts(self, native_id="n1"):
        return [text_of(each.body) for each in entries.of_session(self.store, "mine", native_id)]

    def enter(self):
        return live_entries.enter(self.store, "s1")

    def tree(self, native_id="n1", account="mine"):
        """Return a session's entries: id, the one before it, turn and the CLI's own id."""
        pages = EntryPages(self.store, account, native_id)
        native = dict(self.store.rows("SELECT turn_id, native_id FROM session_turns"))
        rows = pages.page(0, 100)
        return [(short(row.entry_id), short(row.parent_entry_id), row.turn_id, native[row.entry_id]) for row in rows]

    def leaf(self, native_id="n1", account="mine"):
        return short(leaves.find_leaf(self.store, account, native_id))

    def read_transcript(self, native_id, *texts, account="mine", role="user", at=AT):
        for text in texts:
            body = f'[{{"type":"text","text":"{text}"}}]'
            line = EntryLine(native_id, f"theirs-{text}", to_text(at), role, body=body)
            with self.store.write():
                entries.insert_new(self.store, account, [line], AT)
                takeovers.take_over_all(self.store, account, [native_id], live_events.restore_entries)
                imported.adopt(self.store, account, [native_id])
                leaves.move_to_end(self.store, account, [native_id])


def short(entry_id):
    return entry_id and entry_id.replace("live/s1/000000000", "")


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


def test_who_finds_nothing_new_writes_nothing(talk):
    talk.is_named("n1")
    talk.says("hello")
    talk.enter()
    before = talk.store.rows("SELECT total_changes()")

    assert (0, before) == (talk.enter(), talk.store.rows("SELECT total_changes()"))


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


def test_each_entry_follows_on_the_one_before_it_and_the_session_goes_on_behind_the_last(talk):
    talk.is_named("n1")
    talk.begins("t1", "hello")
    talk.enter()
    assert "2" == talk.leaf()

    talk.says("short", "compaction", "t1")
    talk.says("done", turn="t1")
    talk.enter()

    assert [("2", None, "t1", "i1"), ("3", "2", "t1", "i2"), ("4", "3", "t1", "i3")] == talk.tree()
    assert ["message", "compaction", "message"] == [row.kind for row in EntryPages(talk.store, "mine", "n1").page(0, 9)]
    assert "4" == talk.leaf()


def test_what_a_running_turn_was_not_given_is_no_entry(talk):
    talk.is_named("n1")
    talk.says("wait", "user_message", "t1", native_kind=ev.STEERS)
    talk.happens(ev.ItemEnded(ev.Item("x", "user_message", "declined", "no", native_kind=ev.STEERS)))
    talk.enter()

    assert ["wait"] == talk.texts()


def test_a_transcript_takes_over_turns_and_has_the_rest_follow_on_it(talk):
    talk.is_named("n1")
    talk.begins("t1", "hello")
    talk.says("a", "command", "t1", title="ls")
    talk.says("done", turn="t1")
    talk.enter()
    talk.read_transcript("n1", "hello")

    assert [
        ("theirs-hello", None, "t1", "i1"),
        ("3", "theirs-hello", "t1", "i2"),
        ("4", "3", "t1", "i3"),
    ] == talk.tree()
    assert "4" == talk.leaf()

    talk.read_transcript("n1", "done", role="assistant")

    assert [("theirs-hello", None, "t1", "i1"), ("theirs-done", None, "t1", "i3")] == talk.tree()
    assert "theirs-done" == talk.leaf()


def test_a_turn_after_a_transcript_was_read_is_entered_at_once_and_taken_over_later(talk):
    talk.is_named("n1")
    talk.begins("t1", "hello")
    talk.enter()
    talk.read_transcript("n1", "hello")
    talk.begins("t2", "again")

    assert 1 == talk.enter()
    assert [("theirs-hello", None, "t1", "i1"), ("3", "theirs-hello", "t2", "i2")] == talk.tree()

    talk.read_transcript("n1", "again")

    assert [("theirs-hello", None, "t1", "i1"), ("theirs-again", None, "t2", "i2")] == talk.tree()
    assert 0 == talk.enter()


def test_a_line_that_was_read_before_its_event_was_kept_gets_its_turn_then(talk):
    talk.is_named("n1")
    talk.read_transcript("n1", "hello")
    talk.begins("t1", "hello")

    assert 0 == talk.enter()
    assert [("theirs-hello", None, "t1", "i1")] == talk.tree()


def test_a_runtime_without_an_account_enters_what_it_says_where_its_transcript_lies(talk):
    talk.is_named("n1")
    talk.begins("t1", "hello")
    talk.enter()
    talk.read_transcript("n1", "hello", account="ada")
    talk.begins("t2", "again")
    talk.enter()

    assert [] == talk.tree()
    assert [("theirs-hello", None, "t1", "i1"), ("3", "theirs-hello", "t2", "i2")] == talk.tree(account="ada")
    assert 1 == len(list_sessions(talk.store))


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_transcript_that_is_read_once_its_runtime_has_begun_anew_doubles_nothing(talk, is_begun):
    talk.is_named("n1")
    talk.begins("t1", "hello")
    talk.says("answer", "user_message", turn="t1")
    talk.enter()
    if is_begun:
        talk.read_transcript("n1", "hello", account="ada")
    talk.is_named("n2", ev.NativeIdChanged)
    talk.begins("t2", "again")
    talk.enter()

    for native_id, text in (("n1", "hello"), ("n1", "answer"), ("n2", "again")):
        talk.read_transcript(native_id, text, account="ada")

    assert ([], []) == (talk.tree("n1"), talk.tree("n2"))
    assert [("theirs-hello", "t1"), ("theirs-answer", "t1")] == [(row[0], row[2]) for row in talk.tree("n1", "ada")]
    assert ["ada", "ada"] == [listed.active.account for listed in list_sessions(talk.store)]


def test_a_transcript_that_is_read_on_another_account_once_its_cli_has_begun_anew_doubles_nothing(talk):
    talk.is_named("n1")
    talk.begins("t1", "hello")
    talk.enter()
    talk.is_named("n2", ev.NativeIdChanged)
    (listed,) = list_sessions(talk.store)
    with talk.store.write():
        values = (listed.chain_id, "ada", "n1", to_text(AT), "manual")
        talk.store.execute(
            "INSERT INTO session_chain_segments (chain_id, provider_name, session_id, started_at, transition_reason)"
            " VALUES (?, ?, ?, ?, ?)",
            values,
        )
        talk.store.execute("UPDATE live_sessions SET account = 'mine'")

    talk.read_transcript("n1", "hello", account="ada")

    assert ([], "t1") == (talk.tree("n1"), talk.tree("n1", "ada")[0][2])


def test_what_a_cli_begins_anew_follows_on_nothing(talk):
    talk.is_named("n1")
    talk.says("before")
    talk.is_named("n2", ev.NativeIdChanged)
    talk.says("after")
    talk.enter()

    assert ([("4", None, None, "i3")], "2", "4") == (talk.tree("n2"), talk.leaf("n1"), talk.leaf("n2"))


def test_what_a_host_of_an_earlier_release_has_entered_is_completed(talk):
    talk.is_named("n1")
    talk.begins("t1", "hello")
    talk.says("done", turn="t1")
    talk.enter()
    with talk.store.write():
        talk.store.execute("UPDATE session_turns SET parent_turn_id = NULL, native_id = NULL, live_turn_id = NULL")
        talk.store.execute("UPDATE live_sessions SET entered = 0")
    talk.enter()

    assert [("2", None, "t1", "i1"), ("3", "2", "t1", "i2")] == talk.tree()


def test_a_session_that_comes_back_under_an_id_that_it_had_keeps_what_was_said(talk):
    talk.is_named("n1")
    talk.says("hello", "user_message")
    talk.enter()

    for native_id in ("n2", "n1", "n1"):
        talk.is_named(native_id)
        talk.says(f"more under {native_id}")
        talk.enter()

    assert ["hello", "more under n2", "more under n1", "more under n1"] == talk.texts()


def test_a_leaf_that_is_gone_counts_as_none(talk):
    talk.is_named("n1")
    talk.says("before")
    talk.enter()
    with talk.store.write():
        talk.store.execute("UPDATE session_chains SET leaf = 'gone'")

    assert "2" == talk.leaf()


SAID = [("t1", "user", "hello"), ("t1", "assistant", ""), ("t1", "assistant", "done")]
SAID += [("t2", "user", "again"), ("t2", "assistant", "once"), ("t2", "assistant", "twice")]


@settings(max_examples=25, deadline=None)
@given(st.permutations([True] * len(SAID) + [False] * len(SAID)))
def test_events_and_lines_may_come_in_any_order(tmp_path_factory, order):
    talk = Talk(tmp_path_factory.mktemp("any") / "state.db")
    talk.is_named("n1")
    for turn in ("t1", "t2"):
        live_sessions.insert_turn(talk.store, Turn(turn, "s1", "user", "running", turn, "", AT))
    events = iter(SAID)
    lines = iter(enumerate(SAID, 2))
    for is_event in order:
        if is_event:
            turn, role, text = next(events)
            kind = "command" if not text else "user_message" if role == "user" else "agent_message"
            talk.says(text, kind, turn, title="" if text else "ls")
            talk.enter()
        else:
            seq, (_, role, text) = next(lines)
            at = AT + timedelta(seconds=seq - 0.5)
            talk.read_transcript("n1", text or "a.py", role=role if text else "tool", at=at)

    assert [("theirs-" + (text or "a.py"), turn) for turn, _, text in SAID] == [(row[0], row[2]) for row in talk.tree()]
    assert "theirs-twice" == talk.leaf()
    talk.store.close()

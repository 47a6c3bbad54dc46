"""A live session's session file: written on as the session grows, never twice, and read by others as the session is."""

import json
import os
import signal
import stat
import sys
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.transcripts.session_file.entry import BRANCH_SUMMARY, LABEL, MESSAGE, MODEL_CHANGE
from oulipoly_engine.core.transcripts.turn_script import NO_PARENT, EntryLine
from oulipoly_engine.errors import SessionNotFound
from oulipoly_engine.service.reading import session_mirror
from oulipoly_engine.service.reading.session_mirror import follow
from oulipoly_engine.service.sessions.session_copies import OF_FILES, import_file
from oulipoly_engine.service.sessions.session_files import read
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_entries, live_events, live_sessions, own_entries, removal
from oulipoly_engine.store.sessions import chains, imported, labels, leaves
from oulipoly_engine.store.transcripts import entries, takeovers
from oulipoly_engine.store.transcripts.entry_pages import by_row, links

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
LONGEST = 1 << 20
SECRET = "sk-ant-api03-" + "aB3" * 31


TALK = (("user_message", "two?"), ("agent_message", "no"))


class Talk:
    """A live session, and the file that follows it."""

    def __init__(self, folder):
        self.state, self.folder, self.number = folder / "state.db", folder / "files", 0
        self.store = open_store(self.state)
        self.path = self.folder / "s1.jsonl"
        live_sessions.insert(self.store, LiveSession("s1", "/work", "mine", "acp", "a-model", AT, AT))
        live_sessions.update(self.store, "s1", AT, native_id="n1")
        self.happens(ev.SessionOpened("n1"))

    def happens(self, event):
        self.number += 1
        at = to_text(AT + timedelta(seconds=self.number))
        live_events.append(self.store, "s1", [ev.Numbered(self.number, at, event)])

    def says(self, *texts):
        """Have user and assistant say something in turn."""
        for text in texts:
            kind = "user_message" if text.endswith("?") else "agent_message"
            self.happens(ev.ItemEnded(ev.Item(f"i{self.number}", kind, "completed", text), "t"))
        live_entries.enter(self.store, "s1")
        return self.follow()

    def follow(self, *read_accounts):
        """Write the file on, and return the texts of its messages."""
        follow(self.store, self.folder, read_accounts, LONGEST)
        return self.texts()

    def texts(self):
        found = read(self.path, LONGEST).entries if self.path.exists() else ()
        return [entry.text for entry in found if entry.kind == MESSAGE]

    @property
    def chain(self):
        return chains.chain_of(self.store, "mine", "n1")

    def id_of(self, text):
        return next(entry.id for entry in read(self.path, LONGEST).entries if entry.text == text)

    def tree(self, account="mine", session="n1"):
        """Return a session as it is stored: what follows on what, labels, and where it goes on."""
        placed = links(self.store, account, session)
        rows = {entry.entry_id: entry for entry in by_row(self.store, [link.row_id for link in placed])}
        parents = {link.entry_id: link.parent_entry_id or NO_PARENT for link in placed}
        shown = {key: parents[key] for key, entry in rows.items() if entry.kind != LABEL}
        chain = chains.chain_of(self.store, account, session)
        return shown, labels.of_chain(self.store, chain), leaves.find_leaf(self.store, account, session)


@pytest.fixture
def talk(tmp_path):
    talk = Talk(tmp_path)
    yield talk
    talk.store.close()


def test_nothing_is_written_before_the_first_answer_and_only_appended_after_it(talk):
    assert ([], False) == (talk.says("one?"), talk.path.exists())
    assert ["one?", "yes"] == talk.says("yes")
    before = talk.path.read_bytes()
    assert 0o600 == stat.S_IMODE(talk.path.stat().st_mode)
    assert before == (talk.follow() and talk.path.read_bytes())
    assert ["one?", "yes", "two?", "no"] == talk.says("two?", "no")
    assert talk.path.read_bytes().startswith(before)
    assert ("s1", 2, "/work") == tuple(json.loads(before.splitlines()[0]).get(key) for key in ("id", "version", "cwd"))


def test_a_session_in_which_nobody_has_asked_anything_leaves_no_file(talk):
    assert ([], False) == (talk.says("welcome"), talk.path.exists())


def test_secrets_do_not_come_into_the_file(talk):
    talk.says(f"my key is {SECRET}?", f"{SECRET} it is")

    assert SECRET.encode() not in talk.path.read_bytes()


def test_an_import_of_the_file_gives_the_same_tree_through_moves_and_labels(talk, tmp_path):
    talk.says("one?", "yes", "two?", "no")
    answer, end = talk.id_of("yes"), talk.id_of("no")
    for label in ("first", "here", ""):
        labels.put(talk.store, talk.chain, end, label, AT)
        labels.put(talk.store, talk.chain, answer, f"{label}!", AT)
        talk.follow()
    leaves.move_to(talk.store, talk.chain, answer)
    for moved_to in (answer, "", end, answer):
        leaves.move_to(talk.store, talk.chain, moved_to)
        talk.follow()
        done = import_file(talk.store, talk.path, tmp_path / "copies", LONGEST, AT)
        assert ("s1", talk.tree()) == (done.session_id, talk.tree(OF_FILES, "s1"))
    assert {answer: "!"} == talk.tree()[1]
    talk.says("another way?", "well")
    import_file(talk.store, talk.path, tmp_path / "copies", LONGEST, AT)
    assert talk.tree() == talk.tree(OF_FILES, "s1")


def test_what_a_transcript_gives_another_id_waits_for_it(talk):
    talk.says("one?")
    live_sessions.update(talk.store, "s1", AT, native_id="n1")
    assert [] == talk.follow("mine")
    for text, role in (("one?", "user"), ("yes", "assistant")):
        body = json.dumps([{"type": "text", "text": text}])
        with talk.store.write():
            line = EntryLine("n1", f"of-{text}", to_text(AT + timedelta(seconds=9)), role, body=body)
            entries.insert_new(talk.store, "mine", [line], AT)
            takeovers.take_over_all(talk.store, "mine", ["n1"], live_events.restore_entries)
            imported.adopt(talk.store, "mine", ["n1"])

    assert ["one?", "yes"] == talk.follow("mine")
    assert {"of-one?", "of-yes"} <= {entry.id for entry in read(talk.path, LONGEST).entries}


def test_what_only_we_know_of_leaves_no_gap_and_a_summary_of_ours_comes_along(talk):
    talk.says("one?", "yes")
    answer = talk.id_of("yes")
    with talk.store.write():
        own_entries.add(talk.store, talk.chain, MODEL_CHANGE, "other/model", AT + timedelta(seconds=talk.number))
        own_entries.add(talk.store, talk.chain, BRANCH_SUMMARY, "what was left", AT + timedelta(hours=1), answer)
    talk.says("two?", "no")
    found = {entry.id: entry for entry in read(talk.path, LONGEST).entries}

    assert [BRANCH_SUMMARY] == [entry.kind for entry in found.values() if entry.text == "what was left"]
    assert MODEL_CHANGE not in {entry.kind for entry in found.values()}
    assert {answer} == {entry.parent_id for entry in found.values() if entry.text in ("two?", "what was left")}


def test_a_session_that_was_merged_meanwhile_takes_no_entry_and_says_so(talk):
    with talk.store.write(), pytest.raises(SessionNotFound, match="is not there any more"):
        own_entries.add(talk.store, "merged", MODEL_CHANGE, "other/model", AT)
    own_entries.drop(talk.store, "merged", ["live:1"])


def test_a_torn_line_stays_one_bad_line_and_what_it_held_comes_again(talk):
    talk.says("one?", "yes")
    whole = talk.path.read_bytes()
    talk.says("two?", "no")
    talk.path.write_bytes(talk.path.read_bytes()[: len(whole) + 20])
    (talk.folder / ".written.json").unlink()

    assert ["one?", "yes", "two?", "no"] == talk.follow()
    assert 1 == read(talk.path, LONGEST).problem_count


def test_the_file_goes_with_its_session(talk):
    talk.says("one?", "yes")
    chains.note_deleted(talk.store, talk.chain, to_text(AT))
    assert ([], False) == (talk.follow(), talk.path.exists())
    chains.note_deleted(talk.store, talk.chain, None)
    assert ["one?", "yes"] == talk.follow()
    removal.remove(talk.store, "s1")
    assert ([], False) == (talk.follow(), talk.path.exists())


def test_the_file_goes_with_a_session_that_many_others_have_changed_since(talk, monkeypatch):
    talk.says("one?", "yes")
    chains.note_deleted(talk.store, talk.chain, to_text(AT))
    monkeypatch.setattr(session_mirror, "_MOST", 0)

    assert ([], False) == (talk.follow(), talk.path.exists())


def test_a_file_that_cannot_be_written_keeps_no_other_from_it(talk):
    talk.says("one?", "yes")
    live_sessions.insert(talk.store, LiveSession("s0", "/work", "mine", "acp", "a-model", AT, AT + timedelta(days=1)))
    live_sessions.update(talk.store, "s0", AT + timedelta(days=1), native_id="n0")
    happened = [
        ev.SessionOpened("n0"),
        *(ev.ItemEnded(ev.Item(text, kind, "completed", text), "t") for kind, text in TALK),
    ]
    numbered = [ev.Numbered(number, to_text(AT), event) for number, event in enumerate(happened, 1)]
    live_events.append(talk.store, "s0", numbered)
    live_entries.enter(talk.store, "s0")
    (talk.folder / "s0.jsonl").mkdir()

    talk.path.unlink()
    with pytest.raises(OSError, match=r"s0\.jsonl"):
        talk.follow()
    assert ["one?", "yes"] == talk.texts()


def test_another_s_file_in_its_place_is_left_alone(talk):
    talk.folder.mkdir()
    talk.path.write_text("notes\n")
    with pytest.raises(Exception, match="left as it is"):
        talk.says("one?", "yes")

    assert "notes\n" == talk.path.read_text()


def kill_before_change(number, work):
    """Do some work in a child that is killed before one of its changes to the disk, and return whether it was."""
    child = os.fork()
    if not child:
        numbers = count(1)

        def die(event, arguments):
            is_written = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE
            if (is_written or event in ("os.rename", "os.remove")) and next(numbers) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(die)
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_a_kill_at_any_step_and_writers_at_once_leave_each_entry_once(talk):
    texts = []
    for number in count(1):
        texts += [f"{number}?", f"{number}."]
        talk.happens(ev.ItemEnded(ev.Item(f"u{number}", "user_message", "completed", f"{number}?"), "t"))
        talk.happens(ev.ItemEnded(ev.Item(f"a{number}", "agent_message", "completed", f"{number}."), "t"))
        live_entries.enter(talk.store, "s1")
        was_killed = kill_before_change(number, lambda: follow(open_store(talk.state), talk.folder, (), LONGEST))

        assert talk.texts() in ([], texts[:-2], texts)
        assert texts == talk.follow()
        if not was_killed:
            break
    assert number > 3


def test_two_writers_at_once_write_each_entry_once(talk):
    talk.says("one?", "yes")
    for _ in range(3):
        talk.happens(ev.ItemEnded(ev.Item("x", "agent_message", "completed", "more"), "t"))
        live_entries.enter(talk.store, "s1")
        child = os.fork()
        if not child:
            follow(open_store(talk.state), talk.folder, (), LONGEST)
            os._exit(0)
        talk.follow()
        assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ["one?", "yes", *["more"] * 3] == talk.follow()

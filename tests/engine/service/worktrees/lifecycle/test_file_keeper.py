"""A live session's files are kept in a thread of its host: in order, never mixed with a later turn, and never fatal."""

import subprocess
import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.live.sessions import LiveSession, Turn
from oulipoly_engine.core.sessions.turn_files import Moment
from oulipoly_engine.service.worktrees.base.place import Place, is_in_repository
from oulipoly_engine.service.worktrees.snapshot.keeper import FileKeeper
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_sessions, turn_files

PATIENCE_S = 60.0


class Kept:
    """A checkout, its keeper, and the state file with two turns."""

    def __init__(self, root):
        self.folder = root / "work"
        self.folder.mkdir()
        self.git("init", "-q")
        self.store = open_store(root / "state.db")
        now = SystemClock().now()
        live_sessions.insert(self.store, LiveSession("s1", str(self.folder), "r", "claude", "m", now, now))
        for turn in ("t1", "t2"):
            live_sessions.insert_turn(self.store, Turn(turn, "s1", "user", "starting", "hi", "", now))
        self.keeper = FileKeeper(Place("s1", self.folder), SystemClock())

    def git(self, *words):
        done = subprocess.run(["git", "-C", self.folder, *words], capture_output=True, check=True)
        return done.stdout.decode().split()

    def keep(self, turn=""):
        self.keeper.ask(turn)
        self.keeper.start()
        return self.keeper.settle(self.store, PATIENCE_S)

    @property
    def rows(self):
        return dict(turn_files.find_references(self.store, ["t1", "t2"]))

    def text_of(self, turn, moment):
        return self.git("show", f"{self.rows[turn, moment]}:a")


@pytest.fixture
def kept(tmp_path):
    kept = Kept(tmp_path)
    yield kept
    kept.store.close()


def test_the_files_before_the_first_turn_and_after_each_are_kept(kept):
    (kept.folder / "a").write_text("one")
    assert "" == kept.keep()
    kept.keeper.note_begin(kept.store, "t1")
    (kept.folder / "a").write_text("two")
    assert "" == kept.keep("t1")

    assert [("t1", Moment.AFTER), ("t1", Moment.BEFORE)] == sorted(kept.rows)
    assert (["one"], ["two"]) == (kept.text_of("t1", Moment.BEFORE), kept.text_of("t1", Moment.AFTER))
    references = kept.git("for-each-ref")
    assert "" == kept.keep("t2")  # which has changed nothing
    assert (references, kept.rows["t1", Moment.AFTER]) == (kept.git("for-each-ref"), kept.rows["t2", Moment.AFTER])


def test_files_are_kept_in_the_order_in_which_that_was_asked_for_however_late_a_thread_begins(kept):
    take, has_second, taken = kept.keeper._take, threading.Event(), []

    def begin_late(asked, before):
        assert before is not None or has_second.wait(PATIENCE_S)
        has_second.set()
        take(asked, before)
        taken.append(asked.turn_id)

    kept.keeper._take = begin_late
    kept.keeper.ask()
    kept.keeper.start()
    assert "" == kept.keep("t1")
    assert ["", "t1"] == taken


def test_what_is_taken_while_the_agent_uses_a_tool_counts_as_none(kept):
    kept.keeper.ask()
    kept.keeper.note_begin(kept.store, "t1")
    kept.keeper.start()  # the turn has begun, and nothing was done in it
    assert "" == kept.keeper.settle(kept.store, PATIENCE_S)
    assert [("t1", Moment.BEFORE)] == [*kept.rows]

    kept.keeper.ask("t1")
    kept.keeper.note_begin(kept.store, "t2")
    kept.keeper.start()
    kept.keeper.note_work()
    assert "" == kept.keeper.settle(kept.store, PATIENCE_S)
    assert [("t1", Moment.BEFORE)] == [*kept.rows]
    assert "" == kept.keep("t2")
    assert {("t1", Moment.BEFORE), ("t2", Moment.AFTER)} == {*kept.rows}


@pytest.mark.parametrize("change", ["write", "remove"])
def test_what_a_turn_changes_without_a_word_before_the_last_snapshot_is_taken_is_not_in_it(kept, change):
    (kept.folder / "a").write_text("one")
    kept.keep("t1")
    (kept.folder / "a").write_text("two")
    kept.keeper.ask("t1")
    kept.keeper.note_begin(kept.store, "t2")
    (kept.folder / "a").unlink()
    if change == "write":
        (kept.folder / "a").write_text("three")
    kept.keeper.start()

    assert "" == kept.keeper.settle(kept.store, PATIENCE_S)
    assert ["one"] == kept.text_of("t1", Moment.AFTER)  # of the one before
    assert [("t1", Moment.AFTER)] == [*kept.rows]


def test_what_a_person_changes_between_two_turns_is_kept_as_the_second_begins(kept):
    kept.keeper._clock = SimpleNamespace(now=lambda: SystemClock().now() + timedelta(minutes=1))  # long after it
    (kept.folder / "a").write_text("one")
    kept.keep("t1")
    for text in (None, "by-hand"):
        if text:
            (kept.folder / "a").write_text(text)
        kept.keeper.note_begin(kept.store, "t2")
        kept.keeper.start()
        assert "" == kept.keeper.settle(kept.store, PATIENCE_S)
        assert (text is not None) is (("t2", Moment.BEFORE) in kept.rows)

    assert (["one"], ["by-hand"]) == (kept.text_of("t1", Moment.AFTER), kept.text_of("t2", Moment.BEFORE))


def test_whoever_waits_is_woken_when_all_is_there(kept):
    woken = threading.Event()
    kept.keeper.wake = woken.set
    kept.keeper.ask()
    kept.keeper.start()

    assert woken.wait(PATIENCE_S)
    kept.keeper.note_begin(kept.store, "t1")
    assert "" == kept.keeper.settle(kept.store)
    assert [("t1", Moment.BEFORE)] == [*kept.rows]


def test_a_failure_is_told_once_and_ends_it(kept):
    (kept.folder / ".git" / "refs" / "agent-runner").write_text("a file where a folder is to be")
    (kept.folder / "a").write_text("one")

    assert "git update-ref" in kept.keep("t1")
    assert ("", {}) == (kept.keep("t2"), kept.rows)


def test_without_a_repository_nothing_is_asked_for(kept, tmp_path):
    keeper = FileKeeper(None, SystemClock())
    keeper.ask()
    keeper.start()

    assert "" == keeper.settle(kept.store)
    assert {} == kept.rows
    assert (True, False) == (is_in_repository(kept.folder / "deep"), is_in_repository(tmp_path))

"""The live follower: real folders, real processes that append, a real store."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.accounts.accounts import SessionScripts, StorageType
from oulipoly_engine.errors import StoreUnusable
from oulipoly_engine.events import EntriesIngested, Listeners
from oulipoly_engine.process.lock import try_lock
from oulipoly_engine.service.following.follow import Follower, Following
from oulipoly_engine.service.following.notices import Notices
from oulipoly_engine.service.following.plan import plan
from oulipoly_engine.service.following.session_follower import TranscriptFollower, TranscriptGrew
from oulipoly_engine.service.reading.pages import FilePages
from oulipoly_engine.service.transcripts.ingest import Ingester
from oulipoly_engine.store.base.db import open_store

PATIENCE_S = 60.0
OPENCODE = Path(__file__).parents[3] / "fixtures" / "transcripts" / "opencode" / "opencode-1.18.33.sql"
GEMINI = OPENCODE.parents[1] / "gemini/tmp/proj/chats/session-2026-11-21T04-07-8dd3ea41.jsonl"


def line(entry_id, session_id="S", text="hello"):
    message = {"id": f"msg_{entry_id}", "model": "m", "content": [{"type": "text", "text": text}]}
    message["usage"] = {"input_tokens": 1, "output_tokens": 2}
    value = {"type": "assistant", "uuid": entry_id, "timestamp": "2026-04-17T08:00:00Z", "sessionId": session_id}
    return json.dumps(value | {"message": message}, separators=(",", ":")) + "\n"


class Bench:
    """Accounts of Claude Code's, followed."""

    def __init__(self, folder):
        self.folder = folder
        self.scripts = {}
        self.told = []
        self.arrived = threading.Condition()
        self.followers = []
        self.store = open_store(folder / "state.db")
        self.notices = Notices()
        self.listeners = Listeners()
        self.listeners.subscribe(self._note)

    def claude(self, name="a"):
        """Add an account and return its folder of transcripts."""
        base = self.folder / f"{name}-projects"
        base.mkdir(exist_ok=True)
        self.scripts[name] = SessionScripts(f"claude-code-turns '{base}'")
        return base

    def ingester(self):
        data = self.folder
        return Ingester(
            self.store,
            dict(self.scripts),
            SystemClock(),
            home=data,
            environ={},
            state_root=data / "sessions",
            locks=data / "locks",
            listeners=self.listeners,
        )

    def begin(self):
        return Following(self.store, self.ingester(), plan({}, self.scripts, self.folder, {}), self.notices)

    def follow(self, **more):
        """Start a follower and wait until it is up with everything."""
        follower = Follower(self.begin, SystemClock(), **more)
        self.followers.append(follower)
        assert follower.ready.wait(PATIENCE_S)
        return follower

    def stored(self):
        """Return the stored entries' ids."""
        return {row[0] for row in self.store.rows("SELECT turn_id FROM session_turns")}

    def calls(self):
        return self.store.rows("SELECT COUNT(*) FROM ledger_calls")[0][0]

    def wait(self, claim):
        """Wait until a claim about what is stored holds; looked at after each event."""
        deadline = time.monotonic() + PATIENCE_S
        with self.arrived:
            while not claim():
                left = deadline - time.monotonic()
                assert left > 0, "it never came true"
                self.arrived.wait(min(left, 0.2))

    def _note(self, event):
        with self.arrived:
            self.told.append(event)
            self.arrived.notify_all()


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    for follower in bench.followers:
        follower.close()
    bench.store.close()


class OpencodeStore:
    """A database as opencode keeps it, and what opencode would write into it."""

    def __init__(self, folder):
        self.folder = folder
        self.database = sqlite3.connect(folder / "opencode.db", isolation_level=None)
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.executescript(OPENCODE.read_text())
        self.now = 1795234060000

    def message(self, session, message_id, role="user", **data):
        """Insert a message as it begins."""
        self.now += 1000
        value = {"role": role, "time": {"created": self.now}} | data
        row = (message_id, session, self.now, self.now, json.dumps(value))
        self.database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)

    def part(self, session, message_id, text):
        """Insert a part of a message."""
        row = (f"prt_{message_id}", message_id, session, self.now, self.now, json.dumps({"type": "text", "text": text}))
        self.database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)

    def complete(self, message_id):
        """End an answer."""
        self.now += 1000
        sql = "UPDATE message SET time_updated = ?1, data = json_set(data, '$.time.completed', ?1) WHERE id = ?2"
        self.database.execute(sql, (self.now, message_id))

    def say(self, session, message_id, text):
        """Insert what a user said."""
        self.message(session, message_id)
        self.part(session, message_id, text)


@pytest.fixture
def opencode(tmp_path):
    folder = tmp_path / "opencode"
    folder.mkdir()
    store = OpencodeStore(folder)
    yield store
    store.database.close()


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_an_append_becomes_an_event_that_names_its_session(bench):
    path = bench.claude() / "p" / "s.jsonl"
    path.parent.mkdir()
    append(path, line("one"))
    bench.follow()
    bench.told.clear()

    append(path, line("two", "T"))
    bench.wait(lambda: bench.told)

    event = bench.told[0]
    assert EntriesIngested(event.at, "a", 1, ("T",)) == event
    assert {"one", "two"} == bench.stored()
    bench.wait(lambda: bench.calls() == 2)


def test_what_was_written_while_nobody_followed_is_read_at_the_start(bench):
    base = bench.claude()
    for number in range(30):
        folder = base / f"p{number % 5}"
        folder.mkdir(exist_ok=True)
        append(folder / f"{number}.jsonl", line(f"t{number}"))

    bench.follow()

    assert 30 == len(bench.stored())
    assert 30 == bench.calls()


def test_a_half_line_is_read_once_it_has_ended(bench):
    path = bench.claude() / "s.jsonl"
    append(path, line("one"))
    bench.follow()

    text = line("two")
    append(path, text[:40])
    append(path.with_name("other.jsonl"), line("mark"))
    bench.wait(lambda: "mark" in bench.stored())
    before = bench.stored()
    append(path, text[40:])
    bench.wait(lambda: "two" in bench.stored())

    assert {"one", "mark"} == before


def test_a_file_made_at_once_in_a_new_folder_is_never_missed(bench):
    base = bench.claude()
    bench.follow()

    for number in range(20):
        deep = base / f"new{number}" / "in" / "it"
        deep.mkdir(parents=True)
        append(deep / "s.jsonl", line(f"t{number}"))

    bench.wait(lambda: {f"t{number}" for number in range(20)} <= bench.stored())


def test_two_thousand_appends_of_another_process_are_all_stored_in_few_passes(bench):
    base = bench.claude()
    append(base / "s0.jsonl", line("first"))
    bench.follow()
    bench.told.clear()
    writer = (
        "import sys, pathlib\n"
        "for number in range(2000):\n"
        "    with open(pathlib.Path(sys.argv[1], f's{number % 10}.jsonl'), 'a') as file:\n"
        "        file.write(sys.argv[2].replace('TURN', f't{number}'))\n"
    )

    subprocess.run([sys.executable, "-c", writer, str(base), line("TURN")], check=True)
    bench.wait(lambda: len(bench.stored()) == 2001)

    assert 2000 == sum(event.new_turns for event in bench.told)
    assert len(bench.told) < 400


@pytest.mark.parametrize("way", ["truncated", "replaced", "rotated"])
def test_a_transcript_that_is_written_anew_is_read_anew(bench, way):
    path = bench.claude() / "s.jsonl"
    append(path, line("one") + line("two"))
    bench.follow()

    if way == "truncated":
        path.write_text(line("three"))
    elif way == "replaced":
        fresh = path.with_suffix(".tmp")
        fresh.write_text(line("three"))
        fresh.replace(path)
    else:
        path.rename(path.with_name("old.jsonl"))
        path.write_text(line("three"))
    bench.wait(lambda: "three" in bench.stored())

    assert {"one", "two", "three"} == bench.stored()


def test_deleted_transcripts_and_folders_take_nothing_away(bench):
    base = bench.claude()
    (base / "p").mkdir()
    append(base / "p" / "s.jsonl", line("one"))
    bench.follow()

    shutil.rmtree(base / "p")
    (base / "p").mkdir()
    append(base / "mark.jsonl", line("mark"))
    bench.wait(lambda: "mark" in bench.stored())
    append(base / "p" / "s.jsonl", line("two"))
    bench.wait(lambda: "two" in bench.stored())

    assert {"one", "mark", "two"} == bench.stored()


def test_a_root_that_is_made_later_is_followed(bench):
    base = bench.claude()
    base.rmdir()
    bench.follow()

    base.mkdir()
    append(base / "s.jsonl", line("one"))
    bench.wait(lambda: "one" in bench.stored())
    append(base / "s.jsonl", line("two"))
    bench.wait(lambda: "two" in bench.stored())


def test_an_account_is_read_once_another_process_has_let_go_of_it(bench):
    path, other = bench.claude() / "s.jsonl", bench.claude("b") / "s.jsonl"
    append(path, line("one"))
    bench.follow()

    with try_lock(bench.folder / "locks" / "a.lock") as is_ours:
        append(path, line("two"))
        append(other, line("mark"))
        bench.wait(lambda: "mark" in bench.stored())
        held = bench.stored() - {"mark"}
    bench.wait(lambda: "two" in bench.stored())

    assert is_ours
    assert {"one"} == held


def test_a_cursor_of_the_follower_serves_the_next_scan_of_anybody(bench):
    path = bench.claude() / "s.jsonl"
    append(path, line("one"))
    follower = bench.follow()
    append(path, line("two"))
    bench.wait(lambda: "two" in bench.stored())
    follower.close()

    append(path, line("three"))
    done = bench.ingester().ingest_accounts(("a",))[0]

    assert (1, 1) == (done.script_lines, done.new_turns)


def test_another_ones_scan_meanwhile_costs_and_doubles_nothing(bench):
    path = bench.claude() / "s.jsonl"
    append(path, line("one"))
    bench.follow()
    append(path, line("two"))
    bench.wait(lambda: "two" in bench.stored())

    bench.ingester().ingest_accounts(("a",))
    append(path, line("three"))
    bench.wait(lambda: "three" in bench.stored())

    assert 3 == bench.store.rows("SELECT COUNT(*) FROM session_turns")[0][0]


def test_closing_in_the_middle_of_a_backlog_is_quick_and_loses_nothing(bench):
    base = bench.claude()
    for number in range(60):
        (base / f"{number}.jsonl").write_text(
            "".join(line(f"{number}-{entry}", text="x" * 900) for entry in range(150))
        )
    follower = Follower(bench.begin, SystemClock())
    bench.wait(lambda: bench.told)

    follower.close()
    part = len(bench.stored())
    bench.follow()

    assert 0 < part < 9_000 == len(bench.stored())


def test_a_changed_configuration_is_taken_up(bench):
    append(bench.claude() / "s.jsonl", line("one"))
    follower = bench.follow()

    append(bench.claude("b") / "s.jsonl", line("two"))
    follower.renew()

    bench.wait(lambda: "two" in bench.stored())


def test_links_to_folders_are_not_followed(bench):
    base, outside = bench.claude(), bench.folder / "outside"
    outside.mkdir()
    (base / "loop").symlink_to(base)
    (base / "away").symlink_to(outside)
    bench.follow()

    append(outside / "s.jsonl", line("foreign"))
    append(base / "s.jsonl", line("ours"))
    bench.wait(lambda: "ours" in bench.stored())

    assert {"ours"} == bench.stored()


def test_without_watches_the_files_that_were_busy_are_looked_at(bench, monkeypatch):
    def refuse(_folders, _told):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("oulipoly_engine.service.following.folder_watch.folder_events", refuse)
    path = bench.claude() / "p" / "s.jsonl"
    path.parent.mkdir()
    append(path, line("one"))
    bench.follow()

    append(path, line("two"))
    bench.wait(lambda: "two" in bench.stored())
    (path.parent.parent / "q").mkdir()
    append(path.parent.parent / "q" / "new.jsonl", line("three"))
    bench.wait(lambda: "three" in bench.stored())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells at once")
def test_a_shown_session_is_told_of_by_the_follower_of_all(bench):
    path = bench.claude() / "p" / "s.jsonl"
    path.parent.mkdir()
    append(path, line("one"))
    bench.follow()
    pages = FilePages(path, StorageType.CLAUDE_CODE)
    shown = TranscriptFollower(pages, "key", bench.listeners, SystemClock(), 0.001, bench.notices)
    bench.wait(lambda: shown._notice._is_covered)

    append(path, line("two"))
    bench.wait(lambda: any(isinstance(event, TranscriptGrew) for event in bench.told))

    shown.close()
    assert shown._notice._own is None
    bench.wait(lambda: "two" in bench.stored())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the folders that are watched")
def test_where_the_kernel_watches_no_more_folders_files_are_looked_at(bench, monkeypatch):
    monkeypatch.setattr("oulipoly_engine.service.following.folder_events.KernelEvents.add", lambda *_: False)
    path = bench.claude() / "p" / "s.jsonl"
    path.parent.mkdir()
    append(path, line("one"))
    bench.follow()

    append(path, line("two"))
    bench.wait(lambda: "two" in bench.stored())

    assert not bench.notices.covers(str(path))


def test_a_state_file_that_cannot_be_opened_is_said_and_ends_nothing():
    tried = threading.Event()

    def begin():
        tried.set()
        raise StoreUnusable("it is locked")

    follower = Follower(begin, SystemClock())
    assert tried.wait(PATIENCE_S)
    follower.close()

    assert "it is locked" == follower.problem


def test_nothing_is_imported_for_watching_before_a_follower_runs():
    code = (
        "import sys, oulipoly_engine.service.following.follow, oulipoly_engine.facade.engine\n"
        "print([name for name in ('watchfiles', 'anyio') if name in sys.modules])"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]\n" == said.stdout


def test_an_opencode_database_is_followed(bench, opencode):
    bench.scripts["o"] = SessionScripts(f"opencode-turns '{opencode.folder}'")
    bench.follow()
    bench.wait(lambda: len(bench.stored()) == 23)

    opencode.say("ses_e03b6b4cbffeMCq4uCbKk1rWZt", "msg_new", "more")
    bench.wait(lambda: bench.told and bench.told[-1].new_turns == 1)

    assert ("ses_e03b6b4cbffeMCq4uCbKk1rWZt",) == bench.told[-1].sessions
    assert "msg_new" in bench.stored()


def test_a_log_of_gemini_is_followed(bench):
    chats = bench.folder / "tmp" / "p" / "chats"
    chats.mkdir(parents=True)
    bench.scripts["g"] = SessionScripts(f"gemini-turns '{bench.folder / 'tmp'}'")
    bench.follow()

    path = chats / "session-2026-11-21T04-07-8dd3ea41.jsonl"
    for text in GEMINI.read_text().splitlines(keepends=True):
        append(path, text)
    bench.wait(lambda: bench.told and len(bench.stored()) == 5)

    assert {"8dd3ea41-cf30-4615-bec2-350de1bc3bbe"} == {session for event in bench.told for session in event.sessions}

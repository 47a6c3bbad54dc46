"""A glance at the transcripts before a question: what is new is stored, quickly, and nothing else is touched."""

import json
import os
import time
from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.process.lock import try_lock
from oulipoly_engine.service.transcripts.ingest import Ingester
from oulipoly_engine.service.transcripts.quick_ingest import QuickIngest
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.testing import FakeClock


def line(number, session="S", **more):
    record = {"type": "user", "uuid": f"{session}-{number}", "sessionId": session, "message": "hello"}
    return json.dumps(record | {"timestamp": "2026-04-17T08:00:00Z"} | more) + "\n"


class Bench:
    """Claude accounts, and looks at them."""

    def __init__(self, folder):
        self.folder, self.scripts, self.readers = folder, {}, 0
        self.store = open_store(folder / "state.db")

    def account(self, name):
        root = self.folder / name / "projects"
        (root / "-work").mkdir(parents=True)
        self.scripts[name] = SessionScripts(f"claude-code-turns {root}")
        return root / "-work"

    def ingester(self):
        self.readers += 1
        places = {"home": self.folder, "state_root": self.folder / "states", "locks": self.folder / "locks"}
        return Ingester(self.store, self.scripts, FakeClock(), environ=dict(os.environ), **places)

    def look(self, budget_s=60.0):
        self.readers = 0
        places = self.folder, self.folder / "states"
        return QuickIngest(self.store, self.scripts, *places, self.ingester, budget_s=budget_s).look()

    def scan(self):
        self.ingester().ingest_accounts(list(self.scripts))

    def settle(self):
        """Look once, and let all that have happened till now be long ago."""
        self.look()
        for mark in self.folder.rglob("*.looked"):
            later = mark.stat().st_mtime_ns + 11_000_000_000
            os.utime(mark, ns=(later, later))

    def stored(self, name):
        return entries.of_account(self.store, name)


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.store.close()


def test_new_and_grown_transcripts_are_stored(bench):
    folder = bench.account("a")
    (folder / "S.jsonl").write_text(line(1))
    bench.scan()
    with (folder / "S.jsonl").open("a") as file:
        file.write(line(2))
    (folder / "T.jsonl").write_text(line(1, "T"))

    assert 2 == bench.look().new_turns
    assert 0 == bench.look().new_turns
    assert 3 == bench.stored("a")


def test_where_nothing_has_happened_no_cursor_and_no_transcript_is_read(bench, monkeypatch):
    (bench.account("a") / "S.jsonl").write_text(line(1))
    bench.settle()
    before = time.time_ns()
    monkeypatch.setattr("time.time_ns", lambda: before + 20_000_000_000)
    (bench.folder / "states" / "a" / "claude-code-turns.json").write_text("no cursor")

    assert (0, 0, []) == (bench.look().new_turns, bench.readers, bench.look().problems)


def test_a_transcript_that_was_copied_here_with_an_old_date_is_seen(bench):
    folder = bench.account("a")
    (folder / "S.jsonl").write_text(line(1))
    bench.look()
    (folder / "T.jsonl").write_text(line(1, "T"))
    os.utime(folder / "T.jsonl", (1, 1))

    assert 1 == bench.look().new_turns


def test_what_does_not_fit_is_left_and_named_and_read_the_next_time(bench):
    folder = bench.account("a")
    for number in range(120):
        (folder / f"{number}.jsonl").write_text(line(number))

    assert ["a"] == bench.look(budget_s=-1.0).left
    assert (120, []) == (bench.look().new_turns, bench.look().left)


def test_an_enormous_transcript_is_left_to_a_scan_and_the_others_are_read(bench):
    folder = bench.account("a")
    (folder / "S.jsonl").write_text(line(1))
    with (folder / "T.jsonl").open("wb") as file:
        file.truncate(17 << 20)
    found = bench.look()

    assert (1, ["a"]) == (found.new_turns, found.left)


def test_foreign_scripts_are_never_run(bench):
    bench.scripts["f"] = SessionScripts(f"touch {bench.folder / 'ran'}")

    assert 0 == bench.look().new_turns
    assert not (bench.folder / "ran").exists()


def test_an_account_that_another_process_scans_is_left_to_it(bench):
    (bench.account("a") / "S.jsonl").write_text(line(1))
    with try_lock(bench.folder / "locks" / "a.lock"):
        found = bench.look()

    assert (0, []) == (found.new_turns, found.left)
    assert 1 == bench.look().new_turns


def test_bad_lines_are_told_with_file_and_line(bench):
    path = bench.account("a") / "S.jsonl"
    path.write_text(line(1) + line(2, timestamp="never") + '{"type":"user"\n')
    said = bench.look().problems

    assert [True, True] == [any(f"{path}:{number}: " in one for one in said) for number in (2, 3)]


def test_a_state_file_that_was_started_anew_gets_everything(bench):
    (bench.account("a") / "S.jsonl").write_text(line(1))
    bench.settle()
    bench.store.close()
    Path(bench.store.path).unlink()
    bench.store = open_store(bench.folder / "state.db")

    assert 1 == bench.look().new_turns


def test_another_folder_of_the_same_account_is_looked_at_from_its_beginning(bench):
    (bench.account("a") / "S.jsonl").write_text(line(1))
    other = bench.account("b")
    (other / "T.jsonl").write_text(line(1, "T"))
    del bench.scripts["b"]
    bench.settle()
    bench.scripts["a"] = SessionScripts(f"claude-code-turns {other.parent}")

    assert 1 == bench.look().new_turns

"""A replacement cut off at any step: the transcript is the old one or the new, and the next start has rows agree."""

import json
import os
import shlex
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oulipoly_engine.cli.setup import preconditions
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.rewrite.rewrite import read
from oulipoly_engine.core.transcripts.canonical import Origin, render
from oulipoly_engine.paths import from_environment
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.rewrite import replacements
from oulipoly_engine.store.rewrite.replacements import ReplacedEntry
from oulipoly_engine.store.sessions import chains
from oulipoly_tui import entry

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
UNTIL = Path(__file__).resolve().parents[1] / "fixtures" / "replace_until.py"
STEPS = ("staged", "leased", "journaled", "kept", "noted", "written", "renamed", "verified", "cleared", "committed")
NEW_FROM = STEPS.index("renamed")


def lines(*texts):
    shared = {"sessionId": SESSION, "type": "user", "timestamp": "2026-04-17T08:00:00Z"}
    records = (shared | {"uuid": f"t{n}", "message": {"content": text}} for n, text in enumerate(texts, 1))
    return "".join(json.dumps(record) + "\n" for record in records).encode()


class Cut:
    """A session whose rows agree with its transcript, and replacements of it that do not end well."""

    def __init__(self, world, commands):
        self.world, self.commands = world, commands
        self.folder = world.home / "cli"
        self.folder.mkdir()
        self.transcript = self.folder / f"{SESSION}.jsonl"
        self.transcript.write_bytes(lines("one", "two"))
        self.input = world.home / "input.jsonl"
        storage = {
            "kind": "script",
            "cwd_script": 'echo \'{"found": true, "cwd": "/"}\'',
            "transcript_script": f"echo {shlex.quote(str(self.transcript))}",
            "storage_type": "claude_code",
        }
        block = "".join(f"{key} = {json.dumps(value)}\n" for key, value in storage.items())
        world.account("acc", "true", f"[acc.session_storage]\n{block}")
        at = to_text(datetime.now(UTC))
        with closing(open_store(world.data / "state.db")) as store, store.write():
            chains.insert(store, "acc", SESSION, "m", started_at=at, last_used_at=at, reason="initial")
            entries = [
                ReplacedEntry(f"t{n}", at, "user", json.dumps([{"text": text}])) for n, text in ((1, "one"), (2, "two"))
            ]
            place = {"source_file": str(self.transcript), "at": datetime.now(UTC)}
            replacements.replace_entries(store, "acc", SESSION, entries, kept=(), **place)
        origin = Origin(SESSION, "acc", str(self.transcript))
        self.old_export = b"".join(map(render, read(StorageType.CLAUDE_CODE, lines("one", "two"), origin).records))

    def replace(self, content):
        return self.world.run("session", "import-replace", SESSION, stdin=content)

    def until(self, step, deed):
        """Replace "two" by "new" up to a step, and return what the process said."""
        self.input.write_bytes(self.old_export.replace(b'"two"', b'"new"'))
        stdout, _ = self.commands.start([step, deed, self.input, SESSION], program=[UNTIL]).communicate()
        return stdout.decode()

    def start(self):
        """Run any command, and return what it told."""
        done = self.world.run("session", "locate", SESSION)
        return done.stderr.decode()

    def state(self):
        """Return the text that transcript and rows agree on; where they do not, both."""
        rows = self.world.rows("SELECT turn_id, body FROM session_turns ORDER BY timestamp, id")
        stored = [json.loads(row["body"])[0]["text"] for row in rows]
        is_same = lines(*stored) == self.transcript.read_bytes()
        return stored[-1] if is_same else (stored, self.transcript.read_bytes())

    def leftovers(self):
        folder = self.world.data / "replace_journal"
        return sorted(
            str(path.name) for place in (folder, self.folder) for path in place.rglob("*") if path != self.transcript
        )


@pytest.fixture
def cut(world, commands):
    return Cut(world, commands)


@pytest.mark.parametrize("step", STEPS)
def test_killed_replacement_is_finished_or_forgotten_at_the_next_start(cut, step):
    expected = "new" if STEPS.index(step) >= NEW_FROM else "two"

    assert "" == cut.until(step, "die")
    assert cut.transcript.read_bytes() == lines("one", expected)
    told = cut.start()

    assert (expected, []) == (cut.state(), cut.leftovers())
    is_told = step not in ("staged", "leased")
    assert is_told == ("that was cut off" in told)
    kept = len(cut.world.rows("SELECT 1 FROM replacements WHERE committed_at IS NOT NULL"))
    files = [path for path in (cut.world.data / "preimages").rglob("*") if path.is_file()]
    assert (int(expected == "new"), kept) == (kept, len(files))


@pytest.mark.parametrize(
    ("step", "expected"), [("journaled", "two"), ("written", "two"), ("renamed", "new"), ("committed", "new")]
)
def test_line_that_its_cli_appended_after_the_kill_stays_and_hinders_nothing(cut, step, expected):
    cut.until(step, "die")
    with cut.transcript.open("ab") as file:
        file.write(lines("x", "y", "later").splitlines(keepends=True)[2] + b'{"half')

    told = cut.start()

    assert lines("one", expected, "later") + b'{"half' == cut.transcript.read_bytes()
    stored = [json.loads(row["body"])[0]["text"] for row in cut.world.rows("SELECT body FROM session_turns")]
    assert (["one", expected], []) == (stored, cut.leftovers())
    assert "finished" in told or "dropped" in told


def test_line_that_reached_the_former_transcript_at_the_kill_is_carried_over(cut):
    cut.until("renamed", "die")
    (former,) = cut.folder.glob(".*.old.tmp")
    with former.open("ab") as file:
        file.write(lines("x", "y", "late").splitlines(keepends=True)[2])

    told = cut.start()

    assert lines("one", "new", "late") == cut.transcript.read_bytes()
    assert "stand behind the new one" in told
    assert [] == cut.leftovers()


def test_app_that_starts_finishes_it_too(cut):
    cut.until("renamed", "die")

    entry.open_engine(from_environment(), read_only=False).close()

    assert ("new", []) == (cut.state(), cut.leftovers())


@pytest.mark.parametrize("step", ["leased", "journaled", "renamed", "committed"])
def test_session_of_a_killed_replacement_can_be_replaced_at_once(cut, step):
    cut.until(step, "die")

    done = cut.replace(cut.old_export.replace(b'"two"', b'"other"'))

    assert (0, "other", []) == (done.returncode, cut.state(), cut.leftovers())


@pytest.mark.parametrize(("step", "expected"), [("written", "new"), ("renamed", "two")])
def test_killed_undo_is_finished_or_forgotten_too(cut, step, expected):
    cut.until("", "die")

    cut.until(step, "die-undo")
    cut.start()

    assert (expected, []) == (cut.state(), cut.leftovers())


@pytest.mark.parametrize("step", ["start", *STEPS])
def test_disk_that_fills_up_leaves_the_old_or_the_new(cut, step):
    said = cut.until(step, "fill")
    cut.start()

    expected = "new" if step == "written" or step in STEPS[NEW_FROM:] else "two"
    assert (expected, []) == (cut.state(), cut.leftovers())
    assert said.startswith("1 operational-error") or (step, said) == ("committed", "done\n")
    assert "lease" not in said or step == "staged"  # the lease is what could not be taken there
    assert [] == list((cut.world.data / "locks").glob("session-*.lock"))


def test_transcript_that_was_changed_by_hand_is_left_alone_and_the_journal_set_aside(cut):
    cut.until("renamed", "die")
    cut.transcript.write_bytes(lines("mine"))

    told = cut.start()

    assert "compare the transcript" in told
    assert "" == cut.start()
    assert lines("mine") == cut.transcript.read_bytes()
    assert ["quarantine", f"session-{SESSION}.canonical.jsonl", f"session-{SESSION}.pending"] == cut.leftovers()


@pytest.mark.parametrize("content", [b"", b"garbage", b"[]", b'{"schema_version": 1}', b"\xff" * 100])
def test_journal_that_cannot_be_understood_is_set_aside(cut, content):
    folder = cut.world.data / "replace_journal"
    folder.mkdir(exist_ok=True)
    (folder / f"session-{SESSION}.pending").write_bytes(content)

    assert "cannot be understood" in cut.start()
    assert [f"session-{SESSION}.pending"] == [path.name for path in (folder / "quarantine").iterdir()]
    assert "two" == cut.state()


@pytest.mark.parametrize("step", ["journaled", "kept"])
def test_half_written_files_of_a_killed_replacement_go_at_the_next_start(cut, step):
    cut.until(step, "die")
    journals, preimages = cut.world.data / "replace_journal", cut.world.data / "preimages" / "ab"
    preimages.mkdir(parents=True, exist_ok=True)
    half = [journals / f".session-{SESSION}.{name}.4194304.tmp" for name in ("pending", "canonical.jsonl")]
    half.append(preimages / f".{'ab' * 32}.gz.4194304.tmp")
    for path in half:
        path.write_bytes(b"half")

    cut.start()

    assert [] == cut.leftovers()
    assert [] == [path for path in half if path.exists()]


def test_half_written_journal_alone_is_reason_enough_to_look(cut):
    half = cut.world.data / "replace_journal" / f".session-{SESSION}.canonical.jsonl.{os.getpid()}.tmp"
    half.parent.mkdir()
    half.write_bytes(b"half")

    cut.start()

    assert not half.exists()


def test_files_of_others_among_the_journals_stay_and_are_no_reason_to_look(cut):
    theirs = cut.world.data / "replace_journal" / "notes.txt"
    theirs.parent.mkdir()
    theirs.write_bytes(b"mine")

    assert "" == cut.start()
    assert theirs.exists()
    assert not preconditions._has_remains(str(theirs.parent))


def test_start_during_a_replacement_leaves_its_journal_alone(cut):
    cut.input.write_bytes(cut.old_export.replace(b'"two"', b'"new"'))
    process = cut.commands.start(["renamed", "hold", cut.input, SESSION], program=[UNTIL], feeds=True)
    assert b"held\n" == process.stdout.readline()

    told, busy = cut.start(), cut.replace(cut.old_export).returncode
    out, _ = process.communicate(b"go on\n", timeout=60)

    assert ("", 13, b"done\n") == (told, busy, out)
    assert ("new", []) == (cut.state(), cut.leftovers())


def test_many_at_once_leave_one_whole_transcript(cut):
    started = []
    for number in range(6):
        path = cut.world.home / f"input-{number}"
        path.write_bytes(cut.old_export.replace(b'"two"', b'"new %d"' % number))
        command = ["session", "import-replace", SESSION, "--from-file", str(path)]
        started.append(cut.commands.start(command))
    for process in started:
        process.communicate(timeout=60)
    codes = [process.returncode for process in started]

    assert {0, 13} >= set(codes)
    winners = [f"new {number}" for number, code in enumerate(codes) if code == 0]
    assert cut.state() in winners
    assert [] == cut.leftovers()

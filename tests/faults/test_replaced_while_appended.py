"""A transcript that its CLI goes on writing while it is replaced: no record is lost, and rows agree with the file."""

import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import chains

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def entry(number, text):
    shared = {"sessionId": SESSION, "type": "user", "timestamp": "2026-04-17T08:00:00Z"}
    return json.dumps(shared | {"uuid": f"t{number}", "message": {"content": text}}).encode() + b"\n"


class Appended:
    """A Claude session that another process appends to."""

    def __init__(self, world, commands):
        self.world, self.commands = world, commands
        self.transcript = world.home / ".claude" / "projects" / "p" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.transcript.write_bytes(entry(1, "one") + entry(2, "two"))
        storage = {
            "kind": "script",
            "cwd_script": "true",
            "transcript_script": f"echo {shlex.quote(str(self.transcript))}",
            "storage_type": "claude_code",
        }
        block = "".join(f"{key} = {json.dumps(value)}\n" for key, value in storage.items())
        world.account("acc", "true", f"[acc.session_storage]\n{block}")
        (world.config / "sessions.toml").write_text('[acc]\nturn_script = "claude-code-turns ~/.claude/projects"\n')
        at = to_text(datetime.now(UTC))
        with closing(open_store(world.data / "state.db")) as store, store.write():
            chains.insert(store, "acc", SESSION, "m", started_at=at, last_used_at=at, reason="initial")

    @contextmanager
    def appending(self, manner, *, rest_ms):
        """Have a CLI append meanwhile; yields a list that afterwards holds how many records it wrote."""
        command = [sys.executable, FIXTURES / "append_like_a_cli.py", manner, self.transcript, SESSION]
        env = dict(os.environ) | {"REST_MS": str(rest_ms)}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        written = []
        try:
            assert b"ready\n" == process.stdout.readline()
            yield written
        finally:
            out, _ = process.communicate(timeout=60)
        written.append(int(out))

    def replace_often(self, rounds):
        """Replace and undo in one process, and return (operation, exit code, message) of each try."""
        process = self.commands.start([rounds, SESSION], program=[FIXTURES / "replace_again_and_again.py"])
        out, complaint = process.communicate()
        assert 0 == process.returncode, complaint
        return json.loads(out)

    def texts(self):
        return [json.loads(line)["message"]["content"] for line in self.transcript.read_bytes().splitlines()]

    def stored(self):
        """Return the texts of the stored entries, once what was appended since has been read too."""
        scanned = self.world.run("session-scan", "acc")
        assert 0 == scanned.returncode
        assert all(line.endswith(b"and was dropped") for line in scanned.stderr.splitlines()), scanned.stderr
        rows = self.world.rows("SELECT body FROM session_turns ORDER BY timestamp, id")
        return Counter(json.loads(row["body"])[0]["text"] for row in rows)

    def leftovers(self):
        journals = self.world.data / "replace_journal"
        found = [path.name for path in self.transcript.parent.iterdir() if path != self.transcript]
        return found + [path.name for path in journals.rglob("*")]


@pytest.fixture
def appended(world, commands):
    return Appended(world, commands)


def check(appended, count):
    """Assert that nothing was lost or doubled, and that what is stored is what the file holds."""
    one, second, *later = appended.texts()

    assert [f"appended {number}" for number in range(count)] == later
    assert ("one", True) == (one, second == "two" or second.startswith("new "))
    assert Counter(appended.texts()) == appended.stored()
    assert [] == appended.leftovers()


@pytest.mark.parametrize("manner", ["reopen", "halves"])
def test_cli_that_opens_its_transcript_for_each_record_loses_none(appended, manner):
    with appended.appending(manner, rest_ms=60) as written:
        told = appended.replace_often(rounds=10)

    assert {0, 13, 15} >= {code for _, code, _ in told}, told
    check(appended, written[0])


def test_cli_that_keeps_its_transcript_open_is_told_of_and_nothing_is_touched(appended):
    before = appended.transcript.read_bytes()
    with appended.appending("held", rest_ms=60) as written:
        told = appended.replace_often(rounds=3)

    assert {("import-replace", 13)} == {(operation, code) for operation, code, _ in told}
    assert all("the session is live" in message for _, _, message in told), told
    assert appended.transcript.read_bytes().startswith(before)
    check(appended, written[0])


def test_command_says_who_has_the_transcript_open(appended):
    export = appended.world.run("session", "export", SESSION).stdout
    with appended.transcript.open("ab"):
        refused = appended.world.run("session", "import-replace", SESSION, stdin=export.replace(b'"two"', b'"new"'))
        shown = appended.world.run("session", "import-replace", SESSION, "--dry-run", stdin=export)

    error = json.loads(refused.stderr)["error"]
    assert (13, "session-busy", b"") == (refused.returncode, error["code"], refused.stdout)
    assert f"process {os.getpid()} has its transcript" in error["message"]
    assert (0, True) == (shown.returncode, b"the session is live" in shown.stderr)

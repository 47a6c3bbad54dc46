"""Scans, one-shots, archiving and replacing, killed at any moment: nothing is lost, counted twice or left half done.

Two accounts of Claude Code have turn scripts, as after an ordinary set-up.
"""

import json
import os
import re
import signal
import sqlite3
import sys
import time
import uuid
from contextlib import closing, suppress
from itertools import cycle

import pytest

COUNT = 5  # entries of a session's transcript

# A CLI that writes a session: what it was asked, then answers for a while.
CLI = """
import json, os, sys, time, uuid
asked, session = sys.stdin.read(), str(uuid.uuid4())
with open("{pids}/" + str(os.getpid()), "w"):
    pass
def add(number, kind, content):
    now = time.time()  # gmtime() asks a clock that is some milliseconds behind: the stamp would be a second too early
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + ".%06dZ" % (now % 1 * 1e6)
    record = {{"type": kind, "sessionId": session, "uuid": session[:8] + str(number), "timestamp": at}}
    record["cwd"] = os.getcwd()
    with open("{root}/" + session + ".jsonl", "a") as file:
        file.write(json.dumps(record | {{"message": {{"role": kind, "content": content}}}}) + "\\n")
add(0, "user", asked)
for number in range(1, 4):
    time.sleep(0.05)
    add(number, "assistant", "did it")
print("done")
"""


class Homes:
    """The homes of two accounts."""

    def __init__(self, world, tmp_path):
        self.world = world
        self.folder = str(world.home).replace("/", "-").replace("_", "-").replace(".", "-")
        self.pids = tmp_path / "pids"
        self.pids.mkdir()
        for name in ("a", "b"):
            root = world.home / f".{name}" / "projects"
            (root / self.folder).mkdir(parents=True)
            script = tmp_path / f"{name}.py"
            script.write_text(CLI.format(root=root / self.folder, pids=self.pids))
            world.account(
                name,
                f"exec {sys.executable} {script}",
                f"[{name}.resume]\nkind = 'flag'\nflag = '--resume'\n[{name}.session_storage]\nkind = 'script'\n"
                f"cwd_script = 'claude-code-cwd {root}'\ntranscript_script = 'claude-code-locate-transcript {root}'\n"
                "storage_type = 'claude_code'",
            )
            with (world.config / "sessions.toml").open("a") as file:
                file.write(f"[{name}]\nturn_script = 'claude-code-turns {root}'\n")
        world.model("m", "a", "b")

    def path(self, account, session):
        return self.world.home / f".{account}" / "projects" / self.folder / f"{session}.jsonl"

    def begin(self, account="a"):
        """Have a session with so many entries."""
        session = str(uuid.uuid4())
        records = (
            {
                "sessionId": session,
                "uuid": f"{session[:8]}-{number}",
                "cwd": str(self.world.home),
                "type": "assistant" if number % 2 else "user",
                "timestamp": f"2026-01-01T00:{number:02}:00.000Z",
                "message": {"role": "assistant" if number % 2 else "user", "content": f"words {number}" + "x" * 5000},
            }
            for number in range(COUNT)
        )
        self.path(account, session).write_text("".join(json.dumps(record) + "\n" for record in records))
        return session

    def run(self, *arguments, stdin=b""):
        done = self.world.run(*arguments, stdin=stdin)
        assert 0 == done.returncode, (arguments, done.stderr)
        return done

    def counts(self):
        """Return the number of stored entries of each session."""
        rows = json.loads(self.run("session", "list", "--all", "--json").stdout)["conversations"]
        return {row["session_id"]: row["turns"] for row in rows}

    def check(self):
        """The state file is whole."""
        with closing(sqlite3.connect(self.world.data / "state.db")) as connection:
            assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()


@pytest.fixture
def homes(world, tmp_path):
    return Homes(world, tmp_path)


def test_killed_scans(homes, kills):
    homes.begin()
    kills.measure("session-scan")
    for moment in kills:
        added = [homes.begin("a"), homes.begin("b")]
        kills.kill(moment, "session-scan")
        homes.run("session-scan")

        counts = homes.counts()
        assert dict.fromkeys(added, COUNT) == {session: counts.get(session) for session in added}, moment
    assert len(homes.counts()) == 1 + 2 * len(kills)
    homes.check()


def test_killed_one_shots(homes, kills):
    kills.measure("-m", "m", "go")
    for number, moment in enumerate(kills):
        kills.kill(moment, "-m", "m", f"go {number}")
        end_children(homes)
    # A CLI that had not written its number when its runner died ends by itself; until then its row is rightly open.
    deadline = time.monotonic() + 60
    while homes.run("session-scan") and homes.world.rows("SELECT 1 FROM invocations WHERE status = 'running'"):
        assert time.monotonic() < deadline, "a run stays open"
    homes.run("session-scan")  # what a CLI has written since the last one had read, and before it closed the row

    rows = homes.world.rows("SELECT invocation_uuid, status, terminal_reason FROM invocations")
    assert {"succeeded", "failed"} >= {row["status"] for row in rows}
    for row in rows:
        has_file = (homes.world.data / "invocations" / f"{row['invocation_uuid']}.result").exists()
        # Killed between the row and the file, a run's result is told by its row.
        assert has_file or b"OULIPOLY_RESULT=" in homes.world.run("wait", row["invocation_uuid"]).stdout, row
        assert (row["status"], row["terminal_reason"]) in {("succeeded", None), ("failed", "guard_drop")}
    written = {path.stem for path in (homes.world.home).glob(".[ab]/projects/*/*.jsonl")}
    assert written == set(homes.counts())
    held = [row["session_id"] for row in homes.world.rows("SELECT session_id FROM invocations") if row["session_id"]]
    assert len(held) == len(set(held)), "a session belongs to one run"
    # A CLI whose runner died before it had passed the prompt on was asked nothing: nobody can tell whose it was.
    asked = {path.stem for path in (homes.world.home).glob(".[ab]/projects/*/*.jsonl") if '"go' in path.read_text()}
    assert asked <= set(held), "a later scan ties what a killed run has written to it"
    homes.check()


def end_children(homes):
    """Have what outlived its runner end, so that the next look closes its row."""
    for path in homes.pids.iterdir():
        with suppress(ProcessLookupError):
            os.kill(int(path.name), signal.SIGKILL)
            deadline = time.monotonic() + 60
            while not is_gone(path.name) and time.monotonic() < deadline:
                time.sleep(0.01)
        path.unlink()


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - one line
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def test_killed_archiving(homes, kills):
    homes.begin()
    homes.run("session-scan")
    kills.measure("session", "archive")
    for moment in kills:
        session = homes.begin()
        homes.run("session", "list")
        kills.kill(moment, "session", "archive")
        homes.run("session", "archive")
        before = homes.path("a", session).read_bytes()
        homes.path("a", session).unlink()
        homes.run("session", "archive", "--restore", session)

        assert before == homes.path("a", session).read_bytes(), moment
    homes.check()


def test_killed_replacements(homes, kills, tmp_path):
    session = homes.begin()
    homes.run("session-scan")
    new, texts = tmp_path / "new.jsonl", cycle((b"first words", b"second words"))

    def edit():
        """Write the session's export with another beginning, and return it as it was and as it is to be."""
        exported = homes.run("session", "export", session).stdout
        new.write_bytes(re.sub(rb"(first words|second words|words 0)", next(texts), exported, count=1))
        return said(exported), said(new.read_bytes())

    edit()
    kills.measure("session", "import-replace", session, "--from-file", new)
    for moment in kills:
        old, wanted = edit()
        assert old != wanted
        kills.kill(moment, "session", "import-replace", session, "--from-file", new)
        exported = homes.run("session", "export", session).stdout
        assert said(exported) in (old, wanted), moment

        if said(exported) == old:
            homes.run("session", "import-replace", session, "--from-file", new)
        assert wanted == said(homes.run("session", "export", session).stdout), moment
        assert [] == list((homes.world.data / "replace_journal").glob("session-*")), moment
    assert {session: COUNT} == homes.counts()
    homes.check()


def said(exported):
    """Return what an export says, without where it stood."""
    lines = [json.loads(line) for line in exported.splitlines()]
    return [{key: value for key, value in line.items() if key not in ("source", "native")} for line in lines]

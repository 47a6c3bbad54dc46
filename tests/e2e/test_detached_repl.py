"""A session in a terminal of its own: its end is recorded as any other's, seen or not."""

import json
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pexpect
import pytest

from oulipoly_demo import world
from oulipoly_demo.world import Options
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.interactive import terminals
from oulipoly_engine.store.archive import copies
from oulipoly_engine.store.base.db import open_store

READY = "╰─+╯"
PATIENCE_S = 60


def lives(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_for(claim, what):
    deadline = time.monotonic() + PATIENCE_S
    while not (value := claim()):
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(0.02)
    return value


class Detached:
    """A demo's session that runs by itself."""

    def __init__(self, commands, demo, *words):
        self._commands, self.demo = commands, demo
        self.env = world.environment_for(demo, os.environ) | {"TERM": "xterm-256color", "NO_COLOR": "1"}
        self.paths = from_environment(self.env)
        self._shown = []
        done = commands.run(["repl", "--detach", *words], b"", self.env, demo.project, 60)
        assert 0 == done.returncode, done.stderr
        self.id = done.stdout.decode().strip()
        self.terminal = terminals.find(self.paths, SystemClock(), self.id)

    def now(self):
        """Return its terminal as it is now; None when it is gone."""
        return next((one for one in terminals.survey(self.paths, SystemClock()).living if one.id == self.id), None)

    def attach(self):
        cli = self._commands.show(["attach", self.id], self.env, self.demo.project)
        self._shown.append(cli)
        cli.expect(READY)  # of rows that stay as they are nothing more is drawn
        return cli

    @staticmethod
    def talk(cli, text, answer):
        cli.send(f"{text}\r")
        cli.expect(answer)

    def ended(self):
        """Return its row and its result, once both are there."""
        final = wait_for(self._final, "the final row")
        path = self.paths.results / f"{final['invocation_uuid']}.result"
        wait_for(path.exists, "the result file")
        name, _, result = path.read_text().partition("=")
        assert "OULIPOLY_RESULT" == name
        return self._final(), json.loads(result)

    def _final(self):
        with closing(sqlite3.connect(self.paths.state_db)) as connection:
            connection.row_factory = sqlite3.Row
            found = [dict(row) for row in connection.execute("SELECT * FROM invocations ORDER BY 1")]
        return None if found[-1]["finished_at"] is None else found[-1]

    def end(self):
        for cli in self._shown:
            cli.close(force=True)
        now = self.now()
        pids = [] if now is None else [now.host_pid, now.pid, now.screen_pid]
        if now is not None:
            os.kill(now.host_pid, signal.SIGTERM)
        wait_for(lambda: not any(lives(pid) for pid in pids if pid), "the end of every process")


@pytest.fixture
def begin(tmp_path, commands):
    """Begin a session by itself; whatever is left of it is ended."""
    begun = []

    def start(*words):
        demo = begun[0].demo if begun else world.build(tmp_path / "w", options=Options(pace_s=0, seeded=False))
        begun.append(Detached(commands, demo, *words))
        return begun[-1]

    yield start
    for one in begun:
        one.end()


def test_end_is_recorded_with_the_session_and_the_result_file(begin):
    detached = begin("demo-opus")
    cli = detached.attach()
    detached.talk(cli, "the word is turtle", "You said: the word is turtle")
    cli.send("/exit\r")
    cli.expect(pexpect.EOF)

    row, result = detached.ended()
    assert ("succeeded", 0, "turn_script") == (row["status"], row["exit_code"], row["session_capture_method"])
    assert row["session_id"] is not None
    assert (row["invocation_uuid"], True) == (result["id"], result["success"])


def test_session_that_clear_began_is_the_one_that_is_recorded_though_the_cli_is_killed(begin):
    detached = begin("demo-opus")
    cli = detached.attach()
    detached.talk(cli, "one, two, three, four", "You said")
    cli.send("/clear\r")
    cli.expect("A new session")
    detached.talk(cli, "2 + 2", "= 4")
    last = json.loads(next(detached.demo.home.glob("**/sessions/*.json")).read_text())["sessionId"]
    wait_for(lambda: last == detached.now().session_id, "the session in the list of terminals")
    os.kill(detached.terminal.pid, signal.SIGKILL)

    row, result = detached.ended()
    assert ("failed", 137, "killed by signal 9") == (row["status"], row["exit_code"], row["terminal_reason"])
    assert (False, last) == (result["success"], result["provider_session_id"])
    assert last == row["session_id"]


def test_resumed_session_is_recorded_as_resumed_with_its_acceptance(begin):
    first = begin("demo-opus")
    cli = first.attach()
    first.talk(cli, "the word is turtle", "You said")
    cli.send("/exit\r")
    cli.expect(pexpect.EOF)
    session = first.ended()[0]["session_id"]

    again = begin("--resume", session[:8])
    cli = again.attach()
    again.talk(cli, "what did I say so far?", "1\\. the word is turtle")
    cli.send("/exit\r")
    cli.expect(pexpect.EOF)

    row, result = again.ended()
    assert (session, "resumed") == (row["session_id"], row["session_capture_method"])
    assert (row["invocation_uuid"], True) == (result["id"], result["success"])
    assert row["resume_acceptance_status"] is not None


def test_end_that_nobody_saw_is_recorded_too(begin):
    detached = begin("demo-opus")

    os.kill(detached.terminal.pid, signal.SIGKILL)

    row, result = detached.ended()
    assert ("failed", 137, False) == (row["status"], result["exit_code"], result["success"])


def test_transcript_that_it_leaves_is_kept_as_an_attended_ones_is(begin):
    detached = begin("demo-opus")
    cli = detached.attach()
    detached.talk(cli, "the word is turtle", "You said: the word is turtle")
    cli.send("/exit\r")
    cli.expect(pexpect.EOF)
    row = detached.ended()[0]

    def kept():
        with closing(open_store(detached.paths.state_db)) as store:
            return copies.of_session(store, row["provider_name"], row["session_id"])

    assert [row["session_id"]] == [copy.session_id for copy in wait_for(kept, "the copy")]

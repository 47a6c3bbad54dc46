"""A probe: a program is started, says who it is or fails, and is gone afterwards with all that it started."""

import os
import shlex

import pytest

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import ModelInfo, Notice, SessionFailed, SessionOpened
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.drivers.base import Capabilities, Driver
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.records import replace
from oulipoly_engine.service.live.runtimes.probe import run_probe


class LineDriver(Driver):
    """Says hello, and takes the words of a program that speaks plainly."""

    kind = "plain"

    def __init__(self, opening):
        super().__init__(opening)
        self.capabilities = Capabilities(interrupt=True)
        assert opening.is_probe

    @classmethod
    def words(cls, opening):
        return opening.args

    def begin(self):
        self._write(b"hello\n")

    def receive(self, line):
        word, _, rest = line.decode().partition(" ")
        if word == "ready":
            self._say(SessionOpened("", version=rest, account="ann", models=(ModelInfo("m\x1b[31m"),)))
        elif word == "login":
            self._say(SessionFailed(failures.NEEDS_AUTH, rest))
        elif word == "notice":
            self._say(Notice(rest, "warning", "odd"))

    def send(self, turn_id, text):
        raise AssertionError

    def interrupt(self):
        raise AssertionError

    def closing(self):
        self._write(b"bye\n")

    def closed(self):
        pass


@pytest.fixture
def probe(tmp_path):
    """Probe a shell script, as a runtime with some fields of its own."""

    def probe(script, **fields):
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        runtime = replace(Runtime("r", "plain", "R", str(program), startup_s=10.0), **fields)
        return run_probe(runtime, LineDriver, str(program), dict(os.environ), tmp_path, now_ms=lambda: 7)

    return probe


def test_a_program_that_answers_says_who_it_is(probe):
    found = probe('read word; echo "ready 1.2.$word"; cat >/dev/null')

    assert ("", "1.2.hello", "ann", 7) == (found.reason, found.version, found.account, found.models_at_ms)
    assert "\x1b" not in found.models[0].id
    assert found.capabilities["interrupt"]
    assert not found.capabilities["fork"]


def test_it_hears_goodbye_and_the_end_of_its_stdin(probe, tmp_path):
    probe(f"read word; echo ready 1; cat > {shlex.quote(str(tmp_path / 'heard'))}")

    assert "bye\n" == (tmp_path / "heard").read_text()


def test_nobody_logged_in_is_a_reason_of_its_own(probe):
    found = probe("echo login run this first; cat >/dev/null")

    assert (failures.NEEDS_AUTH, "run this first") == (found.reason, found.message)


def test_a_program_that_ends_is_told_with_its_last_word(probe):
    found = probe("echo one >&2; echo 'token=abcdefghijklmnop0123456789' >&2; exit 3")

    assert failures.CLOSED == found.reason
    assert "ended with 3" in found.message
    assert "one" == found.stderr[0]
    assert "abcdefghijklmnop" not in f"{found}"


def test_a_program_that_says_nothing_is_not_waited_for(probe):
    assert failures.TIMED_OUT == probe("cat >/dev/null", startup_s=0.3).reason  # it reads for as long as we let it


def test_nothing_that_it_started_is_left(probe, tmp_path):
    """It ignores TERM and has a child that holds its pipes."""
    pids = tmp_path / "pids"

    found = probe(f"trap '' TERM; sleep 1000 & echo $$ $! > {shlex.quote(str(pids))}; echo ready 1; wait; wait")

    assert "1" == found.version
    assert not any(is_alive(int(pid)) for pid in pids.read_text().split())


def test_a_flood_of_errors_holds_nothing_up_and_its_end_is_kept(probe):
    found = probe(
        "i=0; while [ $i -lt 3000 ]; do echo line $i of a program that complains >&2; i=$((i+1)); done; echo ready 1",
        stderr_lines=5,
    )

    assert "1" == found.version
    assert 5 == len(found.stderr)


def test_what_it_notices_comes_along_and_no_proxy_password(probe):
    found = probe("echo notice no http://ann:CANARY@proxy; echo ready 1", proxy="http://ann:CANARY@proxy")

    assert ["plain_probe.odd"] == [one.code for one in found.diagnostics]
    assert "CANARY" not in f"{found}"


def test_a_program_that_cannot_start_says_why(tmp_path):
    broken = tmp_path / "program"
    broken.write_text("#!/nowhere/interpreter\n")
    broken.chmod(0o755)

    found = run_probe(Runtime("r", "plain", "R", "x"), LineDriver, str(broken), {}, tmp_path)

    assert failures.SPAWN_FAILED == found.reason
    assert found.message

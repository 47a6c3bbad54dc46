"""A driver and a demo CLI at the two ends of a pair of pipes, as a live session has them."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

import pytest

from oulipoly_engine.core.live.events import NativeIdChanged, RequestOpened, SessionOpened, TurnEnded
from oulipoly_engine.core.text.lines import LineSplitter
from oulipoly_engine.drivers.acp import AcpDriver
from oulipoly_engine.drivers.base import Opening, Resolution
from oulipoly_engine.drivers.claude import ClaudeDriver
from oulipoly_engine.drivers.codex import CodexDriver

PATIENCE_S = 60
NEW = "00000000-0000-4000-8000-00000000000{}"
DRIVERS = {"claude": ClaudeDriver, "codex": CodexDriver, "acp": AcpDriver}


class Live:
    """One process and its driver."""

    def __init__(self, wire, home, opening, **environment):
        driver_type = DRIVERS[wire]
        self.driver, self.events = driver_type(opening), []
        vendor = "codex" if wire == "codex" else "claude"
        variables = {
            f"DEMO_{vendor.upper()}_HOME": str(home),
            "DEMO_ACCOUNT": f"demo-{vendor}1",
            "DEMO_PACE": "0",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "oulipoly_demo.clis.agent_cli", vendor, *driver_type.words(opening)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=opening.cwd,
            env={**os.environ, **variables, **environment},
        )
        self._lines = LineSplitter(driver_type.longest_line)
        self._turns = 0
        self.driver.begin()

    def until(self, *kinds, when=lambda event: True):
        """Go on until an event of one of these kinds comes; returns it."""
        seen, end = len(self.events), time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            self.pump()
            found = next((one for one in self.events[seen:] if isinstance(one, kinds) and when(one)), None)
            if found is not None:
                return found
            assert self._read(), f"it has ended: {self.events[seen:]}"
        raise AssertionError(f"none of {kinds} in {self.events[seen:]}")

    def pump(self):
        output = self.driver.take()
        self.events += output.events
        if output.data:
            self.process.stdin.write(output.data)
            self.process.stdin.flush()

    def send(self, text):
        self._turns += 1
        self.driver.send(f"turn-{self._turns}", text)

    def answer(self, request, decision, **answers):
        self.driver.answer(request.native_id, Resolution(decision, answers=answers))

    def turn(self, text, *decisions, **answers):
        """Let a turn run to its end, and answer what it asks."""
        self.send(text)
        for decision in decisions:
            self.answer(self.until(RequestOpened), decision, **answers)
        return self.until(TurnEnded)

    @property
    def native_id(self):
        return self.of(SessionOpened, NativeIdChanged)[-1].native_id

    def of(self, *kinds):
        return [event for event in self.events if isinstance(event, kinds)]

    def items(self, kind):
        return [event.item for event in self.events if type(event).__name__ == "ItemEnded" and event.item.kind == kind]

    def end(self):
        """Close stdin and return the exit code."""
        self.driver.closing()
        self.pump()
        self.process.stdin.close()
        return self.wait()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.wait()

    def wait(self):
        """Read to the end and return the exit code."""
        while self._read():
            pass
        self.pump()
        return self.process.wait(PATIENCE_S)

    def release(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _read(self):
        wait = self.driver.tick(time.monotonic())
        ready, _, _ = select.select([self.process.stdout], [], [], min(1.0, 1.0 if wait is None else wait))
        raw = os.read(self.process.stdout.fileno(), 1 << 16) if ready else None
        for line in self._lines.feed(raw or b""):
            self.driver.receive(line)
        if raw == b"":
            self.driver.closed()
        return raw != b""


@pytest.fixture
def live(tmp_path):
    """Start sessions; give the wire, fields of the opening, and `environment` for the CLI."""
    folder = tmp_path / "folder"
    folder.mkdir()
    started = []

    def start(wire, environment=None, **fields):
        fields.setdefault("new_id", "" if wire == "codex" else NEW.format(len(started)))
        if wire == "acp":
            fields["start_words"] = ("--acp",)
        opening = Opening(cwd=str(folder), **fields)
        session = Live(wire, tmp_path / "home", opening, **(environment or {}))
        started.append(session)
        return session

    yield start
    for session in started:
        session.release()

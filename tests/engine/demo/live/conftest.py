"""A driver and a demo CLI at the two ends of a pair of pipes, as a live session has them."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

import pytest

from oulipoly_engine.core.live.lines import LineSplitter
from oulipoly_engine.drivers.base import Opening

PATIENCE_S = 20
NEW = "00000000-0000-4000-8000-00000000000{}"


class Live:
    """One process and its driver."""

    def __init__(self, driver_type, home, opening, **environment):
        self.driver, self.events = driver_type(opening), []
        variables = {"DEMO_CLAUDE_HOME": str(home), "DEMO_ACCOUNT": "demo-claude1", "DEMO_PACE": "0"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "oulipoly_demo.clis.agent_cli", "claude", *driver_type.words(opening)],
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

    def of(self, *kinds):
        return [event for event in self.events if isinstance(event, kinds)]

    def items(self, kind):
        return [event.item for event in self.events if type(event).__name__ == "ItemEnded" and event.item.kind == kind]

    def end(self):
        """Close stdin and return the exit code."""
        self.driver.closing()
        self.pump()
        self.process.stdin.close()
        while self._read():
            pass
        self.pump()
        return self.process.wait(PATIENCE_S)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        while self._read():
            pass
        self.pump()
        self.process.wait(PATIENCE_S)

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
    """Start sessions; give the driver, fields of the opening, and `environment` for the CLI."""
    folder = tmp_path / "folder"
    folder.mkdir()
    started = []

    def start(driver_type, environment=None, **fields):
        opening = Opening(**{"cwd": str(folder), "new_id": NEW.format(len(started)), **fields})
        session = Live(driver_type, tmp_path / "home", opening, **(environment or {}))
        started.append(session)
        return session

    yield start
    for session in started:
        session.release()

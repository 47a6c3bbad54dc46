"""The app with real terminals: hosts of the test's own, and the guard that nothing is left of them."""

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.host.runtime_folder import HostFiles, read
from oulipoly_engine.paths import from_environment
from oulipoly_engine.process.command import Command
from oulipoly_engine.service.interactive import terminals
from oulipoly_engine.terminal.host.handles import Rules
from oulipoly_engine.terminal.host.runtime_folder import Terminal
from oulipoly_engine.terminal.protocol.screen import ScreenLimits

PATIENCE_S = 60.0  # a loaded machine; nothing waits that long unless a promise is broken


def lives(pid):
    """Tell whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


class Hosts:
    """Starts terminals, finds those that the app starts, and sees to the end of all."""

    def __init__(self, home):
        self.home = home
        self.paths = from_environment()
        self._pids = set()

    def start(self, *argv, **rules):
        """Start a program in a host."""
        env = dict(os.environ) | {"PS1": "$ ", "ENV": ""}
        rules = Rules(ScreenLimits(), grace_s=0.3, quick_s=600.0, **rules)  # no death is slow, whatever the machine is
        launch = terminals.Launch(Command(argv, env, self.home), rules=rules)
        return terminals.start(self.paths, launch)

    def living(self):
        """Return the terminals that live, and remember their processes."""
        found = terminals.survey(self.paths, SystemClock()).living
        for one in found:
            self._pids |= {one.host_pid, one.pid, one.screen_pid} - {0}
        return found

    def now(self, terminal):
        """Return a terminal's description as it is now."""
        return read(HostFiles(self.paths.runtime, terminal.id), Terminal)

    def end_all(self):
        """End every host in its own way, and fail if anything is left of one."""
        for terminal in self.living():
            with contextlib.suppress(OSError):
                os.kill(terminal.host_pid, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE_S
        while any(map(lives, self._pids)) and time.monotonic() < deadline:
            time.sleep(0.01)
        left = [pid for pid in self._pids if lives(pid)]
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.paths.runtime, ignore_errors=True)
        assert [] == left


@pytest.fixture
def hosts(home):
    """Start terminals; whatever is left of them afterwards fails the test."""
    started = Hosts(home)
    yield started
    started.end_all()


@pytest.fixture
def repl_world(empty_world, hosts):
    """Two accounts that can be talked to, whose CLI is a shell, in one pool; hosts end with the test."""
    for name, used in (("ada", 100), ("bob", 20)):
        extra = "interactive_args = ['-c', 'echo hello from $0; exec sh -i', '" + name + "']"
        empty_world.account(name, ("5h", used, 3), extra=extra)
    empty_world.model("opus", "ada", "bob")
    return empty_world


@pytest.fixture
def alive():
    """Tell whether a process runs."""
    return lives

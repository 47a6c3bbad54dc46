"""Real hosts with real programs, each in a runtime folder of its own, and the guard that none is left behind."""

import contextlib
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.host.runtime_folder import HostFiles, read
from oulipoly_engine.paths import from_environment
from oulipoly_engine.process.command import Command
from oulipoly_engine.service.interactive import terminals
from oulipoly_engine.terminal.client.client import Client, HostGone
from oulipoly_engine.terminal.host.handles import Rules
from oulipoly_engine.terminal.host.runtime_folder import Terminal
from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.remote_screen import RemoteScreen
from oulipoly_engine.terminal.protocol.screen import ScreenLimits

PATIENCE_S = 300.0  # a loaded machine; nothing waits that long unless a promise is broken


def lives(pid):
    """Tell whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_for(claim, what="what was waited for"):
    """Wait until a claim holds and return its value."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := claim()):
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(0.01)
    return value


class Watcher:
    """A client that draws."""

    def __init__(self, path, name="watcher", columns=80, rows=24, focus="focused"):
        self.client = Client(path, name)
        self.view = RemoteScreen()
        self.pictures = []
        self.told = []
        self.output = b""
        self.trimmed = 0
        self.client.attach(columns, rows, focus=focus)

    @property
    def text(self):
        return "\n".join(self.view.text())

    def pump(self, timeout=0.05):
        """Take what comes within a moment, and acknowledge pictures."""
        for message in self.client.receive(timeout):
            if isinstance(message, messages.Picture):
                self.view.apply(message)
                self.pictures.append(message)
                self.client.send(messages.PictureReceipt(message.number))
            elif isinstance(message, messages.Output):
                self.output += message.data
            else:
                self.told.append(message)
                self.trimmed = message.rows if isinstance(message, messages.TrimReport) else self.trimmed

    def until(self, claim, what="the picture that was waited for"):
        """Draw until a claim holds and return its value."""
        deadline = time.monotonic() + PATIENCE_S
        while not (value := claim()):
            assert time.monotonic() < deadline, f"{what} did not come:\n{self.text}\n{self.told}"
            self.pump()
        return value

    def shows(self, text):
        """Draw until a text is there."""
        self.until(lambda: text in self.text, repr(text))

    def prints(self, text):
        """Take the program's output as it is until a text is in it."""
        data = text.replace("\n", "\r\n").encode()
        self.until(lambda: data in self.output, repr(text))

    def hears(self, kind):
        """Draw until a message of that kind has come, and return it."""
        return self.until(lambda: next((one for one in self.told if isinstance(one, kind)), None), kind.__name__)

    def types(self, text):
        self.client.send(messages.TextInput(text.encode()))

    def close(self):
        self.client.close()


class Hosts:
    """Starts terminals and sees to their end."""

    def __init__(self, home):
        self.root = Path(tempfile.mkdtemp(prefix="agr-", dir="/tmp"))
        self.home = home
        self.env = dict(os.environ) | {"XDG_RUNTIME_DIR": str(self.root), "PS1": "$ ", "ENV": ""}
        self.paths = from_environment(self.env)
        self._started = []
        self._watchers = []

    def start(self, *argv, columns=80, rows=24, recorded=None, env=None, clock=None, **rules):
        """Start a program in a host."""
        terminal = terminals.start(
            self.paths,
            terminals.Launch(
                Command(argv, self.env | (env or {}), self.home),
                columns,
                rows,
                recorded=recorded,
                clock=clock or SystemClock(),
                rules=Rules(ScreenLimits(), grace_s=0.3, dump_every_s=0.2, quick_s=600.0, **rules),
            ),
        )
        self._started.append(terminal)
        return terminal

    def shell(self, **options):
        """Start a shell."""
        return self.start("sh", "-i", **options)

    def place(self, terminal):
        return HostFiles(self.paths.runtime, terminal.id)

    def watch(self, terminal, **options):
        """Attach to a terminal."""
        watcher = Watcher(self.place(terminal).socket, **options)
        self._watchers.append(watcher)
        return watcher

    def now(self, terminal):
        """Return a terminal's description as it is now."""
        return read(self.place(terminal), Terminal)

    def screen_pid(self, terminal):
        """Return the process that draws."""
        return wait_for(lambda: self.now(terminal).screen_pid)

    def survey(self):
        return terminals.survey(self.paths, SystemClock())

    def end_all(self):
        """End every host in its own way, and fail if anything is left of one."""
        for watcher in self._watchers:
            watcher.close()
        pids = set()
        for terminal in self._started:
            type_description = self.now(terminal) or terminal
            pids |= {type_description.host_pid, type_description.screen_pid, type_description.pid} - {0}
            if lives(terminal.host_pid):
                with contextlib.suppress(OSError):
                    os.kill(terminal.host_pid, signal.SIGCONT)
                    os.kill(terminal.host_pid, signal.SIGTERM)
        try:
            wait_for(lambda: not any(map(lives, pids)), "the end of every process of a terminal")
        finally:
            for pid in filter(lives, pids):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            shutil.rmtree(self.root, ignore_errors=True)


@pytest.fixture
def hosts(home):
    """Start terminals; whatever is left of them afterwards fails the test."""
    started = Hosts(home)
    yield started
    started.end_all()


@pytest.fixture
def alive():
    """Tell whether a process runs."""
    return lives


@pytest.fixture
def waited():
    """Wait until a claim holds."""
    return wait_for


@pytest.fixture
def gone():
    """Draw until the host has said that it is gone, and return what it said."""

    def run(watcher):
        with pytest.raises(HostGone) as caught:
            watcher.until(lambda: False, "the host's goodbye")
        return caught.value.message

    return run

"""Screens to test."""

import gzip
from pathlib import Path

import pytest

from oulipoly_engine.terminal.emulators.ghostty.screen import GhosttyScreen
from oulipoly_engine.terminal.protocol.rows import text_of
from oulipoly_engine.terminal.protocol.screen import ScreenLimits
from oulipoly_engine.testing import FakeClock

STREAMS = Path(__file__).resolve().parents[3] / "fixtures" / "streams"


class Shown:
    """A screen beside what a pane would show of it: the frames applied one after another."""

    def __init__(self, screen, clock):
        self.screen = screen
        self.clock = clock
        self.rows = []
        self.frame = None

    def feed(self, data):
        """Feed text or bytes, and look."""
        self.screen.feed(data.encode() if isinstance(data, str) else data)
        self.look()
        return self

    def look(self):
        """Apply a frame, if there is one, and return it."""
        frame = self.screen.frame()
        if frame is not None:
            if frame.full:
                self.rows = [()] * frame.rows
            for y, row in frame.changed:
                self.rows[y] = row
            self.frame = frame
        return frame

    @property
    def text(self):
        """The picture as plain lines, without empty ones at its end."""
        lines = [text_of(row) for row in self.rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def cursor(self):
        return self.frame.cursor.x, self.frame.cursor.y


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def screens(clock):
    """Make screens: `screens(columns, rows, **limits)`; they are closed at the end."""
    made = []

    def make(columns=20, rows=5, *, dump=None, **limits):
        wanted = ScreenLimits(columns=columns, rows=rows, **limits)
        if dump is None:
            screen = GhosttyScreen(wanted, clock.monotonic)
        else:
            screen = GhosttyScreen.restore(dump, wanted, clock.monotonic)
        made.append(screen)
        shown = Shown(screen, clock)
        shown.look()
        return shown

    yield make
    for screen in made:
        screen.close()


@pytest.fixture
def shown(screens):
    """A screen of 20 columns and 5 rows."""
    return screens()


@pytest.fixture
def recorded():
    """Read a recording: its bytes, columns, rows, and the lines that tmux showed."""

    def read(name):
        (path,) = STREAMS.glob(f"{name}.*.gz")
        columns, _, rows = path.name.split(".")[1].partition("x")
        golden = (STREAMS / f"{name}.txt").read_text(encoding="utf-8").split("\n")
        while golden and not golden[-1].strip():
            golden.pop()
        return gzip.decompress(path.read_bytes()), int(columns), int(rows), [line.rstrip() for line in golden]

    return read

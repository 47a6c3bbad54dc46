"""The app's start: until its first frame and until its data are on the screen, beside other Textual apps.

Measured at the terminal's end of a PTY, because that is where a user sits: from our start until the bytes that draw a
known word have come. All programs run in turns, so that whatever disturbs the machine disturbs all.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Sequence

from measure import BenchBroken, Command, Series, pairs, run
from report import Limit, Result
from world import World

from rows.rivals import RIVALS, Rival, program

# DESIGN.md, "Start-up budgets".
_FIRST_FRAME_MS, _WITH_DATA_MS = 350, 550
_ROUNDS = 10
_PATIENCE_S = 20.0
_ROWS, _COLUMNS = 24, 80
_MINIMAL = """
from textual.app import App
from textual.widgets import Static
class Minimal(App):
    def compose(self):
        yield Static("a frame is here")
Minimal().run()
"""


def first_frame(world: World) -> Result:
    """Measure until the frame is drawn: header, pane and footer, without data yet."""
    meaning = "until the frame with its first pane is drawn"
    return _beside_others(world, "1 Pools", meaning, _FIRST_FRAME_MS, lambda rival: rival.frame)


def with_data(world: World) -> Result:
    """Measure until the pools are drawn, the next pick marked."""
    meaning = "until the pools are drawn with their next pick"
    return _beside_others(world, "app-bench-account", meaning, _WITH_DATA_MS, lambda rival: rival.data)


def _beside_others(world: World, word: str, meaning: str, budget_ms: float, word_of: Callable[[Rival], str]) -> Result:
    if not (world.config / "models" / "app-bench-account.toml").exists():
        world.serve("app-bench-account", "true")
    run(world.agents("quota-check", "--cached", state="app"))  # the state file is there, as after a first day
    ours, minimal = world.agents(state="app"), world.bare(sys.executable, "-c", _MINIMAL)
    # Files named in the account's own row: it has no quota script, so nothing is read while we measure.
    installed = {rival: found for rival in RIVALS if (found := program(rival)) is not None}
    others: dict[str, list[float]] = {rival.name: [] for rival in installed}

    def beside() -> float:
        taken = until_drawn(minimal, "a frame is here") * 1000
        for rival, found in installed.items():
            command = world.bare(str(found), *rival.arguments)
            others[rival.name].append(until_drawn(command, word_of(rival)) * 1000)
        return taken

    taken = pairs(lambda: until_drawn(ours, word) * 1000, beside, world.rounds(_ROUNDS))
    return Result(
        f"{meaning}; minimum, beside a minimal Textual app",
        taken.subject.least,
        "ms",
        Limit(budget_ms),
        taken.subject,
        taken.beside,
        taken.ratios,
        facts={rival.name: _told(others.get(rival.name)) for rival in RIVALS},
    )


def _told(values: Sequence[float] | None) -> str:
    if not values:
        return "not measured: pip could not install it"
    found = Series(tuple(values))
    return f"{found.least:.0f}/{found.median:.0f} ms min/med"


def until_drawn(command: Command, word: str) -> float:
    """Return the seconds until a word is drawn on the command's terminal, and end the command."""
    begun = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command.argv[0], command.argv, _environment(command))  # noqa: S606 - no shell is wanted
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    try:
        return _readuntil_drawn(terminal, word.encode()) - begun
    finally:
        os.kill(pid, signal.SIGKILL)
        os.close(terminal)
        os.waitpid(pid, 0)


def _readuntil_drawn(terminal: int, word: bytes) -> float:
    seen = b""
    deadline = time.perf_counter() + _PATIENCE_S
    while word not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.perf_counter()))
        if not ready:
            raise BenchBroken(f"{word!r} was not drawn: {_end(seen)}")
        try:
            seen += os.read(terminal, 1 << 16)
        except OSError as error:  # the program has ended
            raise BenchBroken(f"it ended before {word!r} was drawn: {_end(seen)}") from error
    return time.perf_counter()


def _environment(command: Command) -> dict[str, str]:
    return {**command.env, "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def _end(seen: Sequence[int]) -> str:
    return bytes(seen[-300:]).decode("utf-8", "replace")

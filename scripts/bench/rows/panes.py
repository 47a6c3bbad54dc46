"""Terminals as their user sees them: through the app, in a real terminal that is read as fast as the app writes.

tmux stands beside in a terminal of the same size; both keep one line of it for themselves.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from measure import BenchBroken, Series, isolated
from report import Limit, Result
from world import World

from rows.terminals import COLUMNS, FLOOD, ROWS, Terminal, cat_file, lines_of, processor_s, tmux

_TMUX_RATIO = 1.2
_KEY_P50_MS, _KEY_P99_MS, _FLOOD_P99_MS = 2.0, 6.0, 80.0
_IDLE_PERCENT, _INK_PERCENT = 0.5, 12.0
_APP_KEY_MS = 50.0
_BUSY = 10  # terminals at once
_IDLE_S, _INK_S = 8.0, 8.0
_KEY_PAUSE_S = 0.03
_PATIENCE_S = 60.0
_LETTERS = "abcdefghijklmnopqrstuvw"
# What Ink does 30 times a second: go up, and write each line of its frame anew.
_INK = """
import sys, time
write, flush = sys.stdout.write, sys.stdout.flush
for number in range(40): print(f"  earlier line {number} of the conversation, which stays where it is")
begun, frame = time.monotonic(), 0
print(*(["."] * 12), sep="\\n")
while True:
    spinner = f"\\x1b[38;2;215;119;87m{'*+x-'[frame % 4]} Thinking\\x1b[39m"
    lines = [f"\\x1b[2K{spinner} ({frame // 30}s, {frame * 7} tokens)"]
    lines += [f"\\x1b[2K\\x1b[2m  tool output line {n}: \\x1b[22m\\x1b[36mfile_{n}.py\\x1b[39m" for n in range(8)]
    lines += ["\\x1b[2K+" + "-" * 100 + "+", "\\x1b[2K| > " + " " * 97 + "|", "\\x1b[2K+" + "-" * 100 + "+"]
    write("\\x1b[?2026h\\x1b[12A" + "\\r\\n".join(lines) + "\\r\\n\\x1b[?2026l"); flush()
    frame += 1
    time.sleep(max(0, begun + frame / 30 - time.monotonic()))
"""


def cat_plain(world: World) -> Result:
    """Measure 10 MB of plain lines until the prompt is drawn again, ours and tmux's in turn."""
    return _cat(world, "plain")


def cat_colour(world: World) -> Result:
    """Measure 10 MB of lines of many colours."""
    return _cat(world, "colour")


def key_quiet(world: World) -> Result:
    """Measure from a key to its character on the real terminal."""

    def work() -> list[float]:
        with Shown.shell(world) as pane:
            return pane.echoes(world.rounds(400))

    return _keys(isolated(work), "quiet", _KEY_P99_MS)


def key_flood(world: World) -> Result:
    """Measure the same in an app that shows a flooding terminal beside."""

    def work() -> list[float]:
        with _two_panes(world) as pane:
            return pane.echoes(world.rounds(200))

    return _keys(isolated(work), "beside a flood in the same app", _FLOOD_P99_MS)


def idle(world: World) -> Result:
    """Measure what an app with a quiet shell costs, its host with it."""

    def work() -> float:
        with Shown.shell(world) as pane:
            pane.rest(2.0)  # the last dump is made once it is quiet
            return pane.share(_IDLE_S)

    return Result("of a core for an idle pane and its host", 100 * isolated(work), "%", Limit(_IDLE_PERCENT))


def ink(world: World) -> Result:
    """Measure what a picture costs that is drawn anew 30 times a second, as Ink does."""

    def work() -> dict[str, float]:
        with Shown.started(world, (sys.executable, "-c", _INK)) as pane:
            pane.until("Thinking")
            pane.rest(2.0)
            return {"all": pane.share(_INK_S), "app": pane.share(_INK_S, whole=False)}

    found = isolated(work)
    facts = {"app_percent": 100 * found["app"]}
    name = "of a core for an Ink-style picture, app and host"
    return Result(name, 100 * found["all"], "%", Limit(_INK_PERCENT), facts=facts)


def busy(world: World) -> Result:
    """Measure the app's own keys while it holds ten terminals that flood, one of them on the screen."""
    world.serve("calm", "true")
    world.serve("quiet", "true")

    def work() -> dict[str, list[float]]:
        with ExitStack() as stack:
            for _ in range(_BUSY):
                stack.enter_context(Terminal.started(world, FLOOD)).hide()
            app = stack.enter_context(Shown(world, ()))
            app.until("calm")
            app.press("5", FLOOD[1][-10:])
            app.rest(1.0)
            for key in "\x1d1":  # out of the terminal, to the pools
                app.type(key)
                app.rest(1.0)
            return {"keys": [app.press("j" if entry % 2 == 0 else "k", "calm") for entry in range(world.rounds(100))]}

    values = sorted(1000 * value for value in isolated(work)["keys"])
    series = Series(tuple(values))
    facts = {"p50_ms": series.median, "most_ms": values[-1]}
    name = f"from a key of the app to its picture, p99, {_BUSY} flooding"
    return Result(name, _share(values, 0.99), "ms", Limit(_APP_KEY_MS), series, facts=facts)


def _share(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


def _keys(seconds: list[float], name: str, limit: float) -> Result:
    values = sorted(1000 * value for value in seconds)
    facts = {"p50_ms": _share(values, 0.5), "p50_limit_ms": _KEY_P50_MS, "most_ms": values[-1], "keys": len(values)}
    series = Series(tuple(values))
    what = f"from a key to the real terminal, p99, {name}"
    return Result(what, _share(values, 0.99), "ms", Limit(limit), series, facts=facts)


def _cat(world: World, name: str) -> Result:
    path = cat_file(world, name, lines_of(name))
    rounds = world.rounds(12)

    def work() -> dict[str, Any]:
        ours, theirs, spent = [], [], []
        with Shown.shell(world) as pane, tmux(world) as run:
            for entry in range(rounds + 2):
                before = pane.processor_s()
                ours.append(pane.run(f"cat {path}", f"o{entry}"))
                spent.append(pane.processor_s() - before)
                theirs.append(run(f"cat {path}", f"t{entry}"))
        return {"ours": ours[2:], "theirs": theirs[2:], "spent": spent[2:]}

    found = isolated(work)
    ours, theirs = (Series(tuple(1000 * value for value in found[key])) for key in ("ours", "theirs"))
    ratios = Series(tuple(a / b for a, b in zip(ours.values, theirs.values, strict=True)))
    facts = {"cpu_ms": 1000 * statistics.median(found["spent"])}
    name = f"of tmux's time for 10 MB ({name}) through the pane, of the medians"
    return Result(name, ours.median / theirs.median, "x", Limit(_TMUX_RATIO), ours, theirs, ratios, facts=facts)


class Shown:
    """A face of ours in a terminal that we read."""

    def __init__(
        self,
        world: World,
        argv: tuple[str, ...],
        program: tuple[str, ...] = ("-m", "oulipoly_tui"),
        state: str = "terminals",
    ) -> None:
        env = world.env(state) | {"PS1": "$ ", "ENV": "", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        env |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        self._before = _hosts_of(world)
        self._world = world
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(world.folder)
            os.execve(sys.executable, [sys.executable, *program, *argv], env)  # noqa: S606 - no shell is wanted
        os.set_blocking(self._fd, False)
        self.drawn = bytearray()

    @classmethod
    @contextmanager
    def started(cls, world: World, argv: tuple[str, ...]) -> Iterator[Shown]:
        """Run a program in a bare pane, and end it afterwards."""
        with cls(world, ("terminal", "--", *argv)) as pane:
            yield pane

    @classmethod
    @contextmanager
    def shell(cls, world: World) -> Iterator[Shown]:
        """Run a shell in a bare pane."""
        with cls.started(world, ("sh", "-i")) as pane:
            pane.run("true", "ready")
            yield pane

    def __enter__(self) -> Shown:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it and the terminals that it began."""
        for pid in _hosts_of(self._world) - self._before:
            os.kill(pid, signal.SIGTERM)
        os.kill(self.pid, signal.SIGTERM)
        deadline = time.monotonic() + 5
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
            self.rest(0.02)
        os.close(self._fd)

    def read(self, seconds: float) -> bool:
        """Read what comes first within some seconds; tell whether anything came."""
        try:
            if not select.select([self._fd], [], [], max(0.0, seconds))[0]:
                return False
            self.drawn += os.read(self._fd, 1 << 16)
        except OSError:  # it has ended
            time.sleep(max(0.0, min(seconds, 0.02)))
        return True

    def rest(self, seconds: float) -> None:
        """Do nothing but read what is drawn: an app that nobody reads would wait for us."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(end - time.monotonic())

    def type(self, text: str) -> None:
        """Type."""
        os.write(self._fd, text.encode())

    def until(self, text: str) -> None:
        """Wait until a text has been drawn. In this thread: waking another one would be measured too."""
        wanted, deadline = text.encode(), time.monotonic() + _PATIENCE_S
        while wanted not in self.drawn:
            if time.monotonic() > deadline:
                raise BenchBroken(f"the pane did not show {text!r}: {bytes(self.drawn[-500:])!r}")
            self.read(1.0)

    def press(self, key: str, text: str) -> float:
        """Press a key and return the seconds until a text is drawn after it."""
        self.rest(_KEY_PAUSE_S)
        self.drawn.clear()
        begun = time.perf_counter()
        self.type(key)
        self.until(text)
        return time.perf_counter() - begun

    def run(self, command: str, mark: str) -> float:
        """Run a shell line and return the seconds until what follows it is drawn."""
        return self.press(f"{command}; echo {mark}'{mark}'\n", mark + mark)

    def echoes(self, count: int) -> list[float]:
        """Return the seconds from each of so many keys to its character."""
        taken, line = [], ""
        for entry in range(count):
            line += _LETTERS[entry % len(_LETTERS)]
            seconds = self.press(line[-1], line[-3:])
            if entry > 5 and len(line) > 2:  # fewer letters may stand in what is beside
                taken.append(seconds)
            if len(line) == 2 * len(_LETTERS):
                self.press("\x15", "$")
                line = ""
        return taken

    def processor_s(self, *, whole: bool = True) -> float:
        """Return the processor time so far, of the app alone or of its terminals' hosts too."""
        pids = {self.pid}
        for host in _hosts_of(self._world) - self._before if whole else ():
            pids |= {host, *map(int, Path(f"/proc/{host}/task/{host}/children").read_text().split())}
        return sum(_own_s(pid) for pid in pids)

    def share(self, seconds: float, *, whole: bool = True) -> float:
        """Return which share of a core is spent."""
        before = self.processor_s(whole=whole)
        self.rest(seconds)
        return (self.processor_s(whole=whole) - before) / seconds


def _own_s(pid: int) -> float:
    if "oulipoly" not in Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "):
        return 0.0  # the program in the terminal
    return processor_s(pid)


def _hosts_of(world: World) -> set[int]:
    from oulipoly_engine.paths import from_environment  # noqa: PLC0415 - the harness itself must stay small (measure.py)
    from oulipoly_engine.terminal.host import runtime_folder  # noqa: PLC0415 - the same

    return {one.host_pid for one in runtime_folder.survey(from_environment(world.env("terminals")).runtime).living}


@contextmanager
def _two_panes(world: World) -> Iterator[Shown]:
    """Show a shell and a flooding terminal side by side in one app."""
    with Terminal.started(world, FLOOD) as flooding, Terminal.started(world, ("sh", "-i")) as quiet:
        argv = (str(quiet.socket), str(flooding.socket))
        with Shown(world, argv, (str(Path(__file__).resolve().parent.parent / "two_panes.py"),)) as pane:
            pane.until("$")
            pane.rest(1.0)
            yield pane

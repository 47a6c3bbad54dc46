"""Terminals in hosts: throughput against tmux's, the time from a key to the picture, and the cost of doing nothing.

Beside each client stands nothing that draws: what a picture costs on a real terminal is not ours. tmux runs in a
terminal that is read as fast as it writes.
"""

from __future__ import annotations

import os
import pty
import shutil
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import BenchBroken, Series, isolated
from report import Limit, Result
from world import World

COLUMNS, ROWS = 120, 40
_SIZE = 10_000_000  # bytes that are shown
_TMUX_RATIO = 1.2
_QUIET_P99_MS, _FLOOD_P99_MS = 6.0, 80.0
_IDLE_PERCENT = 0.5
_IDLE_S = 5.0
_PATIENCE_S = 60.0
_KEY_PAUSE_S = 0.02
SHELL = ("sh", "-i")
FLOOD = ("yes", "the flood goes on and on and on and on and on and on")


def cat_plain(world: World) -> Result:
    """Measure 10 MB of plain lines until the prompt is back, ours and tmux's in turn."""
    return _cat(world, "plain")


def cat_colour(world: World) -> Result:
    """Measure 10 MB of lines of many colours."""
    return _cat(world, "colour")


def lines_of(name: str) -> Callable[[int], str]:
    """Return what makes the lines of a file to show: "plain" or "colour"."""
    if name == "plain":
        return lambda number: f"{number:06d} the quick brown fox jumps over the lazy dog and so on and on\n"
    line = "\x1b[38;5;%dm%06d\x1b[0m \x1b[1;3%dmthe quick\x1b[0m brown fox \x1b[48;2;1;2;%dmjumps\x1b[0m\n"
    return lambda number: line % (number % 256, number, number % 8, number % 256)


def echo_quiet(world: World) -> Result:
    """Measure from a key to the picture that shows it."""
    return _echo(world, _QUIET_P99_MS, is_flooded=False)


def echo_flood(world: World) -> Result:
    """Measure the same beside a terminal that floods and is watched too."""
    return _echo(world, _FLOOD_P99_MS, is_flooded=True)


def idle(world: World) -> Result:
    """Measure what a host with an attached client costs while nothing happens."""

    def work() -> dict[str, float]:
        with Terminal.started(world) as terminal:
            time.sleep(2.0)  # the last dump is made once it is quiet
            before = terminal.processor_s()
            time.sleep(_IDLE_S)
            return {"spent": terminal.processor_s() - before, "memory": terminal.memory_mib()}

    found = isolated(work)
    share = 100 * found["spent"] / _IDLE_S
    facts = {"private_memory_mib": found["memory"]}
    return Result("of a core for an idle host and its client", share, "%", Limit(_IDLE_PERCENT), facts=facts)


def cat_file(world: World, name: str, line: Callable[[int], str]) -> Path:
    """Return a file of 10 MB of such lines. Raises BenchBroken without tmux, beside which it is shown."""
    if shutil.which("tmux") is None:
        raise BenchBroken("tmux is not installed, and there is nothing else to compare with")
    path = world.folder / f"cat-{name}"
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < _SIZE:
            file.write("".join(line(number + index) for index in range(1000)))
            number += 1000
    return path


def _cat(world: World, name: str) -> Result:
    path = cat_file(world, name, lines_of(name))
    rounds = world.rounds(12)

    def work() -> dict[str, Any]:
        ours, theirs, spent = [], [], []
        with Terminal.started(world) as terminal, tmux(world) as run:
            for entry in range(rounds + 2):
                before = terminal.processor_s()
                ours.append(terminal.run(f"cat {path}", f"o{entry}"))
                spent.append(terminal.processor_s() - before)
                theirs.append(run(f"cat {path}", f"t{entry}"))
        return {"ours": ours[2:], "theirs": theirs[2:], "spent": spent[2:]}

    found = isolated(work)
    ours, theirs = (Series(tuple(1000 * value for value in found[key])) for key in ("ours", "theirs"))
    ratios = Series(tuple(a / b for a, b in zip(ours.values, theirs.values, strict=True)))
    return Result(
        f"of tmux's time for {_SIZE // 1_000_000} MB ({name}), of the medians",
        ours.median / theirs.median,
        "x",
        Limit(_TMUX_RATIO),
        ours,
        theirs,
        ratios,
        facts={"host_cpu_ms": 1000 * statistics.median(found["spent"]), "mb_per_s": _SIZE / 1000 / ours.median},
    )


def _echo(world: World, limit_ms: float, *, is_flooded: bool) -> Result:
    keys = world.rounds(400)

    def work() -> list[float]:
        with Terminal.started(world) as terminal:
            if not is_flooded:
                return terminal.echoes(keys)
            with Terminal.started(world) as other, other.flooding():
                return terminal.echoes(keys)

    series = Series(tuple(sorted(1000 * value for value in isolated(work))))
    at = {share: series.values[min(len(series.values) - 1, int(len(series.values) * share))] for share in (0.5, 0.99)}
    beside = "beside a flood" if is_flooded else "quiet"
    facts = {"p50_ms": at[0.5], "keys": len(series.values), "most_ms": series.values[-1]}
    return Result(f"from a key to its picture, p99, {beside}", at[0.99], "ms", Limit(limit_ms), series, facts=facts)


class Terminal:
    """A shell in a host, and a client that draws nothing but keeps the rows."""

    def __init__(self, world: World, argv: tuple[str, ...] = SHELL, state: str = "terminals") -> None:
        from oulipoly_engine.paths import from_environment  # noqa: PLC0415 - the harness itself must stay small (measure.py)
        from oulipoly_engine.process.command import Command  # noqa: PLC0415 - the same
        from oulipoly_engine.service.interactive import terminals  # noqa: PLC0415 - the same
        from oulipoly_engine.terminal.protocol import messages  # noqa: PLC0415 - the same
        from oulipoly_engine.terminal.protocol.remote_screen import RemoteScreen  # noqa: PLC0415 - the same

        env = world.env(state) | {"PS1": "$ ", "ENV": ""}
        self._wire = messages
        self._paths = from_environment(env)
        self._service = terminals
        launch = terminals.Launch(Command(argv, env, world.folder), COLUMNS, ROWS)
        self.terminal = terminals.start(self._paths, launch)
        self.client = terminals.connect(self._paths, self.terminal, "bench")
        self.client.attach(COLUMNS, ROWS)
        self.view = RemoteScreen()
        if argv == SHELL:
            self.until(lambda: any("$" in row for row in self.view.text()))

    @classmethod
    @contextmanager
    def started(cls, world: World, argv: tuple[str, ...] = SHELL, state: str = "terminals") -> Iterator[Terminal]:
        """Start one, and end it afterwards. state: the folder of the app that shall find it."""
        one = cls(world, argv, state)
        try:
            yield one
        finally:
            one.client.close()
            one._service.kill(one._paths, one.terminal, None)

    @property
    def socket(self) -> Path:
        """Return where its host listens."""
        from oulipoly_engine.host.runtime_folder import HostFiles  # noqa: PLC0415 - the same

        return HostFiles(self._paths.runtime, self.terminal.id).socket

    def type(self, text: str) -> None:
        """Type a text."""
        self.client.send(self._wire.TextInput(text.encode()))

    def hide(self) -> None:
        """Look no more: who is measured looks."""
        self.client.send(self._wire.FocusChange("hidden"))

    def until(self, claim: Callable[[], bool]) -> None:
        """Take pictures until a claim holds."""
        deadline = time.monotonic() + _PATIENCE_S
        while not claim():
            if time.monotonic() > deadline:
                raise BenchBroken("a terminal did not show what it should")
            self.pump()

    def pump(self) -> None:
        """Take what comes."""
        for message in self.client.receive(0.2):
            if isinstance(message, self._wire.Picture):
                self.view.apply(message)
                self.client.send(self._wire.PictureReceipt(message.number))

    def run(self, command: str, mark: str) -> float:
        """Run a shell line and return the seconds until what follows it is shown."""
        begun = time.perf_counter()
        self.type(f"{command}; echo {mark}'{mark}'\n")
        self.until(lambda: any(row == mark + mark for row in self.view.text()))
        return time.perf_counter() - begun

    def echoes(self, count: int) -> list[float]:
        """Return the seconds from each of so many keys to the picture that shows it."""
        taken = []
        for _ in range(count):
            before = self.view.cursor.x
            begun = time.perf_counter()
            self.type("x")
            self.until(lambda: self.view.cursor.x != before)  # noqa: B023 - called at once
            taken.append(time.perf_counter() - begun)
            if self.view.cursor.x > COLUMNS - 20:
                self.type("\x15")
                self.until(lambda: self.view.cursor.x < 20)
            time.sleep(_KEY_PAUSE_S)
        return taken

    @contextmanager
    def flooding(self) -> Iterator[None]:
        """Let it print without end, its pictures taken in a process of their own, as another pane's would be."""
        self.type("yes 'the flood goes on and on and on and on and on and on'\n")
        self.until(lambda: "on and on" in self.view.text()[0])
        pid = os.fork()
        if pid == 0:
            while True:
                self.pump()
        try:
            yield
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)

    def _pids(self) -> tuple[int, int]:
        from oulipoly_engine.host.runtime_folder import HostFiles, read  # noqa: PLC0415 - the same
        from oulipoly_engine.terminal.host.runtime_folder import Terminal  # noqa: PLC0415 - the same

        now = read(HostFiles(self._paths.runtime, self.terminal.id), Terminal)
        return (self.terminal.host_pid, 0 if now is None else now.screen_pid)

    def processor_s(self) -> float:
        """Return the processor time of the host's two processes so far."""
        return sum(processor_s(pid) for pid in self._pids())

    def memory_mib(self) -> float:
        """Return the memory that only they hold."""
        return sum(private_mib(pid) for pid in self._pids())


def processor_s(pid: int) -> float:
    """Return a process's processor time so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        raise BenchBroken("processor times of others are read from /proc, which is not here") from None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def private_mib(pid: int) -> float:
    """Return what a process alone holds."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


@contextmanager
def tmux(world: World) -> Iterator[Callable[[str, str], float]]:
    """Yield what runs a shell line in tmux and returns the seconds until what follows it is drawn."""
    name = f"bench-{os.getpid()}"
    env = world.env("tmux") | {"PS1": "$ ", "ENV": "", "TERM": "xterm-256color"}
    size = ("-x", str(COLUMNS), "-y", str(ROWS))
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("tmux", ["tmux", "-L", name, "-f", "/dev/null", "new-session", *size, "sh -i"], env)  # noqa: S606 - no shell is wanted
    drawn = bytearray()
    news = threading.Condition()

    def read() -> None:
        while True:
            try:
                data = os.read(terminal, 1 << 16)
            except OSError:
                return
            with news:
                drawn.extend(data)
                news.notify()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def run(command: str, mark: str) -> float:
        wanted = (mark + mark).encode()
        with news:
            drawn.clear()
        begun = time.perf_counter()
        os.write(terminal, f"{command}; echo {mark}'{mark}'\n".encode())
        with news:
            if not news.wait_for(lambda: wanted in drawn, _PATIENCE_S):
                raise BenchBroken("tmux did not show what it should")
        return time.perf_counter() - begun

    try:
        run("true", "ready")
        yield run
    finally:
        os.spawnlp(os.P_WAIT, "tmux", "tmux", "-L", name, "kill-server")  # noqa: S606 - as above
        os.waitpid(pid, 0)
        reader.join(5.0)
        os.close(terminal)

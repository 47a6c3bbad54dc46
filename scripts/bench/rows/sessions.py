"""The app with 10,000 sessions and a transcript of 100,000 entries: from a key to the screen, and from an append.

Measured at the terminal's end of a PTY, from the write of a key to the first byte that is drawn for it.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import termios
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measure import BenchBroken, Command, Series, isolated, run
from report import Limit, Result
from world import World

from rows import finding
from rows.terminals import FLOOD, Terminal

_SESSIONS, _ENTRIES = 10_000, 100_000
_KEY_LIMIT_MS, _APPEND_LIMIT_MS, _ELSEWHERE_LIMIT_MS = 50.0, 100.0, 500.0
_BUSY = 10  # terminals at once
_OPENING = "opening 100,000 turns"
_IDLE_LIMIT_PERCENT, _IDLE_S, _SETTLED_S = 1.0, 60, 15.0  # four snapshots, and what comes once a minute
_MEMORY_LIMIT_MB = 200
_ROWS, _COLUMNS = 50, 160
_PATIENCE_S = 30.0
_QUIET_S = 0.12  # nothing drawn for so long: the screen is done
_LONG = "ffffffff-0000-4000-8000-000000000000"


def key_to_screen(world: World) -> Result:
    """Time keys in the list, in the transcript, and while a filter is typed; the 99th of a hundred is the figure."""
    return _told(_timed(world, _prepared(world)), "")


def key_to_screen_busy(world: World) -> Result:
    """Time the same keys while ten terminals flood, which the app holds."""
    command = _prepared(world)

    def work() -> dict[str, list[float]]:
        with ExitStack() as stack:
            for _ in range(_BUSY):
                stack.enter_context(Terminal.started(world, FLOOD, "sessions")).hide()
            return _timed(world, command, holds=True)

    return _told(isolated(work), f", {_BUSY} terminals flooding")


def _timed(world: World, command: Command, *, holds: bool = False) -> dict[str, list[float]]:
    """Return the milliseconds of every kind of key, and of opening the transcript."""
    app = _Driven(command)
    try:
        app.begin(holds=holds)
        keys = {name: [app.key(key) for _ in range(world.rounds(80))] for name, key in _LIST_KEYS.items()}
        keys["filter"] = [app.key(key) for key in b"/session:0 w1 account-3"]
        app.send(b"\x1b")
        app.open_long()
        keys |= {
            f"transcript {name}": [app.key(key) for _ in range(world.rounds(80))] for name, key in _TEXT_KEYS.items()
        }
    finally:
        app.end()
    return {**keys, _OPENING: [app.opened_ms]}


def _told(keys: dict[str, list[float]], beside: str) -> Result:
    (opened,) = keys.pop(_OPENING)
    values = tuple(value for found in keys.values() for value in found)
    spread = {f"{name} p50, p99 ms": (round(_high(one, 0.5)), round(_high(one, 0.99))) for name, one in keys.items()}
    facts: dict[str, object] = {**spread, f"{_OPENING} ms": round(opened)}
    return Result(
        f"from a key to the screen, 10,000 sessions and 100,000 turns{beside}, p99",
        _high(values, 0.99),
        "ms",
        Limit(_KEY_LIMIT_MS),
        Series(values),
        facts=facts,
    )


def append_to_screen(world: World) -> Result:
    """Time from a CLI's append to the transcript until it is drawn; the 95th of a hundred is the figure."""
    app = _Driven(_prepared(world))
    try:
        app.begin()
        app.open_long()
        taken = tuple(app.append(_transcript(world), number) for number in range(world.rounds(40)))
    finally:
        app.end()
    return Result(
        "from an append to the screen, 100,000 turns before it, p95",
        _high(taken, 0.95),
        "ms",
        Limit(_APPEND_LIMIT_MS),
        Series(taken),
    )


def idle(world: World) -> Result:
    """Measure the processor time of the app to which nothing happens, its transcript of 100,000 entries open."""
    app = _Driven(_prepared(world))
    try:
        app.begin()
        app.open_long()
        app.wait(_SETTLED_S)
        spent = app.spent(float(world.rounds(_IDLE_S)))
    finally:
        app.end()
    meaning = "a core's share while nothing happens, 10,000 sessions and 100,000 turns"
    return Result(meaning, spent, "%", Limit(_IDLE_LIMIT_PERCENT))


def memory(world: World) -> Result:
    """Measure the app's resident memory after its list was paged through and its long transcript read in."""
    app = _Driven(_prepared(world))
    try:
        app.begin()
        for _ in range(50):
            app.send(_LIST_KEYS["page"])
        app.open_long()
        for _ in range(50):
            app.send(_TEXT_KEYS["page"])
        found = app.memory_mb()
    finally:
        app.end()
    return Result("resident, 10,000 sessions and 100,000 turns", found, "MB", Limit(_MEMORY_LIMIT_MB))


def reading_elsewhere(world: World) -> Result:
    """Time from the answer of another process's quota script until the app shows it: storing it is in that."""
    answer, stamp = world.folder / "elsewhere-answer", world.folder / "elsewhere-at"
    command = _prepared(world)
    with (world.config / "providers.toml").open("a", encoding="utf-8") as file:
        script = f"date +%s%N >'{stamp}'; cat '{answer}'"
        file.write(f"[bench-elsewhere]\ncommand = 'true'\nquota_script = {json.dumps(script)}\n\n")
    (world.config / "models" / "bench-sessions.toml").write_text(
        "[[providers]]\nname = 'bench-sessions'\n\n[[providers]]\nname = 'bench-elsewhere'\n", encoding="utf-8"
    )

    def read(used: int) -> None:
        resets = datetime.now(UTC) + timedelta(hours=4)
        window = {"name": "5h-burst", "used_percent": used, "resets_at": f"{resets:%Y-%m-%dT%H:%M:%SZ}"}
        answer.write_text(json.dumps({"windows": [window]}))
        run(world.agents("quota-check", "bench-elsewhere", state="sessions"))

    read(10)
    app = _Driven(command)
    try:
        app.begin()
        app.send(b"1")
        taken = []
        for number in range(world.rounds(40)):
            reader = threading.Thread(target=read, args=(11 + number,))
            reader.start()
            app.until(f"{11 + number} %".encode())
            shown = time.time()
            reader.join()
            taken.append((shown - int(stamp.read_text()) / 1e9) * 1000)
            app.wait(0.03 * (number % 7))
    finally:
        app.end()
    meaning = "from another process's reading to the screen, p95"
    return Result(meaning, _high(taken, 0.95), "ms", Limit(_ELSEWHERE_LIMIT_MS), Series(tuple(taken)))


_LIST_KEYS = {"down": b"j", "page": b"\x04", "up": b"k"}
_TEXT_KEYS = {"up": b"k", "page": b"\x15", "down": b"j"}


class _Driven:
    """The app on a terminal of ours."""

    def __init__(self, command: Command) -> None:
        self.opened_ms = 0.0
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            environ = {**command.env, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execvpe(command.argv[0], command.argv, environ)  # noqa: S606 - no shell is wanted
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))

    def begin(self, *, holds: bool = False) -> None:
        total = f"{_SESSIONS + 1:,}".encode()
        drawn = self._until(b"1 Pools") + self._quiet()
        if holds:  # the terminals that there are; then the list alone: a flood that is drawn would count as its answer
            os.write(self._terminal, b"5")
            self._until(FLOOD[1][-10:].encode())
            os.write(self._terminal, b"\x1d3z")
        else:
            os.write(self._terminal, b"3")
        if total not in drawn:  # the list may stand beside the pools from the start
            self._until(total)
        self._quiet(2.0)

    def open_long(self) -> None:
        self.send(b"/")
        self.send(f"session:{_LONG[:8]}".encode())
        self.send(b"\r")
        self.send(b"j")
        self._quiet(1.0)
        begun = time.perf_counter()
        os.write(self._terminal, b"\r")
        self._until(b"the very last")
        self.opened_ms = (time.perf_counter() - begun) * 1000
        self._quiet(1.0)

    def send(self, keys: bytes) -> None:
        os.write(self._terminal, keys)
        self._quiet()

    def key(self, key: bytes | int) -> float:
        """Press a key and return the milliseconds until something is drawn."""
        begun = time.perf_counter()
        os.write(self._terminal, bytes([key]) if isinstance(key, int) else key)
        self._read(_PATIENCE_S)
        taken = (time.perf_counter() - begun) * 1000
        self._quiet()
        return taken

    def append(self, path: Path, number: int) -> float:
        word = f"appended-{number}-end"
        with path.open("ab") as file:
            file.write(_record(_ENTRIES + number + 1, word))
        begun = time.perf_counter()
        self._until(word.encode())
        taken = (time.perf_counter() - begun) * 1000
        self._quiet(0.03 * (number % 7))  # so that the appends do not keep step with the looks
        return taken

    def wait(self, seconds: float) -> None:
        """Read what it draws for a while, its clock too."""
        self._quiet(seconds)

    def until(self, word: bytes) -> None:
        """Read until a word is drawn."""
        self._until(word)

    def spent(self, seconds: float) -> float:
        """Return how much of a core it takes while nothing happens, in percent."""
        before, begun = self._ticks(), time.perf_counter()
        self._quiet(seconds)
        busy = (self._ticks() - before) / os.sysconf("SC_CLK_TCK")
        return 100 * busy / (time.perf_counter() - begun)

    def memory_mb(self) -> int:
        for line in Path(f"/proc/{self._pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) // 1024
        return 0

    def end(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.close(self._terminal)
        os.waitpid(self._pid, 0)

    def _ticks(self) -> int:
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def _until(self, word: bytes) -> bytes:
        """Read until a word is drawn, and return what was drawn last."""
        seen, deadline = b"", time.perf_counter() + _PATIENCE_S
        while word not in seen:
            data = self._read(max(0.0, deadline - time.perf_counter()))
            if not data:
                raise BenchBroken(f"{word!r} was not drawn: {seen[-300:].decode('utf-8', 'replace')}")
            seen = seen[-20_000:] + data
        return seen

    def _quiet(self, least_s: float = 0.0) -> bytes:
        """Read until nothing is drawn any more, and return what was."""
        seen, begun = b"", time.perf_counter()
        while True:
            ready, _, _ = select.select([self._terminal], [], [], _QUIET_S)
            if ready:
                seen += os.read(self._terminal, 1 << 16)
            elif time.perf_counter() - begun >= least_s:
                return seen
            if time.perf_counter() - begun > max(_PATIENCE_S, 2 * least_s):  # a clock is drawn now and then
                return seen

    def _read(self, patience_s: float) -> bytes:
        ready, _, _ = select.select([self._terminal], [], [], patience_s)
        return os.read(self._terminal, 1 << 16) if ready else b""


def _prepared(world: World) -> Command:
    """Make the account with its long transcript and the state file, once."""
    state = Path(world.env("sessions")["OULIPOLY_DATA_DIR"])
    if not (state / "state.db").exists():
        root = _transcript(world).parent.parent
        root.mkdir(parents=True)
        world.serve("bench-sessions", "true")
        with (world.config / "providers.toml").open("a", encoding="utf-8") as file:
            file.write(
                "[bench-sessions.session_storage]\nkind = 'script'\nstorage_type = 'claude_code'\n"
                f"cwd_script = 'claude-code-cwd {root}'\ntranscript_script = 'claude-code-locate-transcript {root}'\n\n"
            )
        (world.config / "sessions.toml").write_text(f"[bench-sessions]\nturn_script = 'claude-code-turns {root}'\n")
        isolated(lambda: _filled(state, _transcript(world)))
        run(world.agents("session-scan", state="sessions"))  # as after a first day
    return world.agents(state="sessions")


def _filled(state: Path, path: Path) -> int:
    from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds  # noqa: PLC0415 - the harness must stay small
    from oulipoly_engine.store.sessions import imported  # noqa: PLC0415 - as above

    state.mkdir(parents=True)
    store = finding.open_filled(state / "state.db", 4)
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.writelines(
            _record(number, "the very last" if number == _ENTRIES else "") for number in range(1, _ENTRIES + 1)
        )
    finding._fill(store, [("bench-sessions", _LONG, 3)], 5)
    with store.write():
        imported.adopt(store, "bench-sessions", [_LONG])
    Catalogue(store, Kinds({}, {})).refresh()
    store.close()
    return 1


def _transcript(world: World) -> Path:
    return world.folder / "home" / ".bench-sessions" / "projects" / "-w" / f"{_LONG}.jsonl"


def _record(number: int, word: str) -> bytes:
    """Return an entry as Claude Code writes it: prose, code, a tool's call or its result."""
    kind = ("user", "assistant")[number % 2]
    text = word or f"# Turn {number}\n\nSome **words** and `code` of it, " + "again and again " * (number % 40)
    block: dict[str, object] = {"type": "text", "text": text}
    if not word and number % 5 == 0:
        block = {"type": "tool_result", "tool_use_id": "t", "content": "line of a result\n" * (number % 90)}
    elif not word and number % 5 == 1:
        block = {"type": "text", "text": "```python\n" + "def f(x):\n    return x\n" * (number % 12) + "```"}
    at = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=15 * number)
    record = {
        "type": kind,
        "uuid": f"00000000-0000-4000-8000-{number:012x}",
        "sessionId": _LONG,
        "cwd": "/w",
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.000Z",
        "message": {"role": kind, "content": [block]},
    }
    return json.dumps(record).encode() + b"\n"


def _high(values: list[float] | tuple[float, ...], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

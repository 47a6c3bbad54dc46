"""The emulated screens: bytes taken in, frames given out, and what 10,000 rows of the past cost."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import BenchBroken, Series, isolated
from report import Limit, Result
from world import World

if TYPE_CHECKING:
    from oulipoly_engine.terminal.protocol.screen import Screen

_COLUMNS, _ROWS = 120, 40
_READ = 65_536  # bytes fed at once
_PAST = 10_000  # rows
_KEPT_MB, _REFLOW_MS = 12.0, 5.0  # the contract: about 10 MB, and 5 ms
_SIZE = 8 << 20  # bytes of a stream


def feed(world: World) -> Result:
    """Time how fast streams are taken in, and how long frames take; the figure is that for ascii."""
    found = isolated(lambda: _measure(world.rounds(8)))
    series = Series(tuple(found["values"]))
    meaning = f"ghostty, a stream of ascii in reads of {_READ} bytes, {_COLUMNS}x{_ROWS}, processor time"
    return Result(meaning, max(series.values), "MB/s", subject=series, series_unit="MB/s", facts=found["facts"])


def past(world: World) -> Result:
    """Time the reflow of 10,000 rows; what they take stands beside it."""
    found = isolated(lambda: _past(world.rounds(12)))
    if found["facts"]["MB"] > _KEPT_MB:
        raise BenchBroken(f"{_PAST} rows take {found['facts']['MB']} MB, more than {_KEPT_MB:g}")
    series = Series(tuple(found["values"]))
    return Result(
        f"ghostty, reflow of {_PAST} rows, minimum", series.least, "ms", Limit(_REFLOW_MS), series, facts=found["facts"]
    )


def _measure(rounds: int) -> dict[str, Any]:
    facts: dict[str, float] = {}
    kept: list[float] = []
    for name, stream in {"ascii": _ascii(_SIZE), "sgr": _sgr(_SIZE), "ink": _ink(_SIZE)}.items():
        taken = []
        for _ in range(max(2, rounds // 2)):
            screen = _screen()
            begun = time.process_time()
            for start in range(0, len(stream), _READ):
                screen.feed(stream[start : start + _READ])
            taken.append(len(stream) / 1e6 / (time.process_time() - begun))
            screen.close()
        facts[f"{name} MB/s"] = round(max(taken), 1)
        kept = kept or taken
    facts |= _frames(rounds * 20)
    return {"values": kept, "facts": facts}


def _frames(rounds: int) -> dict[str, float]:
    """Return the least milliseconds that a change and its frame take, by the kind of change."""
    screen = _screen()
    dice = random.Random(7)  # noqa: S311 - the same pictures in every run
    spin = _redraw(dice, "/")
    feeds: dict[str, Callable[[int], bytes]] = {
        "frame, all plain, ms": lambda _: b"\x1b[H" + b"".join(_line(dice) for _ in range(_ROWS - 1)),
        "frame, one line, ms": lambda n: b"\x1b[20;1Hnumber %d" % n,
        "frame, ink, ms": lambda _: _redraw(dice, "/"),
        "frame, ink, a spinner, ms": lambda n: spin.replace(b"/ work", b"%s work" % b"/-\\|"[n % 4 : n % 4 + 1]),
        "frame, scrolled by one, ms": lambda _: b"\x1b[40;1H" + _line(dice),
    }
    figures = {}
    for name, made in feeds.items():
        screen.feed(b"\x1b[0m\x1b[2J\x1b[H")
        screen.frame()
        taken = []
        for number in range(rounds):
            data = made(number)
            begun = time.process_time()
            screen.feed(data)
            screen.frame()
            taken.append((time.process_time() - begun) * 1000)
        figures[name] = round(sorted(taken)[len(taken) // 2], 3)
    screen.close()
    return figures


def _past(rounds: int) -> dict[str, Any]:
    screen = _screen()
    dice = random.Random(3)  # noqa: S311 - as above
    stream = b"".join(b"\x1b[3%dm%s" % (dice.randrange(8), _line(dice)) for _ in range(_PAST))
    before = _resident()
    screen.feed(stream)
    kept = (_resident() - before) / 1e6
    frame = screen.frame()
    if frame is None or frame.scrollback < _PAST - _ROWS:
        raise BenchBroken(f"the emulator kept {frame and frame.scrollback} rows of {_PAST}")
    taken = []
    for number in range(rounds):
        begun = time.process_time()
        screen.resize(80 if number % 2 else _COLUMNS - 1, _ROWS)
        taken.append((time.process_time() - begun) * 1000)
    begun = time.process_time()
    screen.search("needle")
    searched = (time.process_time() - begun) * 1000
    begun = time.process_time()
    size = len(screen.dump())
    dumped = (time.process_time() - begun) * 1000
    facts = {
        "MB": round(kept, 1),
        "reflow ms": round(min(taken), 2),
        "search ms": round(searched, 1),
        "dump ms": round(dumped, 1),
        "dump MB": round(size / 1e6, 2),
    }
    screen.close()
    return {"values": taken, "facts": facts}


def _screen() -> Screen:
    from oulipoly_engine.terminal.emulators.ghostty.screen import GhosttyScreen  # noqa: PLC0415 - the harness itself must stay small
    from oulipoly_engine.terminal.protocol.screen import ScreenLimits  # noqa: PLC0415 - as above

    return GhosttyScreen(ScreenLimits(_PAST, _COLUMNS, _ROWS))


def _line(dice: random.Random) -> bytes:
    return bytes(dice.choices(b"abcdefghijklmnopqrstuvwxyz      ", k=dice.randrange(60, _COLUMNS))) + b"\r\n"


def _repeated(part: bytes, size: int) -> bytes:
    return part * (size // len(part) + 1)


def _ascii(size: int) -> bytes:
    dice = random.Random(1)  # noqa: S311 - as above
    return _repeated(b"".join(_line(dice) for _ in range(500)), size)


def _sgr(size: int) -> bytes:
    dice = random.Random(2)  # noqa: S311 - as above
    words = (b"\x1b[%d;3%dmword\x1b[0m \x1b[38;2;%d;%d;9mrgb" for _ in range(4000))
    lines = (word % (dice.randrange(2), dice.randrange(8), dice.randrange(256), dice.randrange(256)) for word in words)
    return _repeated(b"\r\n".join(lines), size)


def _redraw(dice: random.Random, spinner: str) -> bytes:
    """Return one picture as Ink draws it: everything below erased upwards, then written anew, held meanwhile."""
    body = b"".join(b"\x1b[38;5;%dm%s\x1b[39m\r\n" % (dice.randrange(256), _line(dice)[:70].strip()) for _ in range(20))
    erased = b"\x1b[2K\x1b[1A" * 21 + b"\x1b[2K\x1b[G"
    return b"\x1b[?2026h" + erased + body + b"\x1b[1m%s work\x1b[22m\r\n\x1b[?2026l" % spinner.encode()


def _ink(size: int) -> bytes:
    dice = random.Random(5)  # noqa: S311 - as above
    return _repeated(b"".join(_redraw(dice, "/") for _ in range(100)), size)


def _resident() -> int:
    pages = Path("/proc/self/statm")
    if not pages.exists():
        raise BenchBroken("the memory of a process is read from /proc, which this system lacks")
    return int(pages.read_text().split()[1]) * 4096

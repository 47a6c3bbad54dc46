"""The app's memory while it is used: keys alone, and keys with a stream of one-shots, in the demo world.

BENCH_GROWTH_MINUTES makes it longer than its five minutes; 60 show whether there is a plateau.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from measure import BenchBroken
from report import Limit, Result
from world import World

_MINUTES = float(os.environ.get("BENCH_GROWTH_MINUTES", "5"))
_SESSIONS = 2_200
_KEY_PAUSE_S, _SHOT_PAUSE_S = 0.25, 4.4
_FIRST_S = 90.0  # until then it fills its caches for the first time
_LIMIT_MB = 20
_ROWS, _COLUMNS = 45, 140
_UUID = re.compile(r'"uuid": ?"([0-9a-f-]{36})"')


def keys(world: World) -> Result:
    """Measure how much it grows while somebody looks through sessions and panes."""
    return _growth(world, "keys", has_shots=False)


def keys_and_shots(world: World) -> Result:
    """Measure the same while one-shots are run beside it."""
    return _growth(world, "keys-and-shots", has_shots=True)


def _growth(world: World, name: str, *, has_shots: bool) -> Result:
    minutes = _MINUTES / 4 if world.quick else _MINUTES
    values = list(_use(world.folder / name, minutes, has_shots=has_shots))
    what = name.replace("-", " ")
    meaning = f"more resident than after the first {_FIRST_S:.0f} s, {minutes:g} minutes of {what}"
    return Result(meaning, values[-1] - values[0], "MB", Limit(_LIMIT_MB), facts={"resident_mb": values})


def _use(folder: Path, minutes: float, *, has_shots: bool) -> Iterator[int]:
    """Work with the app; yield its resident MB once a minute, from the first that counts to the end."""
    from oulipoly_demo import world as demo  # noqa: PLC0415 - the harness must stay small (measure.py)
    from oulipoly_demo.past import state as past  # noqa: PLC0415 - as above

    made = demo.ensure(folder)
    past.ensure(made)
    env = demo.environment_for(made) | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    agents = [sys.executable, "-m", "oulipoly_tui"]
    _copy_sessions(made.home)
    subprocess.run([*agents, "session-scan"], env=env, cwd=made.project, capture_output=True, check=True)
    models = sorted(path.stem for path in (made.config / "models").glob("*.toml"))
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        os.chdir(made.project)
        os.execve(agents[0], agents, env)  # noqa: S606 - no shell is wanted
    shots: list[subprocess.Popen[bytes]] = []
    typed = _keys(random.Random(5))  # noqa: S311 - the same every time
    begun = time.monotonic()
    next_key, next_shot, next_figure = begun + 5, begun + 8, begun + _FIRST_S
    try:
        while (now := time.monotonic()) < begun + _FIRST_S + 60 * minutes:
            if select.select([terminal], [], [], 0.05)[0]:
                os.read(terminal, 1 << 16)
            if now >= next_key:
                next_key = now + _KEY_PAUSE_S
                os.write(terminal, next(typed).encode())
            if has_shots and now >= next_shot and sum(shot.poll() is None for shot in shots) < 3:
                next_shot = now + _SHOT_PAUSE_S
                words = [*agents, "-m", models[len(shots) % len(models)], f"Tell me about number {len(shots)}"]
                quiet = subprocess.DEVNULL
                shots.append(
                    subprocess.Popen(words, env=env, cwd=made.project, stdin=quiet, stdout=quiet, stderr=quiet)
                )
            if now >= next_figure:
                next_figure += 60
                yield _resident_mb(pid)
        yield _resident_mb(pid)
    except OSError:
        raise BenchBroken("the app ended while it was used") from None
    finally:
        for shot in shots:
            shot.wait()
        os.kill(pid, signal.SIGKILL)
        os.close(terminal)
        os.waitpid(pid, 0)


def _keys(dice: random.Random) -> Iterator[str]:
    """Yield keys without end: look through the sessions, read one, look elsewhere."""
    elsewhere = ("1jk", "2jj", "?j\x1b", "3/the\rj/\x1b", "\x10se\x1b", "zjz", "4", "", "", "")
    while True:
        yield from "3"
        yield from (dice.choice("jjj\x04k") for _ in range(dice.randrange(2, 6)))
        yield from "\r"
        yield from (dice.choice("k\x15\x04jGg") for _ in range(dice.randrange(3, 9)))
        yield from dice.choice(elsewhere)


def _copy_sessions(home: Path) -> None:
    """Make many sessions of the demo's few, with ids of their own."""
    dice = random.Random(1)  # noqa: S311 - the same every time
    paths = sorted(home.glob(".demo-claude*/projects/*/*.jsonl"))
    if not paths:
        raise BenchBroken("the demo world has no sessions to copy")
    for path, number in zip(itertools.cycle(paths), range(_SESSIONS), strict=False):
        text, session = path.read_text(encoding="utf-8"), _new_id(dice)
        for old in {path.stem, *_UUID.findall(text)}:
            text = text.replace(old, session if old == path.stem else _new_id(dice))
        copy = path.with_name(f"{session}.jsonl")
        copy.write_text(text, encoding="utf-8")
        at = path.stat().st_mtime - 60 * number
        os.utime(copy, (at, at))


def _new_id(dice: random.Random) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128), version=4))


def _resident_mb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    raise BenchBroken("resident sizes are read from /proc, which is not here")

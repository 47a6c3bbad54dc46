"""Hostile output through the whole stack: the program, its host and the app survive it, and the screen comes back.

PANE_FUZZ_MB makes it longer than its second; `scripts/fuzz-terminal` gives it 100 of each kind.
"""

import contextlib
import os
import shutil
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.interactive import terminals

_MEGABYTES = float(os.environ.get("PANE_FUZZ_MB", "0.5"))
_STREAMS = Path(__file__).resolve().parent.parent / "fixtures" / "streams"
# Rubbish of three kinds (the last, valid but for nobody, is what kills the native emulator), then
# a reset, a word, and what is typed back. What the terminal answers is thrown away.
_CHILD = """
    import gzip, os, random, sys, termios, tty
    kind, size, seed = sys.argv[1], float(sys.argv[2]) * 1e6, 3
    dice, sent = random.Random(seed), 0
    streams = [open(os.path.join(sys.argv[3], name), "rb").read() for name in sorted(os.listdir(sys.argv[3]))
               if name.endswith(".gz")]
    recorded = b"".join(map(gzip.decompress, streams))
    tty.setraw(0)
    def mutated():
        start = dice.randrange(len(recorded))
        part = bytearray(recorded[start : start + 4000])
        for _ in range(len(part) // 50 + 1):
            part[dice.randrange(len(part))] = dice.randrange(256)
        return bytes(part).replace(b"\\x1bc", b"")
    def cell():
        colour = "\\x1b[38;2;%d;%d;%dm" % tuple(dice.randrange(256) for _ in range(3))
        return colour + "\\x1b]8;;http://x/%d\\x1b\\\\%s" % (dice.randrange(1 << 30), dice.choice("ab日e"))
    def cells():
        moves = ("\\x1b[%dL", "\\x1b[%dM", "\\x1b[%dS", "\\x1b[%dT", "\\x1b[%d@", "\\x1b[%dP", "\\x1b[%dX", "\\x1b[%dJ")
        parts = []
        for _ in range(12):
            parts.append("\\x1b[%d;%dH" % (dice.randrange(1, 30), dice.randrange(1, 100)))
            parts += [cell() for _ in range(dice.randrange(30))]
            move = dice.choice(moves)
            parts.append(move % (dice.randrange(3) if move.endswith("J") else dice.randrange(1, 12)))
            parts.append(dice.choice(("\\r\\n" * 9, "\\x1bM", "\\x1b[5;25r", "\\x1b[r", "")))
        return "".join(parts).encode()
    make = {"bytes": lambda: dice.randbytes(4096), "mutated": mutated, "cells": cells}[kind]
    while sent < size:
        data = make()
        os.write(1, data)
        sent += len(data)
    os.write(1, b"\\x18\\x1b\\\\\\x1bc\\x1b[!p\\x1b[?1049l\\x1b[?2026l\\x1b(B\\x0f\\x1b[H\\x1b[2Jover and out\\r\\n")
    termios.tcflush(0, termios.TCIFLUSH)
    typed = b""
    while not typed.endswith(b"still there?\\r"):
        typed += os.read(0, 4096)
    os.write(1, b"still here\\r\\n")
    os.read(0, 1)
"""


def _lives(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.fixture
def paths(home):
    """The folders of this test; its terminal ends with it."""
    found = from_environment()
    yield found
    pids = set()
    for one in terminals.survey(found, SystemClock()).living:
        pids |= {one.host_pid, one.pid, one.screen_pid} - {0}
        with contextlib.suppress(OSError):
            os.kill(one.host_pid, signal.SIGTERM)
    deadline = time.monotonic() + 60
    while any(map(_lives, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    shutil.rmtree(found.runtime, ignore_errors=True)
    assert [] == [pid for pid in pids if _lives(pid)]


@pytest.fixture
def shown(home, paths, commands):
    """Show the hostile program in a pane, in a terminal that is drawn into nothing."""
    opened = []

    def start(kind):
        script = home / "hostile.py"
        script.write_text(textwrap.dedent(_CHILD))
        words = ["terminal", "--", sys.executable, str(script), kind, str(_MEGABYTES), str(_STREAMS)]
        env = dict(os.environ) | {"TERM": "xterm-256color"}
        cli = commands.show(words, env, home, (30, 100), encoding=None)
        cli.timeout, cli.maxread = 60 + 10 * _MEGABYTES, 1 << 16
        opened.append(cli)
        return cli

    yield start
    for cli in opened:
        cli.close(force=True)


@pytest.mark.timeout(120 + 20 * _MEGABYTES)
@pytest.mark.parametrize("kind", ["bytes", "mutated", "cells"])
def test_hostile_output_is_survived_and_the_screen_comes_back(shown, paths, kind):
    cli = shown(kind)
    cli.expect(b"over and out")
    (terminal,) = terminals.survey(paths, SystemClock()).living
    cli.send(b"still there?\r")

    cli.expect(b"still here")
    assert cli.isalive()
    assert _lives(terminal.pid)
    assert _lives(terminal.host_pid)
    log = paths.terminal_logs / f"{terminal.id}.log"
    sys.stdout.write(f"{kind}: {_MEGABYTES} MB; {log.read_text() if log.exists() else 'no'}\n")

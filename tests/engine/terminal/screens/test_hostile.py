"""Hostile output: a screen in a process of its own may end that process, and nobody is left waiting or guessing.

The native emulator is known to die of some streams (rows moved over a page boundary of its memory): what is promised is
that this shows as the end of the process, and that short of it frames stay sound. SCREEN_FUZZ_S makes it longer.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bittty import Board

from oulipoly_engine.terminal.emulators.choose import open_screen
from oulipoly_engine.terminal.protocol.screen import ScreenBroken

_CHILD = Path(__file__).with_name("hostile_child.py")
_SECONDS = float(os.environ.get("SCREEN_FUZZ_S", "0.7"))


@pytest.mark.timeout(60 + 2 * _SECONDS)
@pytest.mark.parametrize("kind", ["bytes", "sequences", "mutated"])
def test_hostile_output_ends_the_process_at_worst(engine, kind):
    done = subprocess.run(
        [sys.executable, str(_CHILD), engine, "1", str(_SECONDS), kind],
        capture_output=True,
        timeout=30 + _SECONDS,
        check=False,
    )

    died_of_a_signal = done.returncode < 0
    assert done.returncode == 0 or (engine == "ghostty" and died_of_a_signal), done.stderr.decode()
    assert died_of_a_signal or int(done.stdout) > 0


@pytest.fixture
def stumbling(monkeypatch):
    """Have the emulator in Python raise where a text is in what it is fed."""

    def stumble(text):
        feed = Board.feed_host_data

        def fed(board, data):
            if text in data:
                raise IndexError("list index out of range")
            feed(board, data)

        monkeypatch.setattr(Board, "feed_host_data", fed)

    return stumble


def test_an_emulator_that_raises_loses_a_slice_and_goes_on(stumbling):
    stumbling(b"!")
    screen = open_screen(prefer="bittty")

    for data in (b"before ", b"lost!", b"after"):
        screen.feed(data)

    assert ("before after",) == screen.lines(0, 1)


def test_an_emulator_that_only_raises_is_broken(stumbling):
    stumbling(b"x")
    screen = open_screen(prefer="bittty")

    with pytest.raises(ScreenBroken, match="fails at everything"):
        screen.feed(b"x" * 1_000_000)

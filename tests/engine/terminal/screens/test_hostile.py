"""Hostile output: a screen in a process of its own may end that process, and nobody is left waiting or guessing.

The native emulator is known to die of some streams (rows moved over a page boundary of its memory): what is promised is
that this shows as the end of the process, and that short of it frames stay sound. SCREEN_FUZZ_S makes it longer.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_CHILD = Path(__file__).with_name("hostile_child.py")
_SECONDS = float(os.environ.get("SCREEN_FUZZ_S", "0.7"))


@pytest.mark.timeout(60 + 2 * _SECONDS)
@pytest.mark.parametrize("kind", ["bytes", "sequences", "mutated", "pieces"])
def test_hostile_output_ends_the_process_at_worst(kind):
    done = subprocess.run(
        [sys.executable, str(_CHILD), "1", str(_SECONDS), kind],
        capture_output=True,
        timeout=60 + _SECONDS,
        check=False,
    )

    died_of_a_signal = done.returncode < 0
    assert done.returncode == 0 or died_of_a_signal, done.stderr.decode()
    assert died_of_a_signal or int(done.stdout) > 0

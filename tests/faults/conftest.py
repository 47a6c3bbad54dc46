"""Kill drills: one of our commands killed again and again, each time at another moment of its work.

A drill has a short form for every run of the tests and a long one of 100 kills, marked `kills`, in parts that run side
by side: `scripts/test-kills` runs those.
"""

import os
import random
import signal
from pathlib import Path

import pytest

DIE_AT = Path(__file__).resolve().parents[1] / "fixtures" / "die_at.py"
KILLED = (-signal.SIGKILL, -signal.SIGALRM)
LONG, PARTS = 100, 10


def pytest_generate_tests(metafunc):
    """Give a test that asks for `kills` how many there are and where their random moments begin."""
    if "kills" in metafunc.fixturenames:
        long = [
            pytest.param((LONG // PARTS, part), marks=[pytest.mark.kills, pytest.mark.timeout(900)], id=f"long-{part}")
            for part in range(PARTS)
        ]
        short = pytest.param((2, PARTS), id="short")
        metafunc.parametrize("kills", [short, *long], indirect=True)


class Kills:
    """So many moments at which a command is killed."""

    def __init__(self, commands, count, seed, folder):
        self._commands, self._count = commands, count
        self._random = random.Random(seed)
        self._measured = folder / "measured-work"
        self._most, self._seconds = 0, 0.0

    def measure(self, *arguments, **more):
        """Run a command undisturbed, so that the moments are known at which there is something to disturb."""
        done = self._run(f"never:{self._measured}", *arguments, **more)
        assert done.returncode == 0, done.stderr
        changes, seconds = self._measured.read_text().split()
        self._most, self._seconds = int(changes), float(seconds)

    @property
    def steps(self):
        """Return how many changes to the disk the command has made."""
        return self._most

    def __len__(self):
        """Return how many kills there will be."""
        return self._count

    def __iter__(self):
        """Yield the moments: by turns before a change to the disk, and at an instant between the first and the last."""
        for number in range(self._count):
            if number % 2:
                yield f"after:{self._random.uniform(0, self._seconds):.6f}"
            else:
                yield f"change:{self._random.randint(1, self._most)}"

    def shares(self, less=1):
        """Yield moments as shares of the work, 0..1, spread over it; less: how many times fewer than usual."""
        count = self._count // less
        for number in range(count):
            yield (number + self._random.random()) / count

    def kill(self, moment, *arguments, **more):
        """Run a command that is killed at a moment; returns whether it was, for it may have been faster."""
        done = self._run(moment, *arguments, **more)
        assert done.returncode in (0, *KILLED), (moment, done.stderr)
        return done.returncode in KILLED

    def run(self, *arguments, **more):
        """Run a command undisturbed and return the finished process."""
        return self._run("change:0", *arguments, **more)

    def _run(self, moment, *arguments, timeout=60, **more):
        env = more.pop("env", dict(os.environ))
        return self._commands.run([moment, *arguments], b"", env, Path.cwd(), timeout, program=[DIE_AT], **more)


@pytest.fixture
def kills(request, tmp_path, commands):
    """The moments of a drill: a few, or a part of the long form's hundred."""
    count, seed = request.param
    return Kills(commands, count, seed, tmp_path)

"""Who sits at a terminal is asked before a command does what no other one takes back; scripts never are."""

import os
import pty
import subprocess
import sys

import pytest

from oulipoly_engine.cli.main import main

REVOKE = ("device", "revoke", "phone")
QUESTION = "Make a device worthless, at once: phone?"


def at_a_terminal(*arguments, typed):
    """Run a command at a terminal of its own, and return its exit code and all that stood there."""
    master, slave = pty.openpty()
    os.write(master, typed)
    words = [sys.executable, "-m", "oulipoly_tui", *arguments]
    with subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave) as child:
        os.close(slave)
        seen = b""
        while piece := read(master):
            seen += piece
    os.close(master)
    return child.returncode, seen.decode()


def read(master):
    try:
        return os.read(master, 4096)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize(
    ("more", "typed", "outcome"),
    [
        ((), b"n\n", "nothing was changed"),
        ((), b"y\n", "there is no device 'phone'"),
        (("--yes",), b"", "there is no device 'phone'"),
    ],
    ids=["no", "yes", "agreed"],
)
def test_who_sits_at_a_terminal_is_asked(home, more, typed, outcome):
    code, seen = at_a_terminal(*REVOKE, *more, typed=typed)

    assert 0 != code
    assert outcome in seen
    assert (QUESTION in seen) == (not more)


def test_a_script_is_not_asked(home, capfd):
    assert 0 != main([*REVOKE])
    assert QUESTION not in "".join(capfd.readouterr())

"""Programs on the whole screen: the keys that end one reach it, and it leaves us the terminal as it was."""

import sys
import termios

import pexpect
import pytest

SHOW = "import sys; input(); from oulipoly_engine.process.user_programs import show_program; "
SHOW += "print('told', show_program(tuple(sys.argv[1:]), None))"


def start(*argv):
    return pexpect.spawn(sys.executable, ["-c", SHOW, *argv], encoding="utf-8", timeout=60)


@pytest.mark.parametrize(("key", "signal"), [("c", 2), ("\\", 3)])
def test_key_ends_a_program_that_hangs_and_not_us(key, signal):
    child = start("sh", "-c", "echo it hangs; exec sleep 600")
    child.sendline("")
    child.expect_exact("it hangs\r\n")
    child.sendcontrol(key)
    child.expect_exact(f"[ended by signal {signal}; enter goes back]")
    child.sendline("")
    child.expect_exact("told None")
    child.expect(pexpect.EOF)


def test_program_that_dies_in_raw_mode_leaves_the_terminal_as_it_was():
    child = start("sh", "-c", "stty raw -echo; kill -9 $$")
    before = termios.tcgetattr(child.child_fd)
    child.sendline("")
    child.expect_exact("enter goes back]")
    child.sendline("")
    child.expect_exact("told None")

    assert before == termios.tcgetattr(child.child_fd)
    child.expect(pexpect.EOF)

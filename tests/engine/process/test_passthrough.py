"""What the user's terminal gets and keeps while a program runs in one of its own."""

import os
import shutil
import signal
import sys
import termios
import time

import pexpect
import pytest

OURS = """
import os, sys
from oulipoly_engine.process.command import Command, watch_commands
from oulipoly_engine.process.passthrough import pass_through
with watch_commands(lambda argv, cwd: lambda outcome: print("TOLD", outcome)):
    ended = pass_through(Command(tuple(sys.argv[1:]), dict(os.environ)))
print("ENDED", ended.exit_code, ended.killed_by, ended.stopped_for)
"""


@pytest.fixture
def start():
    opened = []

    def start(script, program=("sh", "-c"), **changes):
        spawned = pexpect.spawn(
            sys.executable, ["-c", OURS, *program, script], timeout=60, dimensions=(30, 100), echo=True, **changes
        )
        spawned.delayafterclose = spawned.delayafterterminate = spawned.ptyproc.delayafterclose = 0
        opened.append(spawned)
        return spawned

    yield start
    for spawned in opened:
        spawned.close(force=True)


@pytest.mark.parametrize(("script", "end"), [("exit 0", "0 None"), ("exit 7", "7 None"), ("kill -9 $$", "137 9")])
def test_exit_code_is_the_programs_own_and_told_to_who_watches(start, script, end):
    ours = start(script)
    ours.expect_exact(f"TOLD ended with {end.split()[0]}")
    ours.expect_exact(f"ENDED {end} None")


def test_bytes_pass_unchanged_both_ways(start):
    every = bytes(range(256))
    read = "import os,sys,tty; tty.setraw(0); os.write(1, b'ready'); d=b''\n"
    read += "while len(d) < 256: d += os.read(0, 256)\nos.write(1, d); sys.exit(d != bytes(range(256)))"
    ours = start(read, program=(sys.executable, "-c"))
    ours.expect_exact("ready")
    ours.send(every)
    ours.expect_exact(every)

    ours.expect_exact("ENDED 0 None None")


def test_a_large_output_arrives_whole_and_in_order(start):
    ours = start("seq 1 200000; echo; echo done")
    ours.expect_exact("done", timeout=60)

    assert b"".join(b"%d\r\n" % number for number in range(1, 200_001)) in ours.before


def test_a_large_paste_arrives_whole(start):
    read = "import os,sys,tty; tty.setraw(0); os.write(1, b'ready'); n=0\n"
    read += "while n < 300000: n += len(os.read(0, 999))\nprint('got', n)"
    ours = start(read, program=(sys.executable, "-c"))
    ours.expect_exact("ready")
    ours.send(b"x" * 300_000)

    ours.expect_exact("got 300000")


def test_size_is_passed_at_the_start_and_with_every_change(start):
    ours = start("trap 'stty size' WINCH; stty size; while :; do sleep 0.02; done")
    ours.expect_exact("30 100")
    ours.setwinsize(41, 122)
    ours.expect_exact("41 122")
    ours.sendcontrol("c")

    ours.expect_exact("ENDED 130 2 None")


def test_program_has_the_special_characters_of_the_users_terminal(start):
    ours = start("stty erase '^A'; echo ready; stty -a")
    ours.expect_exact("erase = ^A")


def test_terminal_is_as_before_after_every_end(start):
    for script in ("stty -echo; kill -9 $$", "exit 3"):
        ours = start(f"echo ready; read x; {script}")
        before = termios.tcgetattr(ours.ptyproc.fd)
        ours.expect_exact("ready")
        ours.sendline("go")
        ours.expect_exact("ENDED")

        assert before == termios.tcgetattr(ours.ptyproc.fd)


def test_killed_program_leaves_neither_its_screen_nor_its_mouse_behind(start):
    ours = start("printf '\\033[?1049h\\033[?25l\\033[?1003h'; kill -9 $$")

    ours.expect_exact("\x1b[?1003l\x1b[?1049l\x1b[?25h")


def test_program_that_ends_well_keeps_what_it_set(start):
    ours = start("printf '\\033[?1049hdone'")
    ours.expect_exact("done")
    ours.expect_exact("ENDED 0")

    assert b"\x1b[?1049l" not in ours.before


def test_program_says_goodbye_when_it_is_told_to_leave(start):
    ours = start("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.02; done")
    ours.expect_exact("ready")
    ours.kill(signal.SIGTERM)
    ours.expect_exact("bye")

    ours.expect_exact("ENDED 5 None 15")


def test_program_that_ignores_a_hang_up_is_ended(start):
    ours = start("trap '' HUP TERM INT; echo ready; while :; do sleep 0.02; done")
    ours.expect_exact("ready")
    ours.kill(signal.SIGHUP)

    ours.expect_exact("ENDED 137 9 1")


def test_our_own_death_hangs_up_on_the_program(start, tmp_path):
    # It does not read: a reader is woken with an error just before the signal is sent, and might have ended by then.
    ours = start(f"trap 'echo > {tmp_path}/hung-up; exit' HUP; echo ready; while :; do sleep 0.02; done")
    ours.expect_exact("ready")
    ours.kill(signal.SIGKILL)

    deadline = time.monotonic() + 60
    while not (tmp_path / "hung-up").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell with job control")
def test_suspended_program_gives_the_shell_its_terminal_and_goes_on(tmp_path):
    program = tmp_path / "program"
    program.write_text("echo up; kill -STOP $$; echo on; read x; echo got $x; exit 4\n")
    env = dict(os.environ) | {"PS1": "PROMPT> "}
    shell = pexpect.spawn("bash", ["--norc", "--noprofile", "-i"], env=env, timeout=60)
    shell.delayafterclose = shell.delayafterterminate = shell.ptyproc.delayafterclose = 0
    script = tmp_path / "ours.py"
    script.write_text(OURS)
    shell.expect_exact("PROMPT> ")
    shell.sendline(f"{sys.executable} {script} sh {program}")
    shell.expect_exact("up")
    shell.expect("Stopped")
    shell.expect_exact("PROMPT> ")
    shell.sendline("echo still $((40+2))")
    shell.expect_exact("still 42")
    shell.sendline("fg")
    shell.expect("\\bon\\b")
    shell.sendline("abc")
    shell.expect_exact("got abc")
    shell.expect_exact("ENDED 4 None None")
    shell.close(force=True)


def test_program_that_stops_itself_where_no_shell_waits_goes_on(start):
    start("kill -STOP $$; echo on; exit 6").expect_exact("ENDED 6 None None")

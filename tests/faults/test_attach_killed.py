"""`terminal` and `attach` at a real terminal: left by the key, killed, and found again."""

import os
import re
import shutil
import signal
import sys
import tempfile
import time

import pexpect
import pytest


@pytest.fixture
def env():
    root = tempfile.mkdtemp(prefix="agr-", dir="/tmp")
    yield dict(os.environ) | {"XDG_RUNTIME_DIR": root, "PS1": "$ ", "TERM": "xterm-256color"}
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def run(env, home, commands):
    """Run our command at a terminal; whatever still runs afterwards is ended."""
    children = []

    def start(*arguments, program=(), dimensions=(24, 80)):
        if program:
            child = pexpect.spawn(program[0], program[1:], env=env, cwd=str(home), timeout=60, dimensions=dimensions)
        else:
            child = commands.show(arguments, env, home, dimensions, encoding=None)
        child.delaybeforesend = None
        children.append(child)
        return child

    yield start
    for child in children:
        child.close(force=True)


@pytest.fixture
def terminal(agents, env):
    """A shell in a terminal of its own; ended afterwards."""
    identity = agents("terminal", "--detach", "--", "sh", "-i", env=env).stdout.decode().strip()
    yield identity
    agents("kill", identity, env=env)
    deadline = time.monotonic() + 60
    while b"no terminals" not in agents("terminals", env=env).stdout:  # it tells its clients first that it has ended
        assert time.monotonic() < deadline


def test_terminal_is_left_by_its_key_and_runs_on(run, terminal):
    child = run("attach", terminal)
    child.expect_exact("ctrl+] leaves this terminal")
    child.sendline("kept=$((6*7))")
    child.send("\x1d")
    child.expect_exact(f"left {terminal}")
    child.expect(pexpect.EOF)

    again = run("attach", terminal[:4])
    again.expect_exact("$")
    again.sendline("echo is $kept")

    again.expect_exact("is 42")


def test_killed_client_leaves_the_program_as_it_was(run, terminal):
    child = run("attach", terminal)
    child.expect_exact("$")
    child.sendline("kept=$((6*7)); while :; do echo flood; done")
    child.expect_exact("flood")
    child.kill(signal.SIGKILL)
    child.wait()

    again = run("attach", terminal)
    again.expect_exact("flood")
    again.send("\x03")
    again.sendline("echo is $kept")

    again.expect_exact("is 42")


def test_terminal_runs_a_command_and_ends_with_its_exit_code(run):
    child = run("terminal", "--plain", "--", "sh", "-c", "read x; echo got $x; exit 5")
    child.expect_exact("ctrl+] leaves")
    child.sendline("this")
    child.expect_exact("got this")
    child.expect_exact("ended: exit code 5")
    child.expect(pexpect.EOF)
    child.wait()

    assert 5 == child.exitstatus


def test_terminal_is_given_back_after_a_signal(run, terminal):
    child = run("attach", terminal)
    child.expect_exact("$")

    child.kill(signal.SIGTERM)

    child.expect_exact("\x1b[?1049l")
    child.expect(pexpect.EOF)
    child.wait()
    assert 143 == child.exitstatus


def test_killed_attach_gives_the_terminal_back_by_another_hand(run, terminal):
    child = run(program=["/bin/sh", "-i"])  # with the last shell of a session its terminal is gone too
    child.expect_exact("$ ")
    child.send(f"sh -c 'echo pid $$; exec {sys.executable} -m oulipoly_tui attach {terminal}'\r")
    child.expect(rb"\npid (\d+)")
    killed = int(child.match[1])
    child.expect_exact("\x1b[?u")
    child.send("\x1b[?0u")
    child.expect_exact("\x1b[>5u")

    os.kill(killed, signal.SIGKILL)

    child.expect(re.escape(b"\x1b[<u") + b".*" + re.escape(b"\x1b[?1000l") + b".*" + re.escape(b"\x1b[?1049l"))


def test_key_protocol_is_switched_on_where_it_is_known_and_off_again(run, terminal):
    child = run("attach", terminal)
    child.expect_exact("$")
    child.send("\x1b[?1u")
    child.expect_exact("\x1b[>5u")
    child.send("echo a$((1+1))b\r\x1b[13;1u")
    child.expect_exact("a2b")

    child.send("\x1b[93;5u")

    child.expect_exact("\x1b[<u")
    child.expect_exact("\x1b[?1049l")
    child.expect_exact(f"left {terminal}")


def test_key_protocol_is_left_alone_where_nobody_answers(run, terminal):
    child = run("attach", terminal)
    child.expect_exact("$")
    child.send("\x1d")
    child.expect(pexpect.EOF)

    assert b"\x1b[>5u" not in child.before
    assert b"\x1b[<u" not in child.before


def test_keys_that_only_the_protocol_tells_apart_reach_the_program_that_asked(run, agents, env):
    script = "stty raw -echo; printf '\\033[>1uready'; cat -v"
    child = run("terminal", "--plain", "--", "sh", "-c", script)
    child.expect_exact("ready")
    child.send("\x1b[?0u\x1b[13;2u\x1b[105;5u")

    child.expect_exact("^[[13;2u^[[105;5u")
    child.send("\x1d")
    child.expect(rb"left ([0-9a-f]{6})")
    agents("kill", child.match[1].decode(), env=env)


@pytest.mark.parametrize(
    ("way", "chord"),
    [
        pytest.param("attach", "\x1d", id="attach-old"),
        pytest.param("pane", "\x1b[93;5u", id="pane-kitty"),
        pytest.param("attach", "\x1b[93;5u", id="attach-kitty", marks=pytest.mark.kills),
        pytest.param("pane", "\x1d", id="pane-old", marks=pytest.mark.kills),
    ],
)
def test_what_follows_the_key_in_one_go_reaches_neither_program_nor_shell(run, terminal, env, agents, way, chord):
    python = f"{sys.executable} -m oulipoly_tui"
    words = f"attach {terminal}" if way == "attach" else "terminal -- sh -c 'echo up; cat'"
    shell = run(program=["/bin/sh", "-i"])
    shell.expect_exact("$ ")
    shell.send(f"{python} {words}\r")
    shell.expect_exact("leaves")
    shell.expect_exact("$" if way == "attach" else "up")

    shell.send(f"{chord}echo ha''rm\r")

    shell.expect(rb"left ([0-9a-f]{6})")
    left = shell.match[1].decode()
    if way == "attach":
        shell.expect_exact("typed after ctrl+] in one go (12 bytes) went nowhere")
    shell.expect_exact("$ ")
    shell.send("echo o''ver\r")
    shell.expect_exact("\nover")
    assert b"harm" not in shell.before
    again = run("attach", left)
    again.expect_exact("leaves this terminal")
    again.send("se''en\r")
    again.expect_exact("en")
    assert b"harm" not in again.before
    again.send("\x1d")
    again.expect(pexpect.EOF)
    if left != terminal:
        agents("kill", left, env=env)


def test_reading_only_types_nothing_and_leaves_the_size(run, terminal):
    child = run("attach", terminal)
    child.expect_exact("$")
    reader = run("attach", "--read-only", terminal, dimensions=(12, 40))
    reader.expect_exact("for reading only")
    reader.expect_exact("$")
    reader.send("echo ha''rm\r")
    child.send("stty size\r")
    child.expect_exact("24 80")
    reader.expect_exact("24 80")
    reader.send("\x1d")
    reader.expect_exact(f"left {terminal}")

    assert b"harm" not in child.before + reader.before


def test_attach_without_a_terminal_is_refused(agents, terminal, env):
    done = agents("attach", terminal, env=env)

    assert 1 == done.returncode
    assert b"stdin is not a terminal" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("kill", "zzzzzz"), 1, b"there is no terminal"),
        (("kill", "abc", "--signal", "NOPE"), 2, b"there is no signal 'NOPE'"),
        (("terminal", "--detach"), 2, b"no command: put it after `--`"),
        (("terminal", "--detach", "--size", "0x0", "--", "cat"), 2, b"not a size such as 120x40"),
        (("terminal", "--detach", "--", "no-such-program"), 1, b"install it, or correct its name\n"),
    ],
    ids=["kill", "signal", "empty", "size", "missing"],
)
def test_what_cannot_be_done_is_said(agents, env, arguments, code, words):
    done = agents(*arguments, env=env)

    assert code == done.returncode
    assert words in done.stderr
    assert b"" == done.stdout


def test_list_is_told_as_json_and_as_a_table_with_secrets_hidden(agents, env):
    secret = "sk-ant-api03-abcdefghijklmnop"
    identity = (
        agents("terminal", "--detach", "--", "sh", "-c", "cat", "cli", "--token", secret, env=env)
        .stdout.decode()
        .strip()
    )

    table, document = agents("terminals", env=env).stdout, agents("terminals", "--json", env=env).stdout

    agents("kill", identity, env=env)
    assert identity.encode() in table
    assert b'"state": "running"' in document
    assert secret.encode() not in table + document

"""`terminal` and `attach` at a real terminal: left by the key, killed, and found again."""

import os
import shutil
import signal
import sys
import tempfile

import pexpect
import pytest


@pytest.fixture
def env():
    root = tempfile.mkdtemp(prefix="agr-", dir="/tmp")
    yield dict(os.environ) | {"XDG_RUNTIME_DIR": root, "PS1": "$ ", "TERM": "xterm-256color"}
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def run(env, home):
    """Run our command at a terminal; whatever still runs afterwards is ended."""
    children = []

    def start(*arguments):
        child = pexpect.spawn(
            sys.executable, ["-m", "oulipoly_tui", *arguments], env=env, cwd=str(home), timeout=20, dimensions=(24, 80)
        )
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
    assert b"no terminals" in agents("terminals", env=env).stdout


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


def test_attach_without_a_terminal_is_refused(agents, terminal, env):
    done = agents("attach", terminal, env=env)

    assert 1 == done.returncode
    assert b"stdin is no terminal" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("kill", "zzzzzz"), 1, b"there is no terminal"),
        (("kill", "abc", "--signal", "NOPE"), 2, b"there is no signal 'NOPE'"),
        (("terminal", "--detach"), 2, b"no command: put it after `--`"),
        (("terminal", "--detach", "--size", "0x0", "--", "cat"), 2, b"not a size such as 120x40"),
        (("terminal", "--detach", "--", "no-such-program"), 1, b"'no-such-program' was not found"),
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

"""A terminal whose emulator failed for good, or that never had one: `attach` gives the program the whole terminal."""

import json
import os
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pexpect
import pytest

from oulipoly_engine.paths import from_environment
from oulipoly_engine.process.command import Command
from oulipoly_engine.service.interactive import terminals

# A host as ours, where no emulator is installed.
_HOST = """
from oulipoly_engine.service.interactive import terminal_host
from oulipoly_engine.terminal.emulators.ghostty import screen
from oulipoly_engine.terminal.protocol.screen import ScreenUnavailable


def load():
    raise ScreenUnavailable("pyghostty is not installed")


screen.load = load
if __name__ == "__main__":
    terminal_host.main()
"""


@pytest.fixture
def env():
    root = tempfile.mkdtemp(prefix="agr-", dir="/tmp")
    yield dict(os.environ) | {"XDG_RUNTIME_DIR": root, "PS1": "$ ", "TERM": "xterm-256color"}
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def attach(env, home, commands):
    """Attach to a terminal from another one."""
    children = []

    def start(*words):
        child = commands.show(["attach", *words], env, home, encoding=None)
        child.delaybeforesend = None
        children.append(child)
        return child

    yield start
    for child in children:
        child.close(force=True)


@pytest.fixture
def listed(agents, env):
    """Return a terminal as `agents terminals` lists it."""

    def find(identity):
        found = json.loads(agents("terminals", "--json", env=env).stdout)["terminals"]
        return next(one for one in found if one["id"] == identity)

    return find


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def given_up(agents, env, listed):
    """A shell in a terminal whose emulator has died three times; ended afterwards."""
    identity = agents("terminal", "--detach", "--", "sh", "-i", env=env).stdout.decode().strip()
    for _ in range(3):
        while not (victim := listed(identity)["screen_pid"]):
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)
        while listed(identity)["screen_pid"] == victim:
            time.sleep(0.01)
    yield identity
    agents("kill", identity, env=env)
    deadline = time.monotonic() + 60
    while b"no terminals" not in agents("terminals", env=env).stdout:  # it tells its clients first that it has ended
        assert time.monotonic() < deadline


def test_program_is_talked_to_plainly_and_left_by_the_key(given_up, attach):
    child = attach(given_up)
    child.expect_exact("[ctrl+] leaves this terminal; the program runs on]")
    child.sendline("kept=$((6*7)); printf '\\033[?2004h\\033[31mred\\033[0m'")
    child.expect_exact("\x1b[?2004h\x1b[31mred\x1b[0m")  # as it was printed
    child.send("\x1d")
    child.expect_exact("\x1b[?2004l")  # what the program has switched on is switched off outside
    child.expect_exact(f"left {given_up}")
    child.expect(pexpect.EOF)

    again = attach(given_up)
    again.expect_exact("\x1b[?2004h")  # and on again for whoever comes back
    again.sendline("echo is $kept")
    again.expect_exact("is 42")
    again.send("\x1b[93;5u")  # the same key, in the kitty protocol's form
    again.expect_exact(f"left {given_up}")


def test_exit_code_of_a_program_that_ends_plainly_is_told(given_up, attach):
    child = attach(given_up)
    child.expect_exact("$ ")
    child.sendline("exit 7")

    child.expect(re.compile(rb"ended: exit code 7"))
    child.expect(pexpect.EOF)
    child.close()
    assert 7 == child.exitstatus


def test_who_only_reads_types_nothing_plainly(given_up, attach, listed):
    reader, writer = attach("--read-only", given_up), attach(given_up)
    for child in (reader, writer):
        child.expect_exact("leaves this terminal")
    reader.send("exit 3\r")
    writer.sendline("echo st''ill")

    reader.expect_exact("still")
    assert _lives(listed(given_up)["pid"])


def test_without_an_emulator_the_program_starts_and_is_attached_to_plainly(home, env, agents, attach, monkeypatch):
    (home / "bare_host.py").write_text(_HOST)
    with monkeypatch.context() as patched:
        patched.setenv("PYTHONPATH", os.pathsep.join([str(home), os.environ.get("PYTHONPATH", "")]))
        patched.setattr(terminals, "_HOST", "bare_host")
        terminal = terminals.start(from_environment(env), terminals.Launch(Command(("sh", "-i"), env, home)))

    child = attach(terminal.id)

    child.expect_exact("leaves this terminal")
    child.sendline("echo li''ves")
    child.expect_exact("lives")
    agents("kill", terminal.id, env=env)

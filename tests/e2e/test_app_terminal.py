"""The app in a real terminal, in the demo's world: a walk by keyboard, resizing, signals, and bad weather."""

import fcntl
import os
import re
import signal
import sqlite3
import termios
import time
from contextlib import closing, suppress
from itertools import product
from pathlib import Path

import pexpect
import pytest

from oulipoly_demo import world
from oulipoly_demo.world import Options
from oulipoly_engine.process.liveness import is_alive

_ESCAPE_PAUSE_S = 0.4
LEAVES_SCREEN = "\x1b[?1049l"
ENDS = ["q", signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return world.build(tmp_path_factory.mktemp("app") / "w", options=Options(pace_s=0))


@pytest.fixture
def demo(tmp_path):
    """A world that a test may break."""
    return world.build(tmp_path / "w", options=Options(pace_s=0))


@pytest.fixture
def slow_script(built, tmp_path):
    """Have an account whose quota script takes a minute; returns the file that has its process's number."""
    pid, file = tmp_path / "pid", built.config / "providers.toml"
    before = file.read_text()
    script = f"quota_script = 'echo $$ > {pid}; exec sleep 60'"
    file.write_text(f"{before}[slow]\ncommand = 'cat'\nargs = []\n{script}\n")
    yield pid
    file.write_text(before)


@pytest.fixture
def start(commands):
    opened = []

    def start(demo, *arguments, dimensions=(24, 80), **environ):
        env = world.environment_for(demo, os.environ) | {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | environ
        app = commands.show(arguments, env, demo.project, dimensions)
        opened.append(app)
        return app

    yield start
    for app in opened:
        app.close(force=True)


def back(app):
    """Press escape alone: nothing but a pause, once it was read, tells it from alt with the next key."""
    app.send("\x1b")
    terminal = os.open(f"/proc/{app.pid}/fd/0", os.O_RDWR | os.O_NOCTTY)
    while fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)) != bytes(4):
        time.sleep(0.01)
    os.close(terminal)
    time.sleep(_ESCAPE_PAUSE_S)


def ended(app):
    """Let it end, and return what it wrote last."""
    app.expect(pexpect.EOF)
    app.wait()
    return app.before


def test_a_walk_by_keyboard_and_another_process_s_wish_on_the_way(built, start, agents):
    app = start(built)
    app.expect("demo-codex1")
    app.send("w")
    app.expect("; rule ")
    app.send("q")
    app.expect("2 Quota")
    app.send("2")
    app.expect("resets in")
    app.send("\x10")
    app.expect("command, an account, a key")
    back(app)
    app.send("?")
    app.expect("Read an account's")
    back(app)
    agents("account", "drain", "demo-claude2", env=world.environment_for(built, os.environ))
    app.expect("drained")
    agents("account", "undrain", "demo-claude2", env=world.environment_for(built, os.environ))
    app.send("q")
    left = ended(app)

    assert LEAVES_SCREEN in left
    assert (0, None) == (app.exitstatus, app.signalstatus)


def test_an_app_that_was_stopped_goes_on_with_its_keys(built, start):
    app = start(built)
    app.expect("demo-codex1")
    for number in [signal.SIGTSTP, signal.SIGSTOP] * 8:  # at once again: the next stop comes while it goes on
        app.kill(number)
        while _stat(app.pid)[0] != "T":  # what a terminal does not read in time is left out, within a character too
            with suppress(pexpect.TIMEOUT):
                app.read_nonblocking(1 << 16, timeout=0.001)
        app.kill(signal.SIGCONT)
        app.expect(re.escape("\x1b[?1049h"))
    app.send("?")
    app.expect("Read an account's")
    back(app)
    app.send("q")
    ended(app)

    assert 0 == app.exitstatus


def test_an_app_that_is_resized_again_and_again_has_the_last_size(built, start):
    app = start(built, COLUMNS="80", LINES="24")  # exported by some shells, and no word about the terminal
    app.expect("demo-codex1")
    sizes = product((20, 33, 300, 50, 79, 161), (5, 60, 12))
    for width, height in sizes:
        app.setwinsize(height, width)
    app.setwinsize(30, 100)
    app.expect(r"\x1b\[30;\d+H")  # a frame of the last size
    is_at_rest = any(_burned_s(app) < 0.5 for _ in range(8))  # a loop of layouts would burn every second whole
    app.send("?")
    app.expect("Read an account's")
    back(app)
    app.send("q")
    ended(app)

    assert 0 == app.exitstatus
    assert is_at_rest


def test_read_only_and_no_anim_are_taken_and_no_layout_is_kept(demo, start):
    app = start(demo, "--read-only", "--no-anim")
    app.expect("read-only")
    app.send("\x14")
    app.expect("Theme")
    app.send("q")
    ended(app)

    assert 0 == app.exitstatus
    assert [] == [path.name for path in demo.home.rglob("app-layout*")]


@pytest.mark.parametrize("end", ENDS, ids=["q", "TERM", "HUP", "INT", "QUIT"])
def test_each_end_gives_the_terminal_back_and_no_script_outlives_it(built, start, slow_script, end):
    app = start(built, dimensions=(24, 100))
    app.expect("… reading quota")
    app.expect("ctrl\\+x")
    while not (slow_script.exists() and slow_script.read_text()):
        time.sleep(0.01)
    if end == "q":
        app.send("q")
    else:
        app.kill(end)
    left = ended(app)

    assert app.exitstatus == (0 if end == "q" else 128 + end)
    assert all(code in left for code in (LEAVES_SCREEN, "\x1b[?25h", "\x1b[?1000l"))
    assert not is_alive(int(slow_script.read_text()))


def test_a_terminal_that_goes_away_leaves_no_app_behind(built, start):
    app = start(built)
    app.expect("demo-codex1")
    app.ptyproc.fileobj.close()  # hangs up: the kernel says so, and wakes whoever was stopped

    deadline = time.monotonic() + 60
    while app.isalive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not app.isalive()


def test_without_colour_there_is_none(built, start):
    app = start(built, NO_COLOR="1")
    app.expect("demo-codex1")
    seen = app.before
    app.send("q")
    seen += ended(app)

    shades = set(re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", seen))
    assert shades
    assert all(red == green == blue for red, green, blue in shades)


def test_a_broken_configuration_is_said_and_the_app_stays(demo, start):
    config = demo.home / ".config" / "oulipoly-agent-runner"
    (config / "models" / "broken.toml").write_text("providers = 3\n")
    (config / "app.toml").write_text("theme = [\n")
    app = start(demo, dimensions=(50, 200))
    app.expect("demo-codex1")
    app.send("!")
    app.expect("broken.toml")
    app.expect("app.toml")
    app.send("q")
    app.expect("1 Pools")
    app.send("q")
    ended(app)

    assert 0 == app.exitstatus


def test_a_locked_state_file_holds_nothing_up(demo, start, agents):
    agents("why", "demo-opus", env=world.environment_for(demo, os.environ))
    path = demo.home / ".local" / "share" / "oulipoly-agent-runner" / "state.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        app = start(demo)
        app.expect("demo-codex1")
        app.send("2")
        app.expect("top consumers")
        other.execute("ROLLBACK")
    app.send("q")
    ended(app)

    assert 0 == app.exitstatus


def _burned_s(app):
    before = _cpu_s(app.pid)
    with pytest.raises(pexpect.TIMEOUT):
        app.expect("this is never written", timeout=1.0)
    return _cpu_s(app.pid) - before


def _stat(pid):
    with Path(f"/proc/{pid}/stat").open() as file:
        return file.read().rpartition(")")[2].split()


def _cpu_s(pid):
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

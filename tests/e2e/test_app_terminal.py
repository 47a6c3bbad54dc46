"""The app in a real terminal, in the demo's world: a walk by keyboard, resizing, signals, and bad weather."""

import fcntl
import os
import re
import signal
import sqlite3
import sys
import termios
import time
from contextlib import closing
from itertools import product
from pathlib import Path

import pexpect
import pytest

from oulipoly_demo import world
from oulipoly_demo.world import Options
from oulipoly_engine.process.liveness import is_alive

_ESCAPE_PAUSE_S = 0.4
LEAVES_SCREEN = "\x1b[?1049l"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return world.build(tmp_path_factory.mktemp("app") / "w", options=Options(pace_s=0))


@pytest.fixture
def demo(tmp_path):
    """A world that a test may break."""
    return world.build(tmp_path / "w", options=Options(pace_s=0))


@pytest.fixture
def start():
    opened = []

    def start(demo, *arguments, dimensions=(24, 80), **environ):
        env = world.environment_for(demo, os.environ) | {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | environ
        app = pexpect.spawn(
            sys.executable,
            ["-m", "oulipoly_tui", *arguments],
            env=env,
            cwd=str(demo.project),
            encoding="utf-8",
            timeout=60,
            dimensions=dimensions,
        )
        app.delayafterclose = app.delayafterterminate = app.ptyproc.delayafterclose = 0
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


def test_a_walk_by_keyboard(built, start):
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
    app.send("q")
    left = ended(app)

    assert LEAVES_SCREEN in left
    assert (0, None) == (app.exitstatus, app.signalstatus)


def test_a_storm_of_sizes_ends_with_a_frame_of_the_last_one(built, start):
    app = start(built, COLUMNS="80", LINES="24")  # exported by some shells, and no word about the terminal
    app.expect("demo-codex1")
    sizes = product((20, 33, 300, 50, 79, 161), (5, 60, 12))
    for width, height in sizes:
        app.setwinsize(height, width)
    app.setwinsize(30, 100)
    app.expect(r"\x1b\[30;\d+H")
    is_at_rest = any(_burned_s(app) < 0.5 for _ in range(8))  # a loop of layouts would burn every second whole
    app.send("q")
    ended(app)

    assert 0 == app.exitstatus
    assert is_at_rest


def test_read_only_keeps_no_layout(demo, start):
    app = start(demo, "--read-only")
    app.expect("demo-codex1")
    app.send("\x14")
    app.expect("Theme")
    app.send("q")
    ended(app)

    assert [] == [path.name for path in demo.home.rglob("app-layout*")]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT], ids=["TERM", "HUP", "INT", "QUIT"]
)
def test_a_signal_gives_the_terminal_back(built, start, number):
    app = start(built)
    app.expect("demo-codex1")
    app.kill(number)
    left = ended(app)

    assert 128 + number == app.exitstatus
    assert all(code in left for code in (LEAVES_SCREEN, "\x1b[?25h", "\x1b[?1000l"))


@pytest.mark.parametrize("end", ["q", signal.SIGTERM, signal.SIGHUP], ids=["q", "TERM", "HUP"])
def test_no_script_outlives_the_app(demo, start, tmp_path, end):
    pid = tmp_path / "pid"
    with (demo.config / "providers.toml").open("a") as file:
        file.write(f"[slow]\ncommand = 'cat'\nargs = []\nquota_script = 'echo $$ > {pid}; exec sleep 60'\n")
    app = start(demo, dimensions=(24, 100))
    app.expect("… reading quota")
    app.expect("ctrl\\+x")
    while not (pid.exists() and pid.read_text()):
        time.sleep(0.01)
    if end == "q":
        app.send("q")
    else:
        app.kill(end)
    ended(app)

    assert app.exitstatus == (0 if end == "q" else 128 + end)
    assert not is_alive(int(pid.read_text()))


def test_a_terminal_that_goes_away_leaves_no_app_behind(built, start):
    app = start(built)
    app.expect("demo-codex1")
    app.ptyproc.fileobj.close()  # hangs up: the kernel says so, and wakes whoever was stopped

    deadline = time.monotonic() + 60
    while app.isalive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not app.isalive()


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP], ids=["TSTP", "STOP"])
def test_an_app_that_was_stopped_goes_on_with_its_keys(built, start, number):
    app = start(built)
    app.expect("demo-codex1")
    for _ in range(15):  # at once again: the next stop comes while the app goes on from the last
        app.kill(number)
        os.waitid(os.P_PID, app.pid, os.WSTOPPED)
        app.kill(signal.SIGCONT)
        app.expect(re.escape("\x1b[?1049h"))
    app.send("?")
    app.expect("Read an account's")
    back(app)
    app.send("q")
    ended(app)

    assert 0 == app.exitstatus


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


def test_another_process_s_wish_is_on_the_screen(built, start, agents):
    app = start(built, dimensions=(40, 120))
    app.expect("demo-codex1")
    agents("account", "drain", "demo-claude2", env=world.environment_for(built, os.environ))
    app.expect("drained")
    agents("account", "undrain", "demo-claude2", env=world.environment_for(built, os.environ))
    app.send("q")
    ended(app)

    assert 0 == app.exitstatus


def test_read_only_and_no_anim_are_taken(built, start):
    app = start(built, "--read-only", "--no-anim")
    app.expect("read-only")
    app.send("q")
    ended(app)

    assert 0 == app.exitstatus


def _burned_s(app):
    before = _cpu_s(app.pid)
    with pytest.raises(pexpect.TIMEOUT):
        app.expect("this is never written", timeout=1.0)
    return _cpu_s(app.pid) - before


def _cpu_s(pid):
    with Path(f"/proc/{pid}/stat").open() as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

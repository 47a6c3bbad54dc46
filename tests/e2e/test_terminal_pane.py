"""Terminals through our command in a real PTY: typed to, killed under, shown twice, found again."""

import contextlib
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import pexpect
import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.host.runtime_folder import HostFiles
from oulipoly_engine.paths import from_environment
from oulipoly_engine.process import user_programs
from oulipoly_engine.service.interactive import terminals
from oulipoly_engine.terminal.protocol import messages
from oulipoly_tui.single.bare_terminal import BareTerminal

CHORD = "\x1d"
PATIENCE_S = 60  # a loaded machine; nothing waits that long unless a promise is broken


def lives(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.fixture
def paths(home):
    """The folders of this test, with an account; every terminal is ended, and nothing may be left of one."""
    found = from_environment()
    found.models.mkdir(parents=True)
    found.providers.write_text("[ada]\ncommand = 'cat'\n")
    (found.models / "opus.toml").write_text("[[providers]]\nname = 'ada'\n")
    yield found
    pids = set()
    for one in terminals.survey(found, SystemClock()).living:
        pids |= {one.host_pid, one.pid, one.screen_pid} - {0}
        with contextlib.suppress(OSError):
            os.kill(one.host_pid, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE_S
    while any(map(lives, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    shutil.rmtree(found.runtime, ignore_errors=True)
    assert [] == [pid for pid in pids if lives(pid)]


@pytest.fixture
def start(home, paths, commands):
    """Start our command in a terminal of its own."""
    opened = []

    def start(*arguments, dimensions=(30, 100), **more):
        env = dict(os.environ) | {"TERM": "xterm-256color", "PS1": "$ ", "ENV": ""} | more
        cli = commands.show(arguments, env, home, dimensions)
        cli.delaybeforesend = None
        opened.append(cli)
        return cli

    yield start
    for cli in opened:
        cli.close(force=True)


def ended(cli):
    cli.expect(pexpect.EOF)
    cli.wait()
    return cli.exitstatus


def only(paths):
    (found,) = terminals.survey(paths, SystemClock()).living
    return found


def drawn(paths):
    """Return the only terminal once it has a process that draws."""
    while not (found := only(paths)).screen_pid:
        time.sleep(0.01)
    return found


def test_program_is_shown_typed_to_and_its_exit_code_is_ours(start):
    cli = start("terminal", "--", "sh", "-c", "echo hello $((40+2)); read x; echo got $x; exit 7")
    cli.expect("hello 42")
    cli.send("a word\r")

    assert 7 == ended(cli)
    assert "got a word" in cli.before


def test_program_that_dies_at_once_leaves_its_words_and_its_code(start):
    cli = start("terminal", "--", "sh", "-c", "echo its only words; kill -9 $$")

    assert 137 == ended(cli)
    assert "its only words" in cli.before
    assert "killed by signal 9" in cli.before


LEAVES_SCREEN = "\x1b[?1049l"


@pytest.mark.parametrize("way", [(), ("--plain",)], ids=["pane", "plain"])
def test_last_words_stay_on_the_real_screen(start, way):
    cli = start("terminal", *way, "--", "sh", "-c", "echo important error; exit 4")

    assert 4 == ended(cli)
    assert "important error\r\n" in cli.before.rpartition(LEAVES_SCREEN)[2]


def test_attaching_to_an_ended_program_leaves_its_last_words(start, paths):
    start("terminal", "--detach", "--", "sh", "-c", "echo important error; exit 4").expect(pexpect.EOF)
    while only(paths).exit_code is None:
        time.sleep(0.01)
    cli = start("attach", only(paths).id)

    assert 4 == ended(cli)
    assert "important error\r\n" in cli.before.rpartition(LEAVES_SCREEN)[2]


async def test_program_that_ended_before_the_pane_was_drawn_leaves_its_words(start, paths):
    start("terminal", "--detach", "--", "sh", "-c", "echo its only words; exit 3").expect(pexpect.EOF)
    while only(paths).exit_code is None:
        time.sleep(0.01)
    app = BareTerminal(HostFiles(paths.runtime, only(paths).id).socket, only(paths))

    async with app.run_test() as pilot:
        while app.is_running and not app.last_lines:
            await pilot.pause(0.01)

    assert (3, ("its only words",)) == (app.return_value, app.last_lines)


def test_terminal_that_a_grandchild_holds_ends_with_its_program(start, home):
    script = "import os,signal,time; signal.signal(signal.SIGHUP, signal.SIG_IGN); child=os.fork()\n"
    script += "if child: open('held','w').write(str(child)); print('its words', flush=True); os._exit(5)\n"
    script += "time.sleep(1000)"
    cli = start("terminal", "--", sys.executable, "-c", script)

    try:
        assert 5 == ended(cli)
        assert "its words" in cli.before
        assert lives(int((home / "held").read_text()))
    finally:
        os.kill(int((home / "held").read_text()), signal.SIGKILL)


def test_terminal_around_the_pane_that_goes_away_leaves_the_program_alone(start, paths):
    cli = start("terminal", "--", "sh", "-c", "echo here; cat")
    cli.expect("here")
    cli.ptyproc.fileobj.close()

    deadline = time.monotonic() + PATIENCE_S
    while cli.isalive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not cli.isalive()
    assert lives(only(paths).pid)


def test_command_that_there_is_not_is_refused_plainly(start):
    cli = start("terminal", "--", "no-such-command-here")

    assert 1 == ended(cli)
    assert "no-such-command-here" in cli.before
    assert "Traceback" not in cli.before


@pytest.mark.parametrize("way", [(), ("--plain",)], ids=["pane", "plain"])
def test_chord_leaves_and_attach_goes_back(start, paths, way):
    cli = start("terminal", *way, "--", "sh", "-c", "echo here; cat")
    cli.expect("here")
    cli.send(CHORD)
    assert 0 == ended(cli)
    again = start("attach", only(paths).id)

    again.expect("here")
    assert f"attach {only(paths).id}" in cli.before


def test_terminal_is_not_attached_to_from_inside_itself(start, paths):
    cli = start("terminal", "--plain", "--", "sh", "-i")
    cli.expect(re.escape("$"))
    cli.send(f"{sys.executable} -m oulipoly_tui attach $OULIPOLY_TERMINAL; echo c''ode $?\r")

    cli.expect("would have itself to draw")
    cli.expect("code 1")


async def test_pane_tells_of_a_chord_that_the_tmux_around_takes_and_another_leaves(start, paths, monkeypatch):
    start("terminal", "--detach", "--", "cat").expect(pexpect.EOF)
    app = BareTerminal(HostFiles(paths.runtime, only(paths).id).socket, only(paths))
    with monkeypatch.context() as inside:
        inside.setenv("TMUX", "/nowhere,1,0")
        inside.setattr(user_programs, "tmux_prefixes", lambda _: ("C-]",))
        async with app.run_test(size=(140, 30)) as pilot:
            deadline = time.monotonic() + PATIENCE_S
            while "may never come here" not in str(app.query_one("#line").visual) and time.monotonic() < deadline:
                await pilot.pause(0.01)
            assert "ctrl+\\ leaves" in str(app.query_one("#line").visual)
            await pilot.press("ctrl+backslash")

    assert "brings it back" in app.farewell


def test_killed_while_output_flows_and_input_is_half_sent_it_is_found_as_it_was(start, paths):
    app = start("terminal", "--", "sh", "-i")
    app.expect(re.escape("$"))
    app.send("kept=intact; for i in 1 2 3 4 5 6 7 8 9; do seq 20000; done; echo do''ne\r")
    app.expect("[0-9]{5}")
    app.send("echo never ended")
    app.kill(signal.SIGKILL)
    app.wait()

    again = start("attach", only(paths).id)
    again.expect("done")
    again.send("\x03\recho $kept and well\r")

    again.expect("intact and well")


def test_app_killed_in_the_middle_shows_the_terminal_again_and_goes_on(start, paths, home):
    start("terminal", "--detach", "--", "sh", "-i").expect(pexpect.EOF)
    first = start()
    first.expect("opus")
    first.send("5")
    first.expect("enter goes in")
    first.send("\r")
    first.expect("leaves")
    first.expect(re.escape("$"))
    first.send("kept=whole; echo re''ady; yes fl''ood | head -50000; echo st''ill here\r")
    first.expect("flood")  # as it is printed, not as it was typed: the whole line has arrived
    first.send("half a li")
    first.kill(signal.SIGKILL)
    first.wait()

    second = start()
    second.expect("opus")
    second.send("5")
    second.expect("still here")
    second.send("\r")
    second.expect("leaves")
    second.send("\x03")
    second.send("\recho $kept\r")

    second.expect("whole")
    assert only(paths).is_running


def test_two_apps_show_one_terminal_and_both_type(start, paths):
    first = start("terminal", "--", "sh", "-i", dimensions=(30, 100))
    first.expect(re.escape("$"))
    second = start("attach", only(paths).id, dimensions=(20, 60))
    second.expect(re.escape("$"))
    first.expect("60x20, as the window of attach wants it")
    first.send("echo a$((1+1))b\r")
    second.expect("a2b")
    second.send("echo c$((1+2))d\r")

    first.expect("c3d")


def test_two_whole_apps_show_one_terminal_and_one_that_is_killed_leaves_it_to_the_other(start, paths):
    start("terminal", "--detach", "--", "sh", "-i").expect(pexpect.EOF)
    first, second = start(dimensions=(30, 120)), start(dimensions=(24, 80))
    for app in (first, second):
        app.expect("opus")
        app.send("5")
        app.expect(re.escape("$"))
        app.send("\r")
        app.expect("leaves")
    first.send("echo a$((1+1))b\r")
    second.expect("a2b")
    first.kill(signal.SIGKILL)
    first.wait()
    second.send("echo c$((1+2))d\r")

    second.expect("c3d")
    assert only(paths).is_running


def test_app_starts_in_a_folder_full_of_stale_sockets(start, paths):
    start("terminal", "--detach", "--", "sh", "-c", "echo f''ound; exec cat").expect(pexpect.EOF)
    for number in range(1000):
        (paths.runtime / f"{number:06x}.sock").touch()
        (paths.runtime / f"{number:06x}.lock").touch()
    app = start()
    app.expect("opus")
    app.send("5")

    app.expect("found")
    deadline = time.monotonic() + 60  # they are removed while the app goes on
    while [only(paths).id] != sorted({path.name.partition(".")[0] for path in paths.runtime.iterdir()}):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_flooding_program_is_left_at_once(start, paths):
    cli = start("terminal", "--", "yes", "on and on")
    cli.expect("on and on")
    begun = time.monotonic()
    cli.send(CHORD)

    assert 0 == ended(cli)
    assert time.monotonic() - begun < 15
    assert only(paths).is_running


async def test_what_the_host_says_after_the_pane_was_left_goes_nowhere(start, paths):
    start("terminal", "--detach", "--", "cat").expect(pexpect.EOF)
    app = BareTerminal(HostFiles(paths.runtime, only(paths).id).socket, only(paths))
    async with app.run_test() as pilot:
        app.on_terminal_view_left()
        await pilot.pause()

    app._take(messages.SideEffectReport(title="late"))
    app._take(messages.Exited(3, None, None))

    assert None is app.return_value
    assert "brings it back" in app.farewell


SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT]


@pytest.mark.parametrize("number", SIGNALS, ids=["TERM", "HUP", "INT", "QUIT"])
def test_a_signal_gives_the_terminal_back_and_says_how_to_return(start, paths, number):
    cli = start("terminal", "--", "sh", "-c", "echo here; cat")
    cli.expect("here")
    cli.kill(number)

    assert 128 + number == ended(cli)
    assert f"`agents terminal attach {only(paths).id}` brings it back" in cli.before
    assert LEAVES_SCREEN in cli.before


def test_program_that_ignores_hup_is_ended_by_kill(start, paths):
    cli = start("terminal", "--", "sh", "-c", "trap '' HUP; echo deaf; while :; do sleep 0.05; done")
    cli.expect("deaf")
    killing = start("kill", "--yes", only(paths).id)

    assert 0 == ended(killing)
    assert 137 == ended(cli)


def wait_for_end(*pids):
    deadline = time.monotonic() + PATIENCE_S
    while any(map(lives, pids)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_killed_host_is_said_and_nothing_hangs(start, paths):
    cli = start("terminal", "--", "cat")
    cli.expect("leaves")
    terminal = drawn(paths)
    for pid in (terminal.host_pid, terminal.screen_pid):
        os.kill(pid, signal.SIGKILL)

    assert 1 == ended(cli)
    assert "host has died" in cli.before
    wait_for_end(terminal.pid)


def test_closed_window_leaves_the_program_running(start, paths):
    cli = start("terminal", "--", "sh", "-c", "echo here; cat")
    cli.expect("here")
    terminal = only(paths)
    cli.ptyproc.fileobj.close()
    cli.ptyproc.wait()

    assert lives(terminal.pid)
    start("attach", terminal.id).expect("here")


def test_whole_screen_is_handed_over_and_comes_back(start, paths):
    start("terminal", "--detach", "--", "sh", "-i").expect(pexpect.EOF)
    app = start(dimensions=(24, 80))
    app.expect("opus")
    app.send("5")
    app.expect("enter goes in")
    app.expect(re.escape("$"))
    app.send("f")
    app.expect("leaves this terminal")
    app.send("until stty size | grep '24 8[0]'; do sleep 0.1; done\r")  # the size follows a moment later
    app.expect("24 80")
    app.send(CHORD)
    app.expect("Pools|REPL")
    app.send("q")
    app.expect("Quit")
    app.send("y")

    assert 0 == ended(app)
    (terminal,) = terminals.survey(paths, SystemClock()).living
    assert f"[still running: {terminal.id} " in app.before
    assert f"`agents terminal attach {terminal.id}`" in app.before


def test_program_that_outlives_its_host_is_not_called_ended_and_can_be_killed(start, paths, home):
    script = "trap '' HUP; touch deaf; while :; do sleep 0.1; done"
    start("terminal", "--detach", "--", "sh", "-c", script).expect(pexpect.EOF)
    while not (home / "deaf").exists():
        time.sleep(0.01)
    terminal = drawn(paths)
    for pid in (terminal.host_pid, terminal.screen_pid):
        os.kill(pid, signal.SIGKILL)
    wait_for_end(terminal.host_pid, terminal.screen_pid)
    listing = start("terminals")
    text = f"the host of terminal {terminal.id} was killed, but its program runs on as process {terminal.pid}"

    try:
        assert 0 == ended(listing)
        assert text in listing.before
        attaching = start("attach", terminal.id)
        assert 1 == ended(attaching)
        assert text in attaching.before
        assert 0 == ended(start("kill", "--yes", terminal.id))
        assert not lives(terminal.pid)
        again = start("terminals")
        assert 0 == ended(again)
        assert f"terminal {terminal.id} is gone" in again.before
        assert [] == list(paths.runtime.glob("*"))
    finally:
        with contextlib.suppress(OSError):
            os.kill(terminal.pid, signal.SIGKILL)


def test_left_over_sockets_are_tidied_and_said(start, paths):
    start("terminal", "--detach", "--", "cat").expect(pexpect.EOF)
    terminal = drawn(paths)
    for pid in (terminal.host_pid, terminal.screen_pid):
        os.kill(pid, signal.SIGKILL)
    wait_for_end(terminal.host_pid, terminal.screen_pid, terminal.pid)  # the program hears of its terminal's end
    (paths.runtime / "0a0a0a.sock").touch()
    listing = start("terminals")

    assert 0 == ended(listing)
    assert f"terminal {terminal.id} is gone" in listing.before
    assert [] == list(paths.runtime.glob("*"))

"""A screen's process that hangs instead of dying is noticed, killed and replaced, and the program never hears of it."""

import os
import signal
import textwrap

import pytest

from oulipoly_engine.service.interactive import terminals
from oulipoly_engine.terminal.protocol import messages

# A host as ours, but its first screens never come out of what they draw once it holds the word.
_HOST = """
    from oulipoly_engine.service.interactive import terminal_host
    from oulipoly_engine.terminal.host.requests import RequestHandler

    draw = RequestHandler.take_output

    def take_output(handler, data):
        while b"poison" in data and handler.screen.name == "ghostty":
            pass
        draw(handler, data)

    RequestHandler.take_output = take_output
    if __name__ == "__main__":
        terminal_host.main()
"""


@pytest.fixture
def spinning(home, hosts):
    """Start a program in a host whose emulators loop for ever over one word."""
    (home / "spinning_host.py").write_text(textwrap.dedent(_HOST))

    def start(*argv, **rules):
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("PYTHONPATH", os.pathsep.join([str(home), os.environ.get("PYTHONPATH", "")]))
            patched.setattr(terminals, "_HOST", "spinning_host")
            return hosts.start(*argv, **rules)

    return start


# Each sequence would cost a third of a second and more: a character of two columns, repeated between narrow margins.
_FLOOD = r"""
import os, select
os.write(1, "\x1b[?69h\x1b[5;6s\x1b[5;5H日".encode())
for _ in range(10):
    os.write(1, b"\x1b[65535b" * 100)
select.select([0], [], [])
os.write(1, b"\x1b[?69l\x1b[2J\x1b[Hover")
select.select([], [], [])
"""


def test_flood_that_takes_long_to_draw_is_told_and_kills_no_screen(hosts):
    terminal = hosts.start("python3", "-c", _FLOOD, columns=300, rows=100)
    watcher = hosts.watch(terminal, columns=300, rows=100)
    screen = hosts.screen_pid(terminal)

    assert "floods this terminal" in watcher.hears(messages.HostNotice).text
    watcher.types("\n")

    watcher.shows("over")
    assert screen == hosts.screen_pid(terminal)


def test_stopped_screen_is_killed_and_the_next_one_shows_the_same(hosts, waited, alive):
    terminal = hosts.start("sh", "-i", silent_s=1.0)
    watcher = hosts.watch(terminal)
    watcher.types("kept=yes; echo be''fore\n")
    watcher.shows("\nbefore")
    victim = hosts.screen_pid(terminal)

    os.kill(victim, signal.SIGSTOP)
    waited(lambda: not alive(victim), "the end of the stopped process")

    assert "hung and was started again" in watcher.hears(messages.HostNotice).text
    watcher.types("echo $kept\n")
    watcher.shows("\nyes")
    assert "\nbefore" in watcher.text
    assert alive(terminal.pid)


def test_emulator_in_an_endless_loop_is_replaced_and_shows_the_rest(hosts, spinning, waited, alive):
    terminal = spinning("sh", "-i", looping_s=0.3)
    watcher = hosts.watch(terminal)
    watcher.types("kept=yes; echo be''fore\n")
    watcher.shows("\nbefore")
    first = hosts.screen_pid(terminal)

    watcher.types("echo poi''son\n")

    waited(lambda: hosts.now(terminal).screen_pid not in (0, first), "the next process")
    assert "hung" in watcher.hears(messages.HostNotice).text
    watcher.types("echo $kept\n")
    watcher.shows("\nyes")
    assert alive(terminal.pid)


def test_working_screen_is_left_alone(hosts, waited):
    terminal = hosts.start(
        "sh", "-c", "i=0; while [ ! -e stop ]; do echo $((i=i+1)); done; echo over; cat", silent_s=1.0
    )
    watcher = hosts.watch(terminal)
    first = hosts.screen_pid(terminal)
    watcher.until(lambda: len(watcher.pictures) > 60)
    (hosts.home / "stop").touch()

    watcher.shows("over")
    assert first == hosts.screen_pid(terminal)

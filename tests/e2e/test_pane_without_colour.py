"""A pane where there is no colour: text and attributes stay, and the program is told what it was told before."""

import contextlib
import os
import re
import shutil
import signal
import time
from pathlib import Path

import pexpect
import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.interactive import terminals

PATIENCE_S = 60
_SHADES = re.compile(r"[34]8;2;(\d+);(\d+);(\d+)")
_COLOURS = re.compile(r"\x1b\[(?:\d+;)*(?:3[1-6]|4[1-6]|9[1-6]|10[1-6]|[34]8;5;\d+)(?:;\d+)*m")
# In a file: the command's own words are shown too.
_LOOKS = r"""
printf '\033[31mred \033[1;38;2;200;10;90mbold \033[0;4;44munder\033[0m\n'
echo "told=[$TERM/$COLORTERM/$NO_COLOR]"
read x
"""


def lives(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.fixture
def paths(home):
    """The folders of this test; every terminal is ended."""
    found = from_environment()
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

    (home / "looks.sh").write_text(_LOOKS)

    def start(*arguments, **variables):
        env = dict(os.environ) | {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | variables
        cli = commands.show(arguments, env, home)
        opened.append(cli)
        return cli

    yield start
    for cli in opened:
        cli.close(force=True)


def drawn(start, **variables):
    """Return what a pane with a coloured program writes to its terminal."""
    cli = start("terminal", "--", "sh", "looks.sh", **variables)
    cli.expect("under.*told=")
    seen = cli.before + cli.after
    cli.expect(r"\]")
    return seen + cli.before


def test_colours_are_drawn_where_nobody_minds(start):
    seen = drawn(start)

    assert any(not red == green == blue for red, green, blue in _SHADES.findall(seen)) or _COLOURS.search(
        _SHADES.sub("", seen)
    )


def test_without_colour_text_and_attributes_stay(start):
    seen = drawn(start, NO_COLOR="1")

    assert all(red == green == blue for red, green, blue in _SHADES.findall(seen))
    assert _COLOURS.search(_SHADES.sub("", seen)) is None
    assert re.search(r"\x1b\[(?:\d+;)*1(?:;\d+)*mbold", seen)
    assert re.search(r"\x1b\[(?:\d+;)*4(?:;\d+)*munder", seen)
    assert "told=[xterm-256color/truecolor/1" in seen


def test_program_is_told_of_no_wish_that_nobody_has(start):
    assert "told=[xterm-256color/truecolor/" in drawn(start, TERM="screen", COLORTERM="")


def test_terminal_that_can_do_nothing_gets_the_words_and_its_program_ours(start):
    assert "told=[xterm-256color/truecolor/" in drawn(start, TERM="dumb")


@pytest.mark.parametrize("theme", ["ansi-dark", "agents-contrast"])
def test_theme_of_the_terminals_own_colours_stays_colourless_too(start, paths, theme):
    paths.config.mkdir(parents=True, exist_ok=True)
    (paths.config / "app.toml").write_text(f'theme = "{theme}"\n')
    paths.models.mkdir(parents=True)
    paths.providers.write_text("[ada]\ncommand = 'cat'\n")
    (paths.models / "opus.toml").write_text("[[providers]]\nname = 'ada'\n")
    start("terminal", "--detach", "--", "sh", "looks.sh").expect(pexpect.EOF)
    app = start(NO_COLOR="1")
    app.expect("opus")
    app.send("5")
    app.expect("under")
    seen = app.before

    assert all(red == green == blue for red, green, blue in _SHADES.findall(seen))
    assert _COLOURS.search(_SHADES.sub("", seen)) is None

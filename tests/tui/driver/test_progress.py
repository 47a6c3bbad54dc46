"""Progress for the terminal around us: told to those that draw it, renewed, and taken away on every way out."""

from contextlib import asynccontextmanager
from functools import partial

import pytest

from oulipoly_tui.driver.progress import Progress, is_drawn, sequence, together

GHOSTTY = {"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}
NONE, SOME, HALF = "\x1b]9;4;0;0\x1b\\", "\x1b]9;4;3;0\x1b\\", "\x1b]9;4;1;50\x1b\\"


@pytest.mark.parametrize(
    ("environ", "mode", "expected"),
    [
        (GHOSTTY, "auto", True),
        ({"TERM": "xterm-256color", "WT_SESSION": "x"}, "auto", True),
        ({"TERM": "tmux-256color", "TMUX": "/x", "TERM_PROGRAM": "tmux", "WEZTERM_PANE": "1"}, "auto", True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "8002"}, "auto", True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7006"}, "auto", False),
        ({"TERM": "xterm", "TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.6.6"}, "auto", True),
        ({"TERM": "xterm", "TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.5.14beta"}, "auto", False),
        ({"TERM": "xterm-256color"}, "auto", False),
        ({"TERM": "xterm-256color"}, "always", True),
        (GHOSTTY, "off", False),
        ({"TERM": "dumb", "TERM_PROGRAM": "ghostty"}, "always", False),
    ],
    ids=str,
)
def test_only_terminals_that_draw_it_are_told(environ, mode, expected):
    assert expected is is_drawn(environ, mode)


@pytest.mark.parametrize(("percent", "text"), [(None, NONE), (0, SOME), (50, HALF), (250, "\x1b]9;4;1;100\x1b\\")])
def test_figures_are_told_and_work_without_one_is_said_to_have_none(percent, text):
    assert text == sequence(percent, {})


def test_it_is_wrapped_for_tmux_and_screen():
    assert "\x1bPtmux;\x1b\x1b]9;4;1;50\x1b\x1b\\\x1b\\" == sequence(50, {"TMUX": "/x"})
    assert "\x1bP\x1b]9;4;1;50\a\x1b\\" == sequence(50, {"STY": "1"})


def test_of_several_works_the_furthest_from_its_end_counts():
    assert [None, 0, 20] == [together(()), together((70, 0)), together((70, 20))]


def test_only_changes_are_told_and_what_lasts_is_renewed():
    written = []
    progress = Progress(written.append, GHOSTTY)
    progress.tell(None)
    for percent in (0, 0, 50, 50, None, None):
        progress.tell(percent)
    assert [SOME, HALF, NONE] == written
    for _ in range(11):
        progress.tell(0)
    assert [SOME, SOME] == written[3:]


def test_a_mode_that_forbids_it_takes_away_what_is_drawn():
    written = []
    progress = Progress(written.append, GHOSTTY)
    progress.tell(0)
    progress.tell(0, "off")

    assert [SOME, NONE] == written


def test_the_end_takes_it_away_once_and_says_nothing_where_nothing_is_drawn():
    written = []
    progress = Progress(written.append, GHOSTTY)
    progress.close()
    progress.tell(50)
    progress.close()
    progress.close()

    assert [HALF, NONE] == written
    assert "" == progress.farewell()


def test_what_a_crash_leaves_can_be_taken_away_by_another_hand():
    progress = Progress(lambda _text: None, GHOSTTY)
    progress.tell(50)

    assert [NONE, ""] == [progress.farewell(), progress.farewell()]


def test_nothing_is_written_after_a_failure():
    written = []

    def write(text):
        written.append(text)
        raise OSError(5, "gone")

    progress = Progress(write, GHOSTTY)
    progress.tell(0)
    progress.tell(50)
    progress.close()

    assert [SOME] == written
    assert "" == progress.farewell()


@pytest.fixture
def slow(app_world, running, settled, tmp_path):
    """Open the app, in a terminal that draws progress, with a one-shot that runs until a gate is there."""
    gate = tmp_path / "gate"
    app_world.account("slow", script=f"while [ ! -e {gate} ]; do sleep 0.05; done; echo done")
    app_world.model("slow", "slow")

    @asynccontextmanager
    async def run(**options):
        told = []
        async with running(panes=["pools"], reads_quota=False, **options) as (app, pilot):
            app.alerts.progress = Progress(told.append, GHOSTTY)
            app.engine.background.start("slow", "go")
            await settled(pilot, lambda: app.engine.background.running)
            yield app, partial(settled, pilot), told, gate

    return run


async def test_a_one_shot_is_told_while_it_runs(slow):
    async with slow(reduced_motion=False) as (_, until, told, gate):
        await until(lambda: SOME in told)
        gate.touch()
        await until(lambda: told[-1] == NONE)


async def test_the_app_s_end_takes_it_away(slow):
    async with slow(reduced_motion=False) as (app, until, told, gate):
        await until(lambda: SOME in told)
        app.exit()
        gate.touch()

    assert NONE == told[-1]


@pytest.mark.parametrize("options", [{"reduced_motion": True, "progress": "always"}, {"progress": "off"}], ids=str)
async def test_reduced_motion_and_the_setting_tell_nothing(slow, options):
    async with slow(**{"reduced_motion": False} | options) as (app, _, told, gate):
        app.alerts.look()
        gate.touch()

    assert [] == told

"""What wants the user: counted, gone through, jumped to, and told outside of the app, once."""

import shutil
from functools import partial

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.checks.alerts import Alert
from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.facade.live.sessions import LiveSessions
from oulipoly_engine.records import replace
from oulipoly_tui.driver.notices import GIVE_TITLE_BACK, KEEP_TITLE, Notices, sequence
from oulipoly_tui.screens.jump import Jump
from oulipoly_tui.screens.reading import Reading
from oulipoly_tui.view.frame.attention import collect_attention, find_next

BELL = "\a"


@pytest.fixture
def running(running):
    """Open the app with the panes that alerts lead to."""
    return partial(running, panes=["pools", "quota"], reads_quota=False)


async def test_an_answered_request_is_gone_from_the_problems_although_it_was_told_in_a_line(
    empty_world, running, settled, screen_text, monkeypatch
):
    prompt, now = Prompt("rm -rf " + "x/" * 60), SystemClock().now()
    asked = LiveRequest("r", "s", "t", "n", "command_approval", "open", prompt, now)
    open_requests = [asked]
    monkeypatch.setattr(LiveSessions, "requests", lambda _: tuple(open_requests))
    async with running((80, 24)) as (app, pilot):
        app.requests.look_soon()
        await settled(pilot, lambda: any("rm -rf" in note.message for note in app._notifications))
        app.alerts.list_problems()
        await settled(pilot, lambda: "wants to run: rm -rf" in "\n".join(screen_text(app)))
        open_requests.clear()
        app.requests.look_soon()

        await settled(pilot, lambda: "wants to run: rm -rf" not in "\n".join(screen_text(app)))


@pytest.mark.parametrize(
    ("environ", "begin"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]9;agents: dry"),
        ({"TERM": "xterm-kitty"}, "\x1b]99;i=agents"),
        ({"TERM_PROGRAM": "WezTerm"}, "\x1b]777;notify;agents;dry"),
        ({"TERM": "foot-extra"}, "\x1b]777;notify;agents;dry"),
        ({"TERM_PROGRAM": "Apple_Terminal"}, BELL),
        ({}, BELL),
    ],
    ids=["iTerm2", "kitty", "WezTerm", "foot", "no known way", "nothing known"],
)
def test_each_terminal_is_told_in_its_own_way(environ, begin):
    assert sequence("agents", "dry", environ).startswith(begin)


def test_inside_tmux_it_is_wrapped_and_the_bell_rings_too():
    told = sequence("agents", "dry", {"TMUX": "/x", "TERM_PROGRAM": "tmux", "KITTY_WINDOW_ID": "1"})

    assert told.startswith("\x1bPtmux;\x1b\x1b]99;")
    assert told.endswith("\x1b\\" + BELL)


def test_a_name_cannot_end_the_sequence():
    told = sequence("agents", "a\x1b]52;c;aGk=\a\nb\x9c;c", {"TERM_PROGRAM": "ghostty"})

    assert "\x1b]777;notify;agents;a ]52,c,aGk= b ,c\a" == told


def test_nothing_is_written_after_a_failure():
    written = []

    def write(text):
        written.append(text)
        raise OSError(5, "gone")

    notices = Notices(write, {})
    notices.tell("agents", "one")
    notices.tell("agents", "two")

    assert [BELL] == written


def test_the_window_s_title_is_kept_and_given_back():
    written = []
    notices = Notices(written.append, {})
    for text in ("agents · 94 %", "agents · 94 %", "agents · 95 %"):
        notices.entitle(text)
    notices.close()

    assert [KEEP_TITLE + "\x1b]2;agents · 94 %\a", "\x1b]2;agents · 95 %\a", GIVE_TITLE_BACK] == written


def test_going_through_comes_round_and_is_not_confused_by_new_words():
    one, two = Alert("window", "94 % used", subject="ada"), Alert("terminal", "ended", subject="1")
    found = collect_attention(None, (one, two))

    assert one == find_next(found, None)
    assert two == find_next(found, replace(one, head="95 % used"))
    assert one == find_next(found, two)
    assert None is find_next((), two)


async def test_an_alert_is_a_toast_in_the_header_and_in_the_problems_and_n_and_a_letter_go_to_its_pane(
    app_world, running, settled, screen_text
):
    async with running((120, 34)) as (app, pilot):
        told = []
        app.alerts.notices.tell = lambda _title, text: told.append(text)
        assert app.key_actions.reason_against(app.keys.find("frame.attention")) == "there is no alert"
        app.order("refresh")
        await settled(pilot, lambda: app.snapshot.alerts_of("window") and not app.busy)
        await settled(pilot, lambda: any("94 % used" in note.message for note in app._notifications))
        assert [] == told  # nothing outside: it is before the user's eyes
        assert "! 1" in screen_text(app)[0]
        await pilot.press("f8")
        await settled(pilot, lambda: app.frame.area.focused_pane == "quota")
        quota = app.frame.query_one("#quota-list")
        await settled(pilot, lambda: quota.cursor_key == "ada\n5h")

        await pilot.press("exclamation_mark")
        await settled(pilot, lambda: any("ada 5h is 94 % used" in line for line in screen_text(app)))
        assert any("goes there" in line for line in screen_text(app))
        await pilot.press("escape")
        await settled(pilot, lambda: app.screen is app.frame)

        for goes in (lambda: pilot.press("s"), lambda: pilot.click("#s")):
            await jump(app, pilot, settled)
            await goes()
            await settled(pilot, lambda: app.frame.focused is quota)
            assert "quota" == app.frame.area.focused_pane
        for key in ("escape", "7", "ctrl+o"):  # any other key ends the jump
            await jump(app, pilot, settled)
            before = app.frame.focused
            await pilot.press(key)
            await settled(pilot, lambda: not isinstance(app.screen, Jump))
            assert app.frame.focused is before


async def jump(app, pilot, settled):
    """Let each place have its letter, from the pools."""
    await pilot.press("1")
    await settled(pilot, lambda: app.frame.area.focused_pane == "pools")
    await pilot.press("ctrl+o")
    await settled(pilot, lambda: isinstance(app.screen, Jump))


async def test_n_opens_the_problems_for_an_error(app_world, running, settled, screen_text):
    app_world.write("models/bad.toml", "providers = 3\n")
    async with running((120, 34)) as (app, pilot):
        await settled(pilot, lambda: "! 1" in screen_text(app)[0])
        await pilot.press("f8")
        await settled(pilot, lambda: isinstance(app.screen, Reading))


async def test_an_alert_is_told_outside_only_while_nobody_looks_and_once(app_world, running, settled):
    async with running((120, 34)) as (app, pilot):
        told = []
        app.alerts.notices.tell = lambda _title, text: told.append(text)
        app.app_focus = False
        app.order("refresh")
        await settled(pilot, lambda: told)
        app.order("refresh")
        await settled(pilot, lambda: not app.busy)
        await pilot.pause()

        assert 1 == len(told)
        assert told[0].startswith("ada 5h is 94 % used, resets ")
    async with running((120, 34)) as (app, pilot):
        told.clear()
        app.alerts.notices.tell = lambda _title, text: told.append(text)
        app.app_focus = False
        app.order("refresh")
        await settled(pilot, lambda: app.snapshot.alerts_of("window") and not app.busy)

        assert [] == told


async def test_a_disk_that_fills_up_is_told_once_in_a_line_and_outside(empty_world, running, settled, monkeypatch):
    told, usage = [], shutil.disk_usage("/")
    async with running((120, 34)) as (app, pilot):
        app.alerts.notices.tell = lambda _title, text: told.append(text)
        app.app_focus = False
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_000_000))
        for _ in range(2):
            app.order("refresh")
            await settled(pilot, lambda: app.snapshot.alerts_of("disk") and not app.busy)

    assert ["only 1.0 MB are free at"] == [text[:23] for text in told]

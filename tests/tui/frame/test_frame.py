"""The frame: keys, panes, zoom, help, palette, command line, problems, quitting; at all sizes and in bad weather."""

import json
import re
import sys
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.paths import from_environment
from oulipoly_tui import entry
from oulipoly_tui.bars import Bars
from oulipoly_tui.base.pane import Pane
from oulipoly_tui.base.table import PaneEntry
from oulipoly_tui.bridge import EngineBridge
from oulipoly_tui.screens.question import Confirm
from oulipoly_tui.screens.reading import Reading


class Beside(Pane):
    """A pane as others would write it."""

    can_focus = True

    def __init__(self, id):
        super().__init__(id=id)
        self.taken = []
        self.restored = None

    def take(self, snapshot):
        self.taken.append(snapshot)

    def state(self):
        return {"seen": len(self.taken) > 0}

    def restore(self, state):
        self.restored = state


@pytest.fixture
def beside(monkeypatch):
    """Entries of panes that do nothing, one a column."""
    module = ModuleType("panes_of_a_test")
    module.Beside = Beside
    monkeypatch.setitem(sys.modules, module.__name__, module)
    columns = {"detail_one": "detail", "detail_two": "detail", "at_the_side": "aside"}
    return [
        PaneEntry(name, number, name, module.__name__, "Beside", column)
        for number, (name, column) in enumerate(columns.items(), 7)
    ]


@pytest.fixture
def running(running):
    """Open the app with one real pane: what the others do is their own tests' business."""
    return partial(running, panes=["pools"])


async def test_what_goes_wrong_is_said_and_the_next_pick_is_on_the_screen_at_every_size(
    app_world, running, screen_text, settled
):
    storm = ((20, 5), (300, 60), (49, 10), (160, 50), (79, 20), (100, 30))
    async with running((80, 24)) as (app, pilot):
        before = len(app._notifications)
        for _ in range(3):
            app.say("so many words " * 40, severity="warning")
        await pilot.pause()
        (said,) = list(app._notifications)[before:]
        assert 80 < len(said.message) <= 3 * (80 - 12)  # on lines of its own, none of them cut
        assert said.message.endswith("(! tells all)")
        assert any(problem.cause.endswith("words") for problem in app.alerts.troubles())

        await pilot.press("4")
        await settled(pilot, lambda: any("no pane 4" in note.message for note in app._notifications))
        app.order("acount drain", ("bob",))
        await settled(pilot, lambda: any("account drain" in note.message for note in app._notifications))
        app.work("nonsense", lambda: 1 / 0)
        await settled(pilot, lambda: any("ZeroDivisionError" in failure[0] for failure in app.toasts.failures))
        assert app.is_running

        for sizes in (((60, 20),), ((120, 30),), ((200, 50),), ((300, 60),), storm):
            for size in sizes:
                await pilot.resize_terminal(*size)
            await settled(pilot, lambda height=sizes[-1][1]: len(screen_text(app)) == height)
            text = "\n".join(screen_text(app))
            assert "▶" in text
            assert "1 Pools" in text
        await pilot.resize_terminal(20, 5)
        await settled(pilot, lambda: "│> " in "\n".join(screen_text(app)))


async def test_a_pane_comes_when_it_is_looked_at_and_gets_what_it_missed(app_world, running, beside, settled):
    async with running((80, 24), others=beside) as (app, pilot):
        assert app.frame.find("detail_two") is None
        await app.frame.turn_to("detail_two")
        pane = app.frame.find("detail_two")
        await settled(pilot, lambda: any(one is app.snapshot for one in pane.taken))
        assert app.frame.area.visible_ids() == ("pools", "detail_two")


async def test_a_pane_that_takes_text_is_as_it_was_and_the_keys_begin_in_a_list(app_world, running, beside, settled):
    saved = {"pane": "detail_one", "panes": {"detail_one": {"seen": True}}}
    async with running((80, 24), others=beside, saved=saved) as (app, pilot):
        await settled(pilot, lambda: app.frame.find("detail_one") is not None)
        await settled(pilot, lambda: {"seen": True} == app.frame.find("detail_one").restored)
        assert "pools" == app.frame.area.focused_pane


async def test_a_click_gives_a_pane_the_keys(app_world, running, beside, settled):
    async with running((120, 30), others=beside) as (app, pilot):
        await pilot.click("#detail_one")
        assert "detail_one" == app.frame.area.focused_pane
        await pilot.click("#pools-list", offset=(5, 3))
        assert "pools" == app.frame.area.focused_pane


def test_bars_that_are_asked_for_often_are_drawn_once():
    waiting, drawn = [], []
    bars = Bars(SimpleNamespace(call_after_refresh=waiting.append), None, None)
    bars.show = partial(drawn.append, "once")
    for _ in range(3):
        bars.show_soon()
    for callback in waiting:
        callback()

    assert ["once"] == drawn
    bars.show_soon()
    waiting[-1]()
    assert 2 == len(drawn)


async def test_a_prompt_is_sent_though_the_pools_were_never_shown(app_world, running, settled):
    saved = {"pane": "quota", "zoomed": True}
    async with running((80, 24), panes=["pools", "quota"], saved=saved) as (app, pilot):
        assert app.frame.find("pools") is None
        app.order("prompt", ("opus", "hello there"))
        await settled(pilot, lambda: app.frame.find("pools") is not None)
        log = app.frame.query_one("#pools-log")
        await settled(pilot, lambda: "✓ done" in "".join(text for line in log.lines for text, _ in line))


async def test_the_way_to_the_demo_asks_before_it_stops_a_one_shot(empty_world, running, settled):
    empty_world.account("ada", ("5h", 1, 4), script="sleep 60")
    empty_world.model("opus", "ada")
    async with running((100, 40), panes=["pools"]) as (app, pilot):
        app.order("prompt", ("opus", "hello"))
        await settled(pilot, lambda: app.frame.current.reason_to_stay() is not None)
        app.order("demo")
        await settled(pilot, lambda: isinstance(app.screen, Confirm))
        assert app.return_value is None
        await pilot.press("escape")
        app.engine.background.close()


async def test_nothing_configured_offers_the_demo(empty_world, running, beside, screen_text, settled):
    async with running((200, 40), others=beside) as (app, pilot):
        await settled(pilot, lambda: app.frame.area.visible_ids() == ("pools",))
        text = "\n".join(screen_text(app))
        await pilot.press("m")
        await settled(pilot, lambda: app.return_value == "demo")

    assert "No accounts yet" in text
    assert "providers.toml" in text


async def test_who_turns_to_a_pane_before_the_home_was_read_stays_there(empty_world, running, snapshot_of, monkeypatch):
    monkeypatch.setattr(EngineBridge, "open", lambda _: None)
    async with running((200, 40), panes=["pools", "sessions"], waits=False) as (app, pilot):
        await app.frame.turn_to("sessions")
        app.frame.take(snapshot_of(empty_world, SystemClock().now()))
        await pilot.pause()

        assert "sessions" == app.frame.current.id


async def test_a_broken_file_leaves_the_rest_and_stands_in_the_list(app_world, running, screen_text, settled):
    app_world.write("models/bad.toml", "providers = 3\n")
    async with running((120, 30)) as (app, pilot):
        assert "opus" in "\n".join(screen_text(app))
        await pilot.press("exclamation_mark")
        await settled(pilot, lambda: isinstance(app.screen, Reading))
        # The path is broken where the line ends, wherever that is for this temporary folder.
        await settled(pilot, lambda: "bad.toml:1" in re.sub(r"[\s│]", "", "\n".join(screen_text(app))))
        text = "\n".join(screen_text(app))

    assert "→" in text


async def test_a_configuration_that_gets_written_shows_up(empty_world, running, settled):
    async with running() as (app, pilot):
        empty_world.account("ada", ("5h", 5, 3))
        empty_world.model("opus", "ada")
        await settled(pilot, lambda: app.snapshot.pool("opus") is not None)


async def test_a_state_file_that_cannot_be_read_is_said_and_the_app_stays(app_world, running, screen_text):
    app_world.data.mkdir(parents=True)
    (app_world.data / "state.db").write_text("this is not a database, and long enough to be one" * 100)
    async with running((160, 30)) as (app, _):
        text = "\n".join(screen_text(app))

    assert app.snapshot.store_failure is not None
    assert "unreadable" in text


async def test_the_layout_is_as_it_was_at_the_next_start(app_world, running, beside, settled):
    async with running(others=beside) as (app, pilot):
        await pilot.press("j", "z")
        row = app.frame.current.state()["row"]
        paths = app.engine.paths
    entry.save_layout(paths, app.layout_state())
    async with running(others=beside, saved=entry.load_layout(paths)) as (app, pilot):
        await settled(pilot, lambda: app.frame.current.state()["row"] == row)
        assert app.frame.area.zoomed


async def test_a_layout_file_that_is_rubbish_changes_nothing(app_world, running):
    app_world.data.mkdir(parents=True)
    file = app_world.data / "app-layout.json"
    for text in ("", "[]", "{"):
        file.write_text(text)
        assert {} == entry.load_layout(from_environment())
    file.write_text('{"pane": 3, "zoomed": "x", "panes": {"pools": {"row": []}}}')
    async with running(saved=entry.load_layout(from_environment())) as (app, _):
        assert "pools" == app.frame.area.focused_pane


def test_app_toml_gives_preset_keys_and_theme(app_world):
    app_world.write("app.toml", 'preset = "vim"\nmotion = "reduced"\n[keys]\n"pools.drain" = "ctrl+d"\n')
    app_world.write("themes/mine.toml", 'primary = "#336699"\n')
    app_world.write("themes/odd.toml", 'primary = "no colour at all"\n')

    found = entry.options(from_environment(), [])

    assert ("vim", True, "ctrl+d") == (found.preset, found.reduced_motion, found.own_keys["pools.drain"])
    assert "mine" in [theme.name for theme in found.themes]


def test_the_layout_file_is_written_whole_or_not_at_all(app_world):
    paths = from_environment()
    entry.save_layout(paths, {"pane": "pools"})

    (kept,) = Path(paths.data).glob("app-layout*")
    assert {"pane": "pools"} == json.loads(kept.read_text())


async def test_no_pane_changes_its_width_for_the_keys(app_world, running, settled):
    async with running((120, 40), panes=["pools", "sessions", "transcript"]) as (app, pilot):
        for key in "4341":
            await pilot.press(key)
            await settled(
                pilot, lambda key=key: app.frame.current.id == {"1": "pools", "3": "sessions"}.get(key, "transcript")
            )
            await pilot.pause()

            assert 68 == app.frame.find("pools").outer_size.width
            assert 52 == app.frame.find("transcript").outer_size.width

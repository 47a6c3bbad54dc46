"""The Quota pane: each key does what it says; the chart, the record, and who burned it."""

from datetime import timedelta
from functools import partial

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.paths import from_environment
from oulipoly_engine.store.base.db import open_store
from oulipoly_tui.base.table import PANES

PLACES = {1: "one-1234", 2: "two-1234", 3: "new-5678"}  # sessions of ada, all of one project


def add_calls(store, *calls):
    """Put calls into the ledger. calls: (id, hours ago, place)."""
    now = SystemClock().now()
    with store.write():
        store.execute_many(
            "INSERT OR IGNORE INTO ledger_places VALUES (?, 'ada', 'claude', ?, '/w/turtle', 'claude-opus-4-1', 0)",
            PLACES.items(),
        )
        store.execute_many(
            "INSERT INTO ledger_calls (id, at_ms, place, input, output, cache_read, cache_write, cache_write_1h,"
            " reasoning) VALUES (?, ?, ?, 1000, 500, 0, 0, 0, 0)",
            ((number, round((now - timedelta(hours=age)).timestamp() * 1000), place) for number, age, place in calls),
        )


@pytest.fixture
def running(running):
    """Open the app with the two panes that know each other."""
    return partial(running, panes=["pools", "quota"], saved={"pane": "quota"})


@pytest.fixture
def burned(app_world):
    """Calls of ada: three by one session, one by another of the same project, two days ago."""
    app_world.account("eve", ("[/x] 5h", 10, 4))
    app_world.model("odd", "eve")
    store = open_store(from_environment().state_db)
    add_calls(store, (11, 1, 1), (12, 1, 1), (13, 1, 1), (14, 48, 2))
    store.close()


def _list(app):
    return app.frame.query_one("#quota-list")


def _text(app, part):
    return "\n".join("".join(text for text, _ in line) for line in app.frame.query_one(f"#quota-{part}").lines)


async def _read(app, pilot, settled):
    app.order("refresh")
    await settled(pilot, lambda: app.snapshot.account("ada").quota.windows and not app.busy)
    _list(app).go_to("ada\n5h")
    await settled(pilot, lambda: _text(app, "record").startswith("ada 5h") and not app.busy)


async def test_the_chosen_window_is_drawn_with_its_record_over_a_range_that_brackets_change(burned, running, settled):
    async with running((120, 34)) as (app, pilot):
        await _read(app, pilot, settled)
        assert "100 %┤" in _text(app, "chart")
        assert "94 % read" in _text(app, "record")
        assert "too few cycles" in _text(app, "record")

        chart, pane = app.frame.query_one("#quota-chart"), app.frame.current
        seen = []
        for key in ("right_square_bracket", "right_square_bracket", *["left_square_bracket"] * 4):
            before = str(chart.border_title)
            await pilot.press(key)
            await settled(pilot, lambda before=before: str(chart.border_title) != before)
            seen.append(str(chart.border_title).split(" · ")[1])
            if seen[-1] == "30 d":
                assert pane.obstacle("longer") == "a month is the longest range"
        assert ["7 d", "30 d", "7 d", "1 d", "5 h", "1 h"] == seen
        assert pane.obstacle("shorter") == "an hour is the shortest range"

        await pilot.press("down")  # the record follows the cursor
        await settled(pilot, lambda: _text(app, "record").startswith("ada weekly"))
        _list(app).go_to("eve\n[/x] 5h")  # a window's name is no markup
        await settled(pilot, lambda: "[/x] 5h" in chart._border_title.plain)

        for key in ("w", "enter"):
            await app.frame.turn_to("quota")
            await pilot.press(key)
            await settled(pilot, lambda: app.frame.area.focused_pane == "pools")


async def test_b_lists_who_burned_it_in_the_range_that_is_shown_and_a_start_brings_it_back(
    burned, running, settled, screen_text
):
    async with running((120, 34)) as (app, pilot):
        await _read(app, pilot, settled)
        for expected in ("one-1234", "/w/turtle", "claude-opus-4-1"):  # sessions, projects, models
            await pilot.press("b")
            await settled(pilot, lambda expected=expected: expected in _text(app, "burners"))
            assert "100 %" in _text(app, "burners")
        await pilot.press("b")
        await settled(pilot, lambda: _text(app, "burners") == "")

        await pilot.press("b")
        await settled(pilot, lambda: "one-1234" in _text(app, "burners"))
        assert "two-1234" not in _text(app, "burners")
        await pilot.press("right_square_bracket")
        await settled(pilot, lambda: "two-1234" in _text(app, "burners"))
        assert "75 %" in _text(app, "burners")
        assert "25 %" in _text(app, "burners")
        await pilot.press("left_square_bracket")
        await settled(pilot, lambda: "3 calls" in _text(app, "burners"))
        store = open_store(app.engine.paths.state_db)
        add_calls(store, (15, 0.01, 3))  # calls that join show up
        store.close()
        await pilot.press("left_square_bracket")
        await settled(pilot, lambda: "4 calls" in _text(app, "burners"))

        for width, height in ((80, 24), (200, 50), (60, 12), (20, 5)):
            await pilot.resize_terminal(width, height)
            await settled(pilot, lambda height=height: not app.busy and len(screen_text(app)) == height)
            assert "> " in "\n".join(screen_text(app))

        assert "session" == app.frame.current.state()["burners"]
        await pilot.press("escape")
        assert app.frame.current.state()["burners"] is None
    saved = {"pane": "quota", "panes": {"quota": {"burners": "project"}}}
    async with running((120, 34), saved=saved) as (app, pilot):
        await settled(pilot, lambda: "/w/turtle" in _text(app, "burners"))


async def test_nothing_configured_says_what_will_show(empty_world, running, screen_text):
    async with running((80, 24)) as (app, _):
        pane = next(entry for entry in PANES if entry.id == "quota")

        assert app.frame.find(pane.id).has_class("-empty")
        assert app.frame.find(pane.id).obstacle("burners") == "choose an account first"

"""The menu of a row: `.` or a right click; enter, a click or the key itself does what it says."""

import pytest

from oulipoly_tui.actions.action import Action, own
from oulipoly_tui.keys.keymap import TABLE
from oulipoly_tui.view.frame.menu import menu_rows
from oulipoly_tui.view.transcript.spans import cells, plain
from oulipoly_tui.widgets.lines import VirtualList

keys = pytest.mark.keys


def menu(one):
    return one.app.screen.query_one(VirtualList)


def offered(one):
    return [row.key for row in menu(one).rows]


async def shown(one):
    await one.at("Menu")
    await one.until(lambda: menu(one).rows)


@keys("frame.menu", "full_stop")
@keys("Menu", "escape", "q", "full_stop")
async def test_the_menu_offers_what_works_in_every_pane_and_goes_away(transcript):
    async with transcript() as one:
        for pane, close in (("transcript", "escape"), ("sessions", "q"), ("pools", "full_stop"), ("quota", "escape")):
            await one.turn_to(pane)
            await one.rest()
            works = [row.id for row in one.app.works_now() if row.where == pane]
            await one.press("full_stop")
            await shown(one)
            assert works == offered(one)
            await one.press(close)
            await one.at("Frame")


@keys("frame.menu", "full_stop")
async def test_enter_and_the_key_itself_do_what_a_row_says(sessions):
    async with sessions("Paint") as one:
        await one.press("full_stop")
        await shown(one)
        assert one.title.startswith("Sessions: ")
        assert "Paint the door" in one.title
        assert menu(one).go_to("sessions.pin")
        await one.press("enter")
        await one.until(lambda: any("pinned" in row for row in one.rows("sessions")))
        await one.press("full_stop")
        await shown(one)
        await one.press("x")
        await one.at("Export")


@keys("frame.menu", "full_stop")
@keys("Menu", "tab", "down", "up", "escape")
async def test_tab_searches_by_what_actions_are_called_and_escape_ends_that_first(sessions):
    async with sessions("Paint") as one:
        await one.press("full_stop")
        await shown(one)
        every = offered(one)
        await one.press("tab")
        await one.type("bookmark")
        await one.until(lambda: offered(one) == ["sessions.pin"])
        await one.press("escape")
        await one.until(lambda: offered(one) == every)
        await one.press("tab")
        await one.type("clone")
        await one.until(lambda: offered(one) == ["sessions.fork"])
        await one.press(*["backspace"] * 5)
        await one.until(lambda: offered(one) == every)
        await one.press("down", "down", "up")
        assert menu(one).cursor_key == every[every.index("sessions.fork") + 1]  # the cursor stays with its row
        await one.type("favourite")
        await one.until(lambda: offered(one) == ["sessions.pin"])
        await one.press("enter")
        await one.until(lambda: any("pinned" in row for row in one.rows("sessions")))


async def test_a_right_click_chooses_the_row_and_a_click_does_what_it_says(sessions):
    async with sessions("Paint") as one:
        await one.turn_to("pools")
        await one.sees("Mend the roof")
        await one.pilot.click(offset=one._place("Mend the roof"), button=3)
        await shown(one)
        assert "Mend the roof" in one.title
        assert "sessions" == one.pane
        await one.click("Give a session a name")
        await one.at("Question")
        assert "Name of “Mend" in one.title


async def test_a_click_beside_the_menu_closes_it(sessions):
    async with sessions("Paint") as one:
        await one.press("full_stop")
        await shown(one)
        await one.pilot.click(offset=(0, 0))
        await one.at("Frame")


async def test_what_only_reads_is_offered_in_read_only_mode(talks, sessions, hand):
    async with sessions("Paint"):
        pass
    async with hand("sessions", read_only=True) as one:
        await one.choose("sessions", "Paint")
        await one.press("full_stop")
        await shown(one)
        assert not {row.id for row in TABLE if row.writes} & set(offered(one))
        assert "sessions.copy" in offered(one)


@pytest.mark.parametrize("width", [8, 20, 40, 90])
def test_rows_fit_and_keep_the_key(width):
    rows = menu_rows(
        (Action("a.b", own("search all", "a long sentence " * 9), "a", keys="ctrl+f", method="act"),), width
    )

    assert rows[0].key == "a.b"
    assert "ctrl+f" in plain(rows[0].line)
    assert cells(plain(rows[0].line)) <= max(width, 20)

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
@keys("Menu", "escape", "q", "full_stop", "tab", "down", "up")
async def test_the_menu_offers_what_works_finds_it_by_its_words_and_does_what_a_row_says(sessions, hand):
    async with sessions("Paint", size=(120, 30)) as one:
        await close_by_a_click_beside_it(one)
        await do_what_a_row_says_by_enter_and_by_its_key(one)
        await search_by_what_actions_are_called(one)
        await choose_a_row_by_a_right_click(one)
        await see_what_works_in_every_pane(one)
    async with hand("sessions", read_only=True, panes=("pools", "sessions")) as one:  # it shows what was read above
        await one.choose("sessions", "Paint")
        await one.press("full_stop")
        await shown(one)
        assert not {row.id for row in TABLE if row.writes} & set(offered(one))
        assert "sessions.copy" in offered(one)


async def close_by_a_click_beside_it(one):
    await one.press("full_stop")
    await shown(one)
    await one.pilot.click(offset=(0, 0))
    await one.at("Frame")


async def do_what_a_row_says_by_enter_and_by_its_key(one):
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
    await one.back()


async def search_by_what_actions_are_called(one):
    """`tab` begins it, and escape ends it before it closes the menu."""
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
    await one.until(lambda: not any("pinned" in row for row in one.rows("sessions")))


async def choose_a_row_by_a_right_click(one):
    """A click does what a row of the menu says."""
    await one.turn_to("pools")
    await one.sees("Mend the roof")
    await one.pilot.click(offset=one._place("Mend the roof"), button=3)
    await shown(one)
    assert "Mend the roof" in one.title
    assert "sessions" == one.pane
    await one.click("Give a session a name")
    await one.at("Question")
    assert "Name of “Mend" in one.title
    await one.back()


async def see_what_works_in_every_pane(one):
    await one.choose("sessions", "Mend the roof")
    await one.press("enter")
    await one.until(lambda: one.pane == "transcript")
    await one.sees("a last nail")
    for pane, close in (("transcript", "escape"), ("sessions", "q"), ("pools", "full_stop"), ("quota", "escape")):
        await one.turn_to(pane)
        await one.rest()
        works = [row.id for row in one.app.works_now() if row.where == pane]
        await one.press("full_stop")
        await shown(one)
        assert works == offered(one)
        await one.press(close)
        await one.at("Frame")


@pytest.mark.parametrize("width", [8, 20, 40, 90])
def test_rows_fit_and_keep_the_key(width):
    rows = menu_rows(
        (Action("a.b", own("search all", "a long sentence " * 9), "a", keys="ctrl+f", method="act"),), width
    )

    assert rows[0].key == "a.b"
    assert "ctrl+f" in plain(rows[0].line)
    assert cells(plain(rows[0].line)) <= max(width, 20)

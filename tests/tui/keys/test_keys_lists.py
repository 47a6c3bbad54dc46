"""The keys of every list, in a list and in a transcript, those of the preset `emacs` included."""

import pytest

from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.places.transcript_view import TranscriptView

keys = pytest.mark.keys
MODELS = 30


@pytest.fixture
def long_world(empty_world):
    """Two accounts and more models than fit on the screen."""
    empty_world.account("ada", ("5h", 94, 1.5))
    empty_world.account("bob", ("5h", 35, 3))
    for number in range(MODELS):
        empty_world.model(f"model{number:02}", "ada", "bob")
    return empty_world


def members(one):
    """Return the rows that the cursor can stand on, and which of them it is on."""
    found = one.app.frame.query_one("#pools-list", VirtualList)
    selectable = [row.key for row in found.rows if row.is_selectable]
    return selectable, selectable.index(found.cursor_key)


async def walk(one, *, down, up, page_down, page_up, first, last):
    """Press keys that move, and see to it that the cursor is where each of them says."""
    end = len(members(one)[0]) - 1
    for key, expected in ((down, 1), (down, 2), (up, 1), (last, end), (first, 0)):
        await one.press(key)
        assert expected == members(one)[1]
        assert any(line.lstrip("│").startswith("> ") for line in one.lines)
    height = one.app.frame.query_one("#pools-list").size.height
    await one.press(page_down)
    landed = members(one)[1]
    assert 2 < landed <= height // 2
    await one.press(page_up)
    assert members(one)[1] < landed


@keys("lists.down", "down", "j")
@keys("lists.up", "up", "k")
@keys("lists.page_down", "pagedown", "ctrl+d")
@keys("lists.page_up", "pageup", "ctrl+u")
@keys("lists.first", "home", "g")
@keys("lists.last", "end", "G")
async def test_arrows_and_letters_move_the_cursor_of_a_list(long_world, hand):
    async with hand(panes=("pools",), size=(100, 40)) as one:
        await walk(one, down="down", up="up", page_down="pagedown", page_up="pageup", first="home", last="end")
        await one.press("home")
        await walk(one, down="j", up="k", page_down="ctrl+d", page_up="ctrl+u", first="g", last="G")


@keys("lists.down", "ctrl+n")
@keys("lists.up", "ctrl+p")
@keys("lists.page_down", "ctrl+v")
@keys("lists.page_up", "alt+v")
@keys("lists.first", "alt+less_than_sign")
@keys("lists.last", "alt+greater_than_sign")
async def test_emacs_moves_the_cursor_with_its_own_keys(long_world, hand):
    first, last = "alt+less_than_sign", "alt+greater_than_sign"
    async with hand(preset="emacs", panes=("pools",), size=(100, 40)) as one:
        await walk(one, down="ctrl+n", up="ctrl+p", page_down="ctrl+v", page_up="alt+v", first=first, last=last)
        assert "Frame" == type(one.app.screen).__name__


@keys("lists.down", "down", "j")
@keys("lists.up", "up", "k")
@keys("lists.page_down", "pagedown", "ctrl+d")
@keys("lists.page_up", "pageup", "ctrl+u")
@keys("lists.first", "home", "g")
@keys("lists.last", "end", "G")
@keys("lists.choose", "enter")
async def test_the_same_keys_move_in_a_transcript_and_enter_unfolds_there_and_opens_the_row_in_every_other_pane(
    transcript,
):
    async with transcript(panes=("pools", "quota", "sessions", "transcript")) as one:
        await move_in_a_transcript_and_unfold(one)
        await open_rows(one)


async def move_in_a_transcript_and_unfold(one):
    view = one.app.frame.query_one("#transcript-view", TranscriptView)
    for first, last, down, up, further, back in (
        ("home", "end", "down", "up", "pagedown", "pageup"),
        ("g", "G", "j", "k", "ctrl+d", "ctrl+u"),
    ):
        await one.press(first)
        await one.sees("Mend the roof please")
        await one.press(down, down, up)
        assert 1 == view._row
        top = view._top
        await one.press(further)
        assert top < view._top
        await one.press(back)
        assert top == view._top
        await one.press(last)
        assert view.is_following
    await one.press("home")
    await one.until(lambda: "▸ thinking" in one.text)
    while "thinking" not in "".join(text for text, _ in view.here[1].line):
        await one.press("down")
    await one.press("enter")
    await one.sees("The red ones.")


async def open_rows(one):
    await one.turn_to("pools")
    await one.choose("pools", "bob")
    await one.press("enter")
    await one.at("Reading")
    await one.back()
    await one.turn_to("quota")
    await one.choose("quota", "bob")
    await one.press("enter")
    await one.until(lambda: one.pane == "pools")
    await one.turn_to("sessions")
    await one.choose("sessions", "/w/beta")
    await one.press("enter")
    await one.until(lambda: not any("Paint" in row for row in one.rows("sessions")))
    await one.choose("sessions", "Mend")
    await one.press("enter")
    await one.until(lambda: one.pane == "transcript")

"""Everything by mouse too: the footer, rows, panes, the wheel; the palette for what has no room in the footer."""

from textual.events import MouseScrollUp

from oulipoly_tui.commands import palette
from oulipoly_tui.keys.keymap import TABLE
from oulipoly_tui.widgets.lines import VirtualList


async def footer(one, identity):
    """Click on a hint of the footer."""
    bar = one.app.frame.query_one("#footer")
    await one.until(lambda: any(hint.id == identity for hint in bar.hints))
    hint = next(hint for hint in bar.hints if hint.id == identity)
    await one.pilot.click("#footer", offset=(hint.start + 1, 0))


def row_of_cursor(rows):
    return next("".join(text for text, _ in row.line) for row in rows.rows if row.key == rows.cursor_key)


async def test_everything_is_done_by_clicks_and_the_wheel(sessions):
    async with sessions(size=(300, 36), panes=("pools", "quota", "sessions", "transcript")) as one:
        await give_a_pane_the_keys(one)
        await choose_and_open_rows(one)
        await scroll_and_unfold_a_transcript(one)
        await click_on_a_hint_in_every_pane(one)
        await click_on_buttons(one)
        await find_what_has_no_hint_in_the_palette(one)


async def give_a_pane_the_keys(one):
    for pane in ("sessions", "quota", "pools"):
        await one.pilot.click(f"#{pane}-list", offset=(5, 2))
        await one.until(lambda pane=pane: one.pane == pane)


async def choose_and_open_rows(one):
    """A click chooses a row, a double click opens it, and one beside a box closes that."""
    rows = one.app.frame.query_one("#sessions-list", VirtualList)
    await one.click("▸ Paint the door")
    await one.until(lambda: one.pane == "sessions" and "Paint" in row_of_cursor(rows))
    await one.click("▸ Paint the door", times=2)
    await one.until(lambda: one.pane == "transcript")
    await one.sees("Green it is.")
    await one.click("/w/alpha 1", times=2)
    await one.until(lambda: not any("Mend" in row for row in one.rows("sessions")))
    await one.click("/w/alpha 1", times=2)
    await one.until(lambda: any("Mend" in row for row in one.rows("sessions")))
    await one.click("? cyd", times=2)
    await one.at("Reading")
    await one.pilot.click(offset=(0, 0))
    await one.at("Frame")


async def scroll_and_unfold_a_transcript(one):
    await one.click("▸ Mend the roof", times=2)
    await one.sees("a last nail")
    view = one.app.frame.query_one("#transcript-view")
    for _ in range(30):
        await one.pilot._post_mouse_events([MouseScrollUp], widget=view)
    await one.click("▸ thinking", times=2)
    await one.sees("The red ones.")


async def click_on_a_hint_in_every_pane(one):
    """It runs the hint's key."""
    await footer(one, "transcript.provenance")
    await one.at("Reading")
    await one.back()
    await one.turn_to("pools")
    await one.choose("pools", "ada")
    await footer(one, "pools.drain")
    await one.until(lambda: one.account("ada").wishes.drained)
    await one.turn_to("sessions")
    await footer(one, "sessions.pin")
    await one.until(lambda: any("pinned" in row for row in one.rows("sessions")))
    await one.turn_to("quota")
    await footer(one, "quota.longer")
    await one.until(lambda: " 7 d" in str(one.app.frame.query_one("#quota-chart").border_title))


async def click_on_buttons(one):
    """They send and answer."""
    await one.turn_to("pools")
    await one.choose("pools", "bob")
    await one.press("p")
    await one.at("Prompt")
    await one.type("hello")
    await one.pilot.click("Button")
    await one.at("Frame")
    await one.sees("✓ done")
    await one.press("W")
    await one.at("WhatIf")
    await one.pilot.click("#drain")
    await one.pilot.click("#apply")
    await one.until(lambda: one.account("bob").wishes.drained)
    await one.at("Frame")


async def find_what_has_no_hint_in_the_palette(one):
    """A small footer still opens the palette, and that offers whatever it has no room for."""
    await one.rest()
    await one.pilot.resize_terminal(80, 24)
    await footer(one, "frame.palette")
    await one.at("CommandPalette")
    await one.back()
    of_mouse = {"lists", "frame.pane1", "frame.pane2", "frame.pane3", "frame.pane4", "frame.pane5"}
    for pane in ("transcript", "sessions", "pools", "quota"):
        await one.turn_to(pane)
        offers = {offer.text for offer in palette.offers(one.app)}
        works = [row for row in TABLE if row.where in (pane, "frame") and row in one.app.works_now()]
        assert not {row.id for row in works if row.description not in offers} - of_mouse
        assert works

"""Everything by mouse too: the footer, rows, panes, tabs, the wheel; the palette for what has no room in the footer."""

import re

from textual.events import MouseScrollUp

from oulipoly_tui.commands import palette
from oulipoly_tui.keys.keymap import TABLE
from oulipoly_tui.widgets.lines import VirtualList


async def footer(one, identity):
    """Click on a hint of the footer."""
    hints = one.app.frame.query_one("#footer").hints
    hint = next(hint for hint in hints if hint.id == identity)
    await one.pilot.click("#footer", offset=(hint.start + 1, 0))


async def test_a_click_on_a_hint_runs_its_key_in_every_pane(transcript):
    async with transcript(size=(300, 50)) as one:
        await footer(one, "transcript.provenance")
        await one.at("Reading")
        await one.back()
        await one.turn_to("pools")
        await one.choose("pools", "bob")
        await footer(one, "pools.drain")
        await one.until(lambda: one.account("bob").wishes.drained)
        await one.turn_to("sessions")
        await footer(one, "sessions.pin")
        await one.until(lambda: any("pinned" in row for row in one.rows("sessions")))
        await one.turn_to("quota")
        await footer(one, "quota.longer")
        await one.until(lambda: " 7 d" in str(one.app.frame.query_one("#quota-chart").border_title))


async def test_whatever_has_no_hint_is_in_the_palette_which_the_footer_opens(transcript):
    of_mouse = {"lists", "frame.pane1", "frame.pane2", "frame.pane3", "frame.pane4", "frame.pane5"}
    async with transcript(size=(80, 24)) as one:
        await footer(one, "frame.palette")
        await one.at("CommandPalette")
        await one.back()
        for pane in ("transcript", "sessions", "pools", "quota"):
            await one.turn_to(pane)
            offers = {offer.text for offer in palette.offers(one.app)}
            works = [row for row in TABLE if row.where in (pane, "frame") and row in one.app.works_now()]
            assert not {row.id for row in works if row.description not in offers} - of_mouse
            assert works


async def test_click_double_click_and_wheel_work_in_lists(sessions):
    async with sessions(size=(200, 50)) as one:
        rows = one.app.frame.query_one("#sessions-list", VirtualList)
        await one.click("▸ Paint the door")
        await one.until(lambda: one.pane == "sessions" and "Paint" in row_of_cursor(rows))
        await one.click("▸ Paint the door", times=2)
        await one.until(lambda: one.pane == "transcript")
        await one.sees("Green it is.")
        await one.click("/w/alpha 1", times=2)
        await one.until(lambda: not any("Mend" in row for row in one.rows("sessions")))
        await one.click("? cyd", times=2)
        await one.at("Reading")
        await one.pilot.click(offset=(0, 0))
        await one.at("Frame")


def row_of_cursor(rows):
    return next("".join(text for text, _ in row.line) for row in rows.rows if row.key == rows.cursor_key)


async def test_a_click_gives_a_pane_the_keys(talks, hand):
    async with hand(size=(200, 50)) as one:
        for pane in ("sessions", "quota", "pools"):
            await one.pilot.click(f"#{pane}-list", offset=(5, 2))
            await one.until(lambda pane=pane: one.pane == pane)


async def test_the_wheel_scrolls_a_transcript_and_a_double_click_unfolds(transcript):
    async with transcript(size=(120, 30)) as one:
        view = one.app.frame.query_one("#transcript-view")
        for _ in range(30):
            await one.pilot._post_mouse_events([MouseScrollUp], widget=view)
        await one.sees("▸ thinking")
        await one.click("▸ thinking", times=2)
        await one.sees("The red ones.")


async def test_a_click_on_a_tab_shows_its_terminal(repl_world, hosts, hand):
    for word in ("apples", "pears"):
        hosts.start("sh", "-c", f"echo {word}; exec cat")
    async with hand("repl", size=(150, 40)) as one:
        await one.until(lambda: 2 == len(one.app.frame.find("repl")._terminals))
        tabs = one.app.frame.query_one("#repl-tabs")
        for place in (1, 0):
            opened = list(one.app.frame.find("repl")._terminals.values())[place]
            starts = [match.start() for match in re.finditer(r"sh -c", "".join(part for part, _ in tabs.lines[0]))]
            await one.pilot.click(tabs, offset=(starts[place], 0))
            await one.until(lambda opened=opened: opened.view.display)


async def test_buttons_answer_and_send(app_world, hand):
    async with hand() as one:
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

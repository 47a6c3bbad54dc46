"""In read-only mode every key that changes something is gone, and pressing it leaves everything as it was."""

import sqlite3
from contextlib import closing

from oulipoly_engine.errors import ReadOnly
from oulipoly_tui.actions.registry import ACTIONS
from oulipoly_tui.base.table import PANES
from oulipoly_tui.commands import palette
from oulipoly_tui.keys.keymap import TABLE

_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table'"
    " AND name NOT LIKE 'search_words%' AND name NOT LIKE 'search_pairs%' ORDER BY name"
)


def kept(world):
    """Return everything that is stored: the configuration, the transcripts, every row of the state file."""
    roots = (world.config, world.home / ".eve", world.home / ".eva")
    files = [path for root in roots for path in sorted(root.rglob("*")) if path.is_file()]
    with closing(sqlite3.connect(world.data / "state.db")) as store:
        tables = [name for (name,) in store.execute(_TABLES)]
        rows = {name: store.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    return {path: path.read_bytes() for path in files}, rows


async def fill(one):
    """Read quotas and transcripts, so that there is something that keys could change."""
    one.app.order("refresh")
    await one.until(lambda: one.account("bob").quota.windows)
    await one.rest()


async def test_no_key_writes_anything_none_is_offered_and_one_that_was_taken_away_says_why(talks, sessions, hand):
    async with sessions("Paint", panes=("pools", "sessions")) as one:
        await fill(one)
    before = kept(talks.world)
    async with hand("pools", read_only=True) as one:
        await say_why_a_key_was_taken_away(one)
        await offer_none_of_them(one)
        await do_what_a_key_means_else(one)
        await press_all_of_them(one)
    assert before == kept(talks.world)


async def say_why_a_key_was_taken_away(one):
    assert "read-only" in one.lines[0]
    for key, label in (("d", "drain"), ("x", "disable"), ("r", "start interactive session"), ("p", "send prompt")):
        await one.press(key)
        await one.told(ReadOnly(f"do {key} ({label})").message)


async def offer_none_of_them(one):
    """Neither help nor the palette tell of them."""
    await one.press("f1")
    await one.at("Help")
    rows = {row.key for row in one.app.screen.query_one("VirtualList").rows}
    offers = [offer.text for offer in palette.offers(one.app)]
    await one.back()

    assert not rows & {row.id for row in TABLE if row.writes}
    assert not {row.description for row in TABLE if row.writes} & set(offers)
    assert not {action.usage for action in ACTIONS if action.line and action.writes} & set(offers)
    assert offers


async def do_what_a_key_means_else(one):
    """`n` means another row of the table as well, and that one reads."""
    one.said.clear()
    await one.turn_to("sessions")
    await one.choose("sessions", "Mend")
    await one.press("n")
    await one.told("nothing is looked for")
    assert not any("read-only" in line for line in one.said)


async def press_all_of_them(one):
    await one.turn_to("pools")
    await one.choose("pools", "bob")
    await one.turn_to("sessions")
    await one.choose("sessions", "Paint")
    await one.press("enter")
    await one.sees("Green it is.")
    for pane in (entry.id for entry in PANES):
        await one.turn_to(pane)
        focused = one.app.focused
        rows = [row for row in TABLE if row.writes and row.where in (pane, "frame")]
        assert not {hint.id for hint in one.app.frame.query_one("#footer").hints} & {row.id for row in rows}
        for row in rows:
            await without_effect(one, row, focused)


async def without_effect(one, row, focused):
    """Press the keys of a row; a pane's own may have a harmless meaning in the frame."""
    pane = one.pane
    for key in row.keys.split(","):
        await one.press(key)
        assert row.id not in {identity for identity, _ in one.noted.ran}
        if type(one.app.screen).__name__ != "Frame":
            await one.back()
        if one.app.focused is not focused:
            await one.turn_to(pane)
    assert one.app.keys.find(row.id) is None

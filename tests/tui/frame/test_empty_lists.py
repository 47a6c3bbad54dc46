"""Nothing is listed: every key of lists does nothing then, in every pane and every dialog that lists something."""

from oulipoly_tui.base.table import PANES
from oulipoly_tui.keys.keymap import TABLE
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import Lines

_LIST_KEYS = [key for row in TABLE if row.where == "lists" for key in row.keys.split(",")]
_DIALOGS = ("inbox", "search", "log", "doctor", "worktrees", "server", "new_work", "settings", "palette", "help")


async def test_no_key_of_lists_harms_a_pane_or_a_dialog_in_which_nothing_is_listed(running, empty_world, settled):
    async with running((120, 40)) as (app, pilot):
        # A snapshot that comes while the first pane is hidden leaves its lines as wide as they are.
        lines = app.frame.find("pools").query_one("#pools-empty", Lines)
        await settled(pilot, lambda: lines.lines)
        before = lines.lines
        await app.frame.turn_to("live", zoomed=True)
        await settled(pilot, lambda: not app.frame.find("pools").size.width)
        app.frame.take(app.snapshot)
        assert before == lines.lines

        await pilot.resize_terminal(80, 24)
        for entry in PANES:
            await app.frame.turn_to(entry.id)
            await pilot.pause()
            await settled(pilot, lambda: app.focused in app.frame.current.query("*"))  # its own keys work, too
            await pilot.press(*_LIST_KEYS)
            assert entry.id == app.frame.current.id

        for dialog in _DIALOGS:
            await app.action_press(f"frame.{dialog}")
            await settled(pilot, lambda: app.screen is not app.frame)
            await pilot.press(*(key for key in _LIST_KEYS if key != "enter"))
            assert app.screen is not app.frame, dialog
            while app.screen is not app.frame:
                await app.pop_screen()


async def test_what_live_says_while_nothing_is_open_is_whole_however_narrow_it_is(running, empty_world, settled):
    async with running((40, 30), panes=["pools", "live"]) as (app, pilot):
        await app.frame.turn_to("live")
        lines = app.frame.find("live").query_one("#live-empty", Lines)
        await settled(pilot, lambda: lines.size.width)

        assert lines.size.width >= max(len(plain(line)) for line in lines.lines)


async def test_the_headings_over_no_session_are_as_wide_as_the_pane_whatever_its_size(running, empty_world, settled):
    async with running((120, 30), panes=["sessions"]) as (app, pilot):
        head = app.frame.find("sessions").query_one("#sessions-head")
        for width in (80, 150):
            await pilot.resize_terminal(width, 30)
            # Its last column has room for the bar of a list.
            await settled(pilot, lambda width=width: width - 4 <= len(plain(head.lines[0]).rstrip()) <= width)

"""Lines to read, laid out anew when the terminal has another width."""

from textual.app import App

from oulipoly_tui.screens.dialogs import read
from oulipoly_tui.widgets.lines import Lines


async def test_lines_are_laid_out_for_the_width_that_the_terminal_has_now():
    app = App()
    async with app.run_test(size=(100, 20)) as pilot:
        read(app, "Two branches", lambda width: (((f"for {width}", ""),),))
        await pilot.pause()
        await pilot.resize_terminal(60, 20)
        await pilot.pause()

        assert ((("for 60", ""),),) == tuple(app.screen.query_one(Lines).lines)

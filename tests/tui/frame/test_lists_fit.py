"""Rows that were made for a width are made anew when their list gets another one, whatever becomes of its pane."""

from pathlib import Path

import oulipoly_tui
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import VirtualList

_NARROW = 30  # columns
_WAYS = ("@on(VirtualList.Fitted", "(ListScreen[", "(ActingScreen)", "(BranchOrders)")  # by itself, or by its base


async def test_rows_fit_a_list_that_grows_while_its_pane_does_not(app_world, running, settled):
    async with running((120, 40), panes=["quota"]) as (app, pilot):
        shown = app.frame.query_one("#quota-list", VirtualList)
        await settled(pilot, lambda: shown.rows)
        wide = [plain(row.line) for row in shown.rows]
        shown.styles.width = _NARROW
        await settled(pilot, lambda: [plain(row.line) for row in shown.rows] != wide)
        shown.styles.width = None

        await settled(pilot, lambda: [plain(row.line) for row in shown.rows] == wide)


def test_whoever_makes_rows_for_a_width_makes_them_anew_for_another():
    folder = Path(oulipoly_tui.__file__).parent
    modules = [path for part in ("panes", "screens") for path in (folder / part).rglob("*.py")]
    fitting = [path for path in modules if "VirtualList(" in (text := path.read_text()) and "GUTTER" in text]

    assert fitting
    assert [] == [path.name for path in fitting if not any(way in path.read_text() for way in _WAYS)]

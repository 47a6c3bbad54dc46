"""The chart on the screen looks as Textual would draw it, although its lines do not go through Textual's cache."""

from datetime import UTC, datetime, timedelta

import pytest
from textual.app import App
from textual.geometry import Region

from oulipoly_tui.view.quota.burn_chart import Ahead, Burn
from oulipoly_tui.widgets.burn_chart import BurnChart
from oulipoly_tui.widgets.lines import Lines

NOW = datetime(2026, 11, 20, 15, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
BURN = Burn(
    NOW - 20 * HOUR,
    NOW + 5 * HOUR,
    NOW,
    cycles=(tuple((NOW - number * HOUR, 0.9 - 0.05 * number) for number in range(15, -1, -1)),),
    even=((NOW - 15 * HOUR, NOW + 4 * HOUR),),
    resets=(NOW - 16 * HOUR, NOW + 4 * HOUR),
    unused=((NOW - 16 * HOUR, 0.46, True),),
    ahead=Ahead((NOW, 0.9), NOW + 4 * HOUR, 1.0, 0.95, 1.0, is_dry=True),
    reserve=0.1,
)


@pytest.mark.parametrize("border", ["", "border-top: solid $panel;", "border: round $panel;"])
@pytest.mark.parametrize("environ", [{}, {"NO_COLOR": "1"}], ids=["colours", "none"])
async def test_a_chart_and_its_edges_look_as_textual_draws_them(monkeypatch, environ, border):
    class Bench(App):
        CSS = f"BurnChart {{ {border} }}"

        def compose(self):
            yield BurnChart()

    with monkeypatch.context() as patch:
        for name, value in environ.items():
            patch.setenv(name, value)
        app = Bench()
    async with app.run_test(size=(70, 16)) as pilot:
        chart = app.query_one(BurnChart)
        chart.border_title = "a window"
        chart.show_burn(BURN)
        await pilot.pause()
        whole = Region(0, 0, *chart.outer_size)

        ours = [strip.render(app.console) for strip in chart.render_lines(whole)]
        part = [strip.text for strip in chart.render_lines(Region(3, 2, 20, 4))]
        chart._pieces.clear()
        chart._styles_cache.clear()
        theirs = Lines.render_lines(chart, whole)

        assert [strip.render(app.console) for strip in theirs] == ours
        assert [strip.text[3:23] for strip in theirs[2:6]] == part

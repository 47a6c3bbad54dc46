"""What the bars and the panes' edges say can be read in every theme: WCAG contrast of what is really drawn."""

import pytest
from textual.containers import VerticalScroll

from oulipoly_engine.core.setup.dialogs import Form, FormField, Option
from oulipoly_tui.screens.setup import questions
from oulipoly_tui.view.transcript.spans import TONES
from oulipoly_tui.widgets.bars import Bar
from oulipoly_tui.widgets.theming import CONTRAST, DARK, LIGHT

LEAST = {DARK: 4.5, LIGHT: 4.5, CONTRAST: 7.0}
ALL_TONES = tuple((f" {tone or 'plain'} ", tone) for tone in ("", *TONES))
EDGES = " ─│╭╮╰╯"


def luminance(colour):
    """Return WCAG's relative luminance."""
    shares = (value / 255 for value in colour.get_truecolor())
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(style):
    """Return WCAG's ratio of a style's two colours, 1..21."""
    dark, light = sorted((luminance(style.color), luminance(style.bgcolor)))
    return (light + 0.05) / (dark + 0.05)


def faint(app, region, least):
    """Return the words in a region of the screen that fall short, with their ratio."""
    strips = [strip.crop(region.x, region.right) for strip in app.screen._compositor.render_strips()]
    spans = [span for strip in strips[region.y : region.bottom] for span in strip if span.text.strip(EDGES)]
    assert spans

    return [(span.text, round(contrast(span.style), 1)) for span in spans if contrast(span.style) < least]


@pytest.fixture(params=[DARK, LIGHT, CONTRAST])
def theme(request):
    return request.param


async def test_every_tone_on_the_bars_can_be_read(app_world, running, theme):
    async with running((120, 30), theme=theme, panes=["pools"]) as (app, pilot):
        probe = Bar(id="every-tone")  # the header itself is drawn anew every second
        await app.frame.mount(probe, before="#footer")
        probe.show(ALL_TONES)
        await pilot.pause()

        bars = [app.frame.query_one(f"#{name}").region for name in ("header", "footer", "every-tone")]
        assert [[], [], []] == [faint(app, bar, LEAST[theme]) for bar in bars]


async def test_edges_of_panes_can_be_read_with_and_without_the_keys(app_world, running, settled, theme):
    async with running((200, 50), theme=theme, panes=["pools", "quota"]) as (app, pilot):
        await settled(pilot, lambda: len(app.frame.panes) == 2)
        for pane in app.frame.panes:
            pane.border_subtitle = "what stands below"
        await pilot.pause()

        edges = [pane.region for pane in app.frame.panes]
        edges = [edge for one in edges for edge in (one.crop_size((one.width, 1)), one.split_horizontal(-1)[1])]
        assert [[]] * 4 == [faint(app, edge, LEAST[theme]) for edge in edges]


async def test_a_form_can_be_read_in_every_theme(app_world, running, settled, theme):
    """What is asked, its help, a hint in an empty field, marks, and what is wrong."""
    fields = (
        FormField("a", "Name", required=True, placeholder="a hint", help_text="help"),
        FormField("b", "Rule", "select", options=(Option("one"), Option("two")), default_value="two"),
    )
    async with running((80, 30), theme=theme, panes=["pools"]) as (app, pilot):
        questions.ask(app, Form("A form", fields, description="text"), lambda _: None, typed={})
        await settled(pilot, lambda: app.screen is not app.frame)
        await pilot.press("ctrl+s")
        await settled(pilot, lambda: app.screen.query(".problem").first().display)

        assert [] == faint(app, app.screen.query_one(VerticalScroll).region, LEAST[theme])

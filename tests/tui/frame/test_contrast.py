"""What the bars and the panes' edges say can be read in every theme: WCAG contrast of what is really drawn."""

from datetime import timedelta

import pytest
from rich.color import ColorType
from rich.color_triplet import ColorTriplet
from textual.containers import VerticalScroll

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.accounts.accounts import Controls
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.core.setup.dialogs import Form, FormField, Option
from oulipoly_engine.paths import from_environment
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import controls, quotas
from oulipoly_tui.screens.setup import questions
from oulipoly_tui.view.transcript.spans import TONES
from oulipoly_tui.widgets.bars import Bar
from oulipoly_tui.widgets.theming import ANSI, CONTRAST, DARK, LIGHT

LEAST = {DARK: 4.5, LIGHT: 4.5, CONTRAST: 7.0}
ALL_TONES = tuple((f" {tone or 'plain'} ", tone) for tone in ("", *TONES))
EDGES = " ─│╭╮╰╯"
GRAPHICS = {*EDGES, *"▀▁▂▃▄▅▆▇█▉▊▋▌▍▎▏▐░▒▓▔▕┃", *map(chr, range(0x2800, 0x2900))}

# Ground, text, and the sixteen colours of the terminals that most people have.
_XTERM = (
    "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff"
)
_GNOME = (
    "1e1e1e c01c28 26a269 a2734c 12488b a347ba 2aa1b3 d0cfcc 5d5d5d f66151 33d17a e9ad0c 2a7bde c061cb 33c7de ffffff"
)
_MACOS = (
    "000000 990000 00a600 999900 0000b2 b200b2 00a6b2 bfbfbf 666666 e50000 00d900 e5e500 0000ff e500e5 00e5e5 e5e5e5"
)
_SOLAR = (
    "073642 dc322f 859900 b58900 268bd2 d33682 2aa198 eee8d5 002b36 cb4b16 586e75 657b83 839496 6c71c4 93a1a1 fdf6e3"
)
PALETTES = {
    "xterm, light": ("ffffff", "000000", _XTERM),
    "xterm, dark": ("000000", "e5e5e5", _XTERM),
    "GNOME, light": ("ffffff", "1e1e1e", _GNOME),
    "GNOME, dark": ("1e1e1e", "ffffff", _GNOME),
    "macOS, Basic": ("ffffff", "000000", _MACOS),
    "macOS, Pro": ("000000", "f2f2f2", _MACOS),
    "Solarized, light": ("fdf6e3", "657b83", _SOLAR),
    "Solarized, dark": ("002b36", "839496", _SOLAR),
}
LEAST_OF_16 = (
    3.0  # no colour of the sixteen has more on white and on black in all of them; what is said is no colour's alone
)


def luminance(colour):
    """Return WCAG's relative luminance."""
    shares = (value / 255 for value in (colour if isinstance(colour, ColorTriplet) else colour.get_truecolor()))
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


async def test_every_tone_edge_and_form_can_be_read(app_world, running, settled, theme):
    async with running((200, 50), theme=theme, panes=["pools", "quota"]) as (app, pilot):
        await settled(pilot, lambda: len(app.frame.panes) == 2)
        probe = Bar(id="every-tone")  # the header itself is drawn anew every second
        await app.frame.mount(probe, before="#footer")
        probe.show(ALL_TONES)
        for pane in app.frame.panes:  # one has the keys, and one has not
            pane.border_subtitle = "what stands below"
        await pilot.pause()

        bars = [app.frame.query_one(f"#{name}").region for name in ("header", "footer", "every-tone")]
        assert [[], [], []] == [faint(app, bar, LEAST[theme]) for bar in bars]
        edges = [pane.region for pane in app.frame.panes]
        edges = [edge for one in edges for edge in (one.crop_size((one.width, 1)), one.split_horizontal(-1)[1])]
        assert [[]] * 4 == [faint(app, edge, LEAST[theme]) for edge in edges]

        # What is asked, its help, a hint in an empty field, marks, and what is wrong.
        fields = (
            FormField("a", "Name", required=True, placeholder="a hint", help_text="help"),
            FormField("b", "Rule", "select", options=(Option("one"), Option("two")), default_value="two"),
        )
        questions.ask(app, Form("A form", fields, description="text"), lambda _: None, typed={})
        await settled(pilot, lambda: app.screen is not app.frame)
        await pilot.press("ctrl+s")
        await settled(pilot, lambda: app.screen.query(".problem").first().display)
        assert [] == faint(app, app.screen.query_one(VerticalScroll).region, LEAST[theme])


@pytest.fixture
def tired_world(app_world):
    """An account whose reading is hours old, one that is exhausted, and one that is disabled."""
    now = SystemClock().now()
    store = open_store(from_environment().state_db)
    for name, used in (("ada", 0.4), ("bob", 1.0), ("cyd", 0.3)):
        windows = (Window(0, used, now + timedelta(hours=2), label="5h"), Window(1, 0.2, now + timedelta(days=3)))
        with store.write():
            quotas.save(store, QuotaState(name, windows, now - timedelta(hours=5)))
    controls.save(store, "cyd", Controls(disabled=True), now)
    store.close()
    return app_world


async def test_old_readings_and_disabled_accounts_can_be_read(tired_world, running, settled, theme):
    async with running((120, 40), theme=theme, panes=["pools", "quota"], reads_quota=False) as (app, pilot):
        await settled(pilot, lambda: len(app.frame.panes) == 2)
        for key in ("1", "down", "2", "down"):
            await pilot.press(key)
            await pilot.pause()

            assert [] == [one for one in faint(app, app.frame.area.region, 4.5) if not set(one[0]) <= GRAPHICS]


def seen(colour, palette, *, is_text):
    """Return what a terminal of a palette draws for a colour."""
    ground, text, sixteen = palette
    if colour is None or colour.type is ColorType.DEFAULT:
        return ColorTriplet(*bytes.fromhex(text if is_text else ground))
    return colour.triplet or ColorTriplet(*bytes.fromhex(sixteen.split()[colour.number]))


def contrast_in(style, palette):
    dark, light = sorted(
        luminance(seen(one, palette, is_text=is_text)) for one, is_text in ((style.color, True), (style.bgcolor, False))
    )
    return (light + 0.05) / (dark + 0.05)


async def test_the_terminal_s_own_colours_can_be_read_on_light_and_on_dark(tired_world, running, settled):
    async with running((120, 40), theme="ansi", toasts=True, reads_quota=False) as (app, pilot):
        assert ANSI == app.theme
        await settled(pilot, lambda: len(app.frame.panes) > 2)
        app.say("what went wrong", severity="error")
        app.say("what to look at", severity="warning")
        styles = set()
        for keys in (("1", "down"), ("2", "down"), ("3",), ("ctrl+p", "k")):
            await pilot.press(*keys)
            await pilot.pause()
            spans = [span for strip in app.screen._compositor.render_strips() for span in strip]
            styles |= {span.style for span in spans if any(sign.isalnum() for sign in span.text)}

    assert any(style.reverse for style in styles)
    assert not [style for style in styles if style.reverse and style.dim]
    assert [] == [
        f"{style} in {name}: {contrast_in(style, palette):.1f}"
        for name, palette in PALETTES.items()
        for style in styles
        if contrast_in(style, palette) < LEAST_OF_16
    ]

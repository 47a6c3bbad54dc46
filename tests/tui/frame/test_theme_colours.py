"""The themes: what differs in meaning differs with 256 colours too, and the terminal's own colours stay readable."""

import pytest
from rich.color import Color as Downgraded
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from oulipoly_tui.widgets import theming

OURS = {theme.name: theme for theme in theming._OWN if not theme.ansi}
MEANINGS = ("text-success", "text-warning", "text-error", "text-accent", "text-primary", "foreground")
GROUNDS = ("background", "surface", "panel", "cursor")


def table(theme):
    """Return a theme's colours as they are drawn on its background."""
    variables = theming.with_own(theme.to_color_system().generate())
    ground = Color.parse(variables["background"])
    colours = {name: Color.parse(variables[name]) for name in (*MEANINGS, "foreground-muted", *GROUNDS)}
    return {name: ground.blend(found, found.a, 1.0) for name, found in colours.items()}


def with_256(colour):
    return Downgraded.from_rgb(*colour.rgb).downgrade(ColorSystem.EIGHT_BIT).number


@pytest.mark.parametrize("name", OURS)
def test_no_two_meanings_fall_together_with_256_colours(name):
    found = table(OURS[name])
    numbers = {one: with_256(found[one]) for one in (*MEANINGS, "foreground-muted")}

    assert len(numbers) == len(set(numbers.values())), numbers


@pytest.mark.parametrize("name", OURS)
def test_greys_stay_greys_and_the_cursor_is_seen_with_256_colours(name):
    found = table(OURS[name])
    grounds = {one: Downgraded.from_ansi(with_256(found[one])).get_truecolor() for one in GROUNDS}

    for one in ("background", "surface", "panel"):
        assert max(grounds[one]) - min(grounds[one]) <= 8, (one, grounds[one])
    assert grounds["cursor"] not in (grounds["background"], grounds["surface"])


@pytest.mark.parametrize("theme", [theming._OWN[-1], BUILTIN_THEMES["ansi-light"]], ids=lambda theme: theme.name)
def test_the_row_under_the_cursor_is_reversed_in_the_terminal_s_own_colours(theme):
    variables = theming.with_own(theme.to_color_system().generate())

    assert ("ansi_default", "bold reverse") == (variables[theming.CURSOR], variables[theming.CURSOR_STYLE])

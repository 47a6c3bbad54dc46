"""The themes: dark, light, high contrast, the terminal's own colours, and the user's files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

if TYPE_CHECKING:
    from textual.app import App

    from oulipoly_engine.facade.configuration import ThemeFile

DARK, LIGHT, CONTRAST, ANSI = "agents-dark", "agents-light", "agents-contrast", "agents-ansi"
BAR = "bar"  # the variable for what header and footer are drawn on
VEIL = "veil"  # the variable for what lies between a question and the panes
CURSOR, CURSOR_STYLE = "cursor", "cursor-style"  # the variables for the row under the cursor
ORDER = (DARK, LIGHT, CONTRAST, ANSI)
_NAMES = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST, "high-contrast": CONTRAST, "ansi": ANSI}
_NAMES |= {"ansi-dark": ANSI}  # what `ansi` was called before; it is kept in the state of the app

# Nobody knows the terminal's ground, nor its sixteen colours. Text on it is the terminal's own, but for two that
# stand out from white and from black in the usual palettes (a test has them); on a ground of ours black on cyan does.
# What is good has no colour: no green can be read on white. Bold and the words tell the rest.
_ON_CYAN = ("block-cursor", "input-cursor", "input-selection", "screen-selection")
_ANSI_VARIABLES = {
    **{f"{name}-foreground": "ansi_black" for name in _ON_CYAN},
    **{f"{name}-background": "ansi_cyan" for name in _ON_CYAN},
    **{f"scrollbar{state}": "ansi_magenta" for state in ("", "-hover", "-active")},
    **{f"scrollbar-background{state}": "ansi_default" for state in ("", "-hover", "-active")},
    **dict.fromkeys(("ansi-background", "ansi-foreground", "border-blurred"), "ansi_default"),
    "input-cursor-text-style": "none",
}

# Colours of different meaning stay apart where a terminal has 256, and greys are grey there: a test tells.
_OWN = (
    Theme(
        name=DARK,
        primary="#7aa2d6",
        secondary="#8fb8a8",
        accent="#e0b060",
        foreground="#d8dce2",
        background="#15171b",
        surface="#1d2026",
        panel="#2b3038",
        success="#8cc27a",
        warning="#e06c1f",
        error="#e8707a",
        dark=True,
    ),
    Theme(
        name=LIGHT,
        primary="#1d5a9c",
        secondary="#2c6a5a",
        accent="#8a4b00",
        foreground="#1c2024",
        background="#fbfaf7",
        surface="#f0efec",
        panel="#dcd8cd",
        success="#256b2e",
        warning="#b04a00",
        error="#a81e2c",
        dark=False,
        variables={"foreground-muted": "#4c4f54"},  # Textual's own is 4.3:1, and less under the cursor
    ),
    Theme(
        name=CONTRAST,
        primary="#66ccff",
        secondary="#ffffff",
        accent="#ffff00",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#808080",
        success="#00ff66",
        warning="#ffd000",
        error="#ff6070",
        dark=True,
        text_alpha=1.0,
        # The panel's grey shows where panes end; no text reaches 7:1 on it, so the bars are black. What lies behind a
        # question, and the footer with its keys, is as plain as the question.
        variables={"foreground-muted": "#d0d0d0", "text-muted": "#d0d0d0", "text-disabled": "#b0b0b0"}
        | {"panel-darken-1": "#101010", "panel-lighten-1": "#303030", BAR: "#000000", VEIL: "transparent"},
    ),
    Theme(
        name=ANSI,
        primary="ansi_default",
        secondary="ansi_default",
        accent="ansi_magenta",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        success="ansi_default",
        warning="ansi_bright_red",
        error="ansi_bright_red",
        dark=True,
        ansi=True,
        variables=_ANSI_VARIABLES,
    ),
)


def register(app: App[Any], users: Iterable[Theme]) -> None:
    """Make our themes and the user's known to the app."""
    for theme in (*_OWN, *users):
        app.register_theme(theme)


def with_own(variables: dict[str, str]) -> dict[str, str]:
    """Return a theme's variables with ours, where the theme names none: the bars', and the row's under the cursor.

    In the terminal's own colours that row is reversed: nobody knows what its blue is, nor which text can be read on it.
    """
    is_ansi = variables["background"].startswith("ansi_")
    ground, style = (variables["background"], "bold reverse") if is_ansi else (variables["primary-muted"], "bold")
    veil = "transparent" if is_ansi else f"{variables['background']} 60%"
    return {BAR: variables["panel"], VEIL: veil, CURSOR: ground, CURSOR_STYLE: style, **variables}


def from_file(found: ThemeFile) -> Theme:
    """Return a user's theme as Textual's. Its colours are looked at where it is drawn: see `list_bad_colours`."""
    colours: dict[str, Any] = dict(found.colours)
    return Theme(name=found.name, dark=found.dark, **colours)


def list_bad_colours(found: ThemeFile) -> tuple[str, ...]:
    """Return which keys of a user's theme hold no colour that Textual knows: to draw with it would end the app."""
    return tuple(key for key, value in found.colours.items() if not _is_colour(value))


def _is_colour(value: str) -> bool:
    try:
        Color.parse(value)
    except ColorParseError:
        return False
    return True


def choose(name: str | None, available: Mapping[str, Theme]) -> str:
    """Return the theme of a name that a user would write; one that there is not gives the dark one."""
    if name is None:
        return DARK
    wanted = _NAMES.get(name, name)
    return wanted if wanted in available else DARK


def is_known(name: str, users: Collection[str]) -> bool:
    """Tell whether there is a theme of a name that a user has written. users: the names of the user's own."""
    return name in _NAMES or name in ORDER or name in BUILTIN_THEMES or name in users


def after(name: str) -> str:
    """Return the next of our themes."""
    return ORDER[(ORDER.index(name) + 1) % len(ORDER)] if name in ORDER else ORDER[0]


def label(name: str) -> str:
    """Return a theme's short name."""
    return next((short for short, full in _NAMES.items() if full == name), name)

"""The themes: dark, light, high contrast, the terminal's own colours, and the user's files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

if TYPE_CHECKING:
    from textual.app import App

    from oulipoly_engine.facade.configuration import ThemeFile

DARK, LIGHT, CONTRAST, ANSI = "agents-dark", "agents-light", "agents-contrast", "ansi-dark"
BAR = "bar"  # the variable for what header and footer are drawn on
ORDER = (DARK, LIGHT, CONTRAST, ANSI)
_NAMES = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST, "high-contrast": CONTRAST, "ansi": ANSI}

_OWN = (
    Theme(
        name=DARK,
        primary="#7aa2d6",
        secondary="#8fb8a8",
        accent="#e0b060",
        foreground="#d8dce2",
        background="#14171c",
        surface="#1c2027",
        panel="#2a303a",
        success="#8cc27a",
        warning="#e0b050",
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
        surface="#f1efe9",
        panel="#dcd8cd",
        success="#256b2e",
        warning="#7a5200",
        error="#a81e2c",
        dark=False,
        variables={"foreground-muted": "#5e6166"},  # Textual's own is 4.3:1
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
        # The panel's grey shows where panes end; no text reaches 7:1 on it, so the bars are black.
        variables={"foreground-muted": "#d0d0d0", "text-muted": "#d0d0d0", BAR: "#000000"},
    ),
)


def register(app: App[Any], users: Iterable[Theme]) -> None:
    """Make our themes and the user's known to the app."""
    for theme in (*_OWN, *users):
        app.register_theme(theme)


def with_bar(variables: dict[str, str]) -> dict[str, str]:
    """Return a theme's variables with the colour of the bars: the panel's, where the theme names none."""
    return {BAR: variables["panel"], **variables}


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

"""What the app knows of its own files beyond their form: which keys, actions and themes there are. Without Textual.

The engine asks by a function that it is given (`Surroundings.find_app_faults`), since it imports nothing of the app.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.facade.configuration import Fault, Level
from oulipoly_tui.keys import keymap

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import AppSettings, ThemeFile

OWN_THEMES = ("dark", "light", "contrast", "high-contrast", "ansi", "agents-dark", "agents-light", "agents-contrast")
_FILE = "app.toml"


def find_faults(settings: AppSettings, themes: Sequence[ThemeFile]) -> Iterator[tuple[str, Fault]]:
    """Yield what is wrong, with the file below the configuration's folder that it stands in."""
    yield from find_theme_faults(settings, themes)
    keys = keymap.resolve(settings.preset, settings.keys)
    for slip in keys.slips:
        yield _FILE, Fault(("keys", slip.id), slip.cause, slip.fix)
    for clash in keys.clashes:
        place = clash.second if clash.second in settings.keys else clash.first
        yield _FILE, Fault(("keys", place), clash.text, keymap.CLASH_FIX)


def find_theme_faults(settings: AppSettings, themes: Sequence[ThemeFile]) -> Iterator[tuple[str, Fault]]:
    """Yield what is wrong with the themes and with the one that is chosen: the app shows the dark one then."""
    broken = []
    if themes:
        from oulipoly_tui.widgets import theming  # noqa: PLC0415 - Textual, 270 ms: only who has written a theme waits

        for one in themes:
            for key in theming.list_bad_colours(one):
                broken.append(one.name)
                message = f"{one.colours[key]!r} is no colour, so there is no theme {one.name!r}"
                yield f"themes/{one.name}.toml", Fault((key,), message, "write a name or `#rrggbb`", Level.WARNING)
    if settings.theme is None or settings.theme in OWN_THEMES:
        return
    from oulipoly_tui.widgets import theming  # noqa: PLC0415 - as above: only for a name that is none of ours

    names = [one.name for one in themes if one.name not in broken]
    if not theming.is_known(settings.theme, names):
        message = f"there is no theme {settings.theme!r}, so the dark one is shown"
        yield _FILE, Fault(("theme",), message, f"choose one of {', '.join(OWN_THEMES[:5])}", Level.WARNING)

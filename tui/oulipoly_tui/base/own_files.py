"""What the app knows of its own files beyond their form: which keys, actions and themes there are. Without Textual.

The engine asks by a function that it is given (`Surroundings.find_app_faults`), since it imports nothing of the app.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.facade.configuration import Fault, Level
from oulipoly_tui.actions.registry import commands
from oulipoly_tui.keys import keymap

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import AppSettings, ThemeFile

OWN_THEMES = ("dark", "light", "contrast", "high-contrast", "ansi", "agents-dark", "agents-light", "agents-contrast")
_FILE = "app.toml"


def find_faults(settings: AppSettings, themes: Sequence[ThemeFile]) -> Iterator[tuple[str, Fault]]:
    """Yield what is wrong, with the file below the configuration's folder that it stands in."""
    yield from find_theme_faults(settings, themes)
    keys = keymap.resolve(settings.preset, settings.keys, commands=settings.commands)
    places: dict[str, tuple[str | int, ...]] = {
        action.id: ("commands", action.custom.place, "key") for action in keys.own if action.custom
    }
    for slip in keys.slips:
        yield _FILE, Fault(places.get(slip.id, ("keys", slip.id)), slip.cause, slip.fix)
    for clash in keys.clashes:
        first, second = clash.first, clash.second
        own = next((places[one] for one in (second, first) if one in places), None)
        key = ("keys", second if second in settings.keys else first)
        fix = keymap.CLASH_FIX if own is None else "choose another key, or take it from the other in [keys]"
        yield _FILE, Fault(own or key, clash.text, fix)
    yield from _find_name_faults(settings)


def _find_name_faults(settings: AppSettings) -> Iterator[tuple[str, Fault]]:
    """Yield the commands whose name means something else on the `:` line."""
    taken = set(commands())
    for one in settings.commands:
        if one.name in taken:
            message = f"the name {one.name!r} is that of another command"
            yield _FILE, Fault(("commands", one.place, "name"), message, "choose another name")
        taken.add(one.name)


def find_theme_faults(settings: AppSettings, themes: Sequence[ThemeFile]) -> Iterator[tuple[str, Fault]]:
    """Yield what is wrong with the themes and with the one that is chosen: the app shows the dark one then."""
    broken = []
    if themes:
        from oulipoly_tui.widgets import theming  # noqa: PLC0415 - Textual, 270 ms: only who has written a theme waits

        for one in themes:
            for key in theming.list_bad_colours(one):
                broken.append(one.name)
                message = f"{one.colours[key]!r} is not a colour, so there is no theme {one.name!r}"
                yield f"themes/{one.name}.toml", Fault((key,), message, "write a name or `#rrggbb`", Level.WARNING)
    if settings.theme is None or settings.theme in OWN_THEMES:
        return
    from oulipoly_tui.widgets import theming  # noqa: PLC0415 - as above: only for a name that is none of ours

    names = [one.name for one in themes if one.name not in broken]
    if not theming.is_known(settings.theme, names):
        message = f"there is no theme {settings.theme!r}, so the dark one is shown"
        yield _FILE, Fault(("theme",), message, f"choose one of {', '.join((*OWN_THEMES[:5], *names))}", Level.WARNING)

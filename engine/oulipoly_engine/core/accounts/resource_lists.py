"""The lists of settings that add extensions, skills, prompts and themes, and switch them off. Pure.

An entry `NAME` or `PATH` adds, `!NAME` switches off; of two entries about one name the later one counts.
"""

from __future__ import annotations

from collections.abc import Sequence

TYPES = ("extension", "skill", "prompt", "theme")  # each has a setting that is called the same, with an s
_OFF = "!"


def is_switched_off(entries: Sequence[str], name: str) -> bool:
    """Tell whether a list switches a name off."""
    return next((entry.startswith(_OFF) for entry in reversed(entries) if entry.removeprefix(_OFF) == name), False)


def is_path(entry: str) -> bool:
    """Tell whether an entry is a path; names have no slash in them."""
    return "/" in entry and not entry.startswith(_OFF)


def switch(entries: Sequence[str], name: str, *, is_on: bool, is_known: bool = True) -> tuple[str, ...]:
    """Return a list that switches a name on or off; one that is not known without the list is added by it."""
    others = tuple(entry for entry in entries if entry.removeprefix(_OFF) != name)
    if is_on:
        return others if is_known else (*others, name)
    return others if is_path(name) else (*others, f"{_OFF}{name}")

"""The footer line: the keys that do something now. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.records import Record
from oulipoly_tui.keymap import shown
from oulipoly_tui.keys.key import Key
from oulipoly_tui.view.transcript.spans import Line, cells


class Hint(Record):
    """One key of the footer, and where it stands, so that a click finds it."""

    id: str
    key: str
    label: str
    start: int
    end: int  # exclusive


def hints(keys: Sequence[Key], width: int, *, density: str = "full") -> tuple[Hint, ...]:
    """Return those keys that fit, in the table's order; the least weighty are left out first."""
    if density == "off":
        return ()
    chosen = [key for key in keys if key.label]
    while chosen and sum(_width(key, density) for key in chosen) > width:
        chosen.remove(min(reversed(chosen), key=lambda key: key.weight))
    found: list[Hint] = []
    at = 0
    for key in chosen:
        wide = _width(key, density)
        found.append(Hint(key.id, shown(key.keys), key.label if density == "full" else "", at, at + wide))
        at += wide
    return tuple(found)


def line(found: Sequence[Hint]) -> Line:
    """Return the footer as it is drawn."""
    return tuple(
        span for hint in found for span in ((f" {hint.key}", "key"), (f" {hint.label} " if hint.label else " ", ""))
    )


def _width(key: Key, density: str) -> int:
    return cells(shown(key.keys)) + (cells(key.label) + 3 if density == "full" else 2)

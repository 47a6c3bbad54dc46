"""The footer line: the keys that do something now. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.records import Record
from oulipoly_tui.actions.action import Action
from oulipoly_tui.keys.keymap import format_first_key
from oulipoly_tui.view.transcript.spans import Line, cells


class Hint(Record):
    """One key of the footer, and where it stands, so that a click finds it."""

    id: str
    key: str
    label: str
    start: int
    end: int  # exclusive


def hints(actions: Sequence[Action], width: int, *, density: str = "full") -> tuple[Hint, ...]:
    """Return those that fit, in the registry's order; the least weighty are left out first."""
    if density == "off":
        return ()
    chosen = [action for action in actions if action.weight is not None]
    widths = {action.id: _width(action, density) for action in chosen}
    taken = sum(widths.values())
    while chosen and taken > width:
        least = min(reversed(chosen), key=lambda action: action.weight or 0)
        chosen.remove(least)
        taken -= widths[least.id]
    found: list[Hint] = []
    at = 0
    for action in chosen:
        wide = widths[action.id]
        found.append(
            Hint(action.id, format_first_key(action.keys), action.label if density == "full" else "", at, at + wide)
        )
        at += wide
    return tuple(found)


def line(found: Sequence[Hint]) -> Line:
    """Return the footer as it is drawn."""
    return tuple(
        span for hint in found for span in ((f" {hint.key}", "key"), (f" {hint.label} " if hint.label else " ", ""))
    )


def _width(action: Action, density: str) -> int:
    return cells(format_first_key(action.keys)) + (cells(action.label) + 3 if density == "full" else 2)

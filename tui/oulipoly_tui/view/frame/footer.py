"""The footer line: the keys that do something now. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def hints(
    actions: Sequence[Action],
    width: int,
    *,
    density: str = "full",
    reach: Callable[[Action], Action | None] = lambda action: action,
) -> tuple[Hint, ...]:
    """Return those that fit, in the registry's order; the least weighty are left out first.

    reach: returns an action with the keys that it has now, None where it does nothing. It is asked of the weightiest
    first, and no more once the line is full.
    """
    if density == "off":
        return ()
    weighty = [action for action in actions if action.weight is not None]
    chosen: dict[int, Action] = {}
    taken = 0
    for place in sorted(range(len(weighty)), key=lambda place: -(weighty[place].weight or 0)):
        action = reach(weighty[place])
        if action is None:
            continue
        taken += _width(action, density)
        if taken > width:
            break
        chosen[place] = action
    found: list[Hint] = []
    at = 0
    for _place, action in sorted(chosen.items()):
        wide = _width(action, density)
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

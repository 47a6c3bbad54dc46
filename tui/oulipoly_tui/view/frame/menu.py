"""The menu of a row from the registry of actions. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_tui.actions.action import Action
from oulipoly_tui.keys.keymap import format_first_key
from oulipoly_tui.view.transcript.spans import Row, cells, cut, fit_text

_GAP = 2


def menu_rows(keys: Sequence[Action], width: int) -> tuple[Row, ...]:
    """Return a row for each key: the key, its label, and its sentence as far as there is room."""
    if not keys:
        return ()
    key_width = max(cells(format_first_key(row.keys)) for row in keys) + _GAP
    label_width = max(cells(row.label) for row in keys) + _GAP
    room = width - key_width - label_width
    return tuple(
        Row(
            row.id,
            (
                (fit_text(format_first_key(row.keys), key_width), "key"),
                (fit_text(row.label, label_width), ""),
                (cut(row.description, max(0, room)), "dim"),
            ),
        )
        for row in keys
    )

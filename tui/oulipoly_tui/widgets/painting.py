"""Painting a widget's rows in the turn of the loop in which they change, not four turns later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from oulipoly_tui.standing import is_standing

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.widget import Widget

# What is used below and is not promised to us; a Textual without it paints in its own time.
_IS_POSSIBLE = all(hasattr(Screen, name) for name in ("_on_timer_update", "_set_dirty", "is_current"))


def _waiting_to_be_drawn(screen: Screen[Any]) -> set[Widget] | None:
    """Return the widgets that Textual draws next; None where it keeps them otherwise, or holds its pictures back."""
    found = getattr(screen, "_dirty_widgets", None)
    is_free = getattr(screen.app, "_batch_count", None) == 0
    return found if is_free and isinstance(found, set) else None


def paint_at_once(widget: Widget, regions: Sequence[Region]) -> bool:
    """Paint regions of a widget now; False: it cannot be done now, and `refresh` will do it.

    By itself Textual goes from the widget's queue to the screen's, from there to a timer and back to the screen. That
    timer is also what holds pictures back: whoever calls this has to be no more frequent than a screen can show.
    """
    if not (_IS_POSSIBLE and is_standing(widget)):
        return False
    screen = widget.app.screen
    if widget.screen is not screen or not screen.is_current or not widget.display:
        return False
    waiting = _waiting_to_be_drawn(screen)
    if waiting is None:
        return False
    widget._set_dirty(*regions)
    waiting.add(widget)
    screen._on_timer_update()
    return True

"""Whether what is about to draw is still there: work that was put off may come back when its screen has gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.widget import Widget


def is_standing(widget: Widget) -> bool:
    """Return whether a widget, or a screen, has all its parts.

    Textual takes a screen's parts away before the screen itself, and calls what was put off in between.
    """
    return widget.is_attached and widget.is_mounted and widget.screen in widget.app.screen_stack

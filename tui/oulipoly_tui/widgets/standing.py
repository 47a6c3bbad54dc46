"""Whether what is about to draw is still there: work that was put off may come back when its screen has gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.widget import Widget


def is_standing(widget: Widget) -> bool:
    """Return whether a widget, or a screen, has all its parts.

    Textual takes a screen's parts away before the screen itself, and calls what was put off in between. An app that
    ends takes all of them away, and hears its timers and messages meanwhile.
    """
    app = widget.app
    return app.is_running and widget.is_attached and widget.is_mounted and widget.screen in app.screen_stack

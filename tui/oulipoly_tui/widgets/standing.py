"""Whether what is about to draw is still there: work that was put off may come back when its screen has gone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.widget import Widget

_LOOK_S = 0.1  # between two looks whether what lies above a dialog is closed


def is_standing(widget: Widget) -> bool:
    """Return whether a widget, or a screen, has all its parts.

    Textual takes a screen's parts away before the screen itself, and calls what was put off in between. An app that
    ends takes all of them away, and hears its timers and messages meanwhile.
    """
    app = widget.app
    return app.is_running and widget.is_attached and widget.is_mounted and widget.screen in app.screen_stack


def close_by_itself(dialog: Screen[Any], result: Any = None) -> None:  # noqa: ANN401 - as the dialog has it
    """Close a dialog whose work is done; while another one lies above it, once that is closed.

    Textual's `dismiss` takes away whatever lies on top.
    """
    if not is_standing(dialog):
        return
    if dialog.is_active:
        dialog.dismiss(result)
    else:
        dialog.set_timer(_LOOK_S, partial(close_by_itself, dialog, result))

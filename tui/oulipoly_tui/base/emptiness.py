"""What stands in the place of a pane's list that has no rows."""

from __future__ import annotations

from functools import partial

from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.base.pane import Pane


def set_empty(pane: Pane, *, is_empty: bool) -> None:
    """Show what stands in the place of a list without rows, or the list again; the keys go along."""
    had_keys = pane.has_focus_within or pane.screen.focused is None
    if had_keys and pane.has_class("-empty") != is_empty:  # what had the keys is hidden now
        pane.call_after_refresh(partial(_take_keys_back, pane))
    pane.set_class(is_empty, "-empty")


def _take_keys_back(pane: Pane) -> None:
    app = app_of(pane)
    if app.frame.current is pane:  # the user has not gone to another one, whose focus is still to come
        pane.focus_inside()

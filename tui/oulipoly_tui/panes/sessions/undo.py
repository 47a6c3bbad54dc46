"""What takes a pane's actions back: at once for some seconds, which its edge counts; later it asks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING

from oulipoly_engine.records import Record
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.screens import dialogs

if TYPE_CHECKING:
    from datetime import datetime

    from textual.timer import Timer
    from textual.widget import Widget

_KEPT = 20
_AT_ONCE_S = 30.0  # after that nobody remembers for sure what was done last
_TICK_S = 1.0


class _UndoStep(Record):
    text: str
    take_back: Callable[[], object]
    at: float  # monotonic seconds
    until: datetime  # so long it is taken back at once


class UndoSteps:
    """What was done last in a pane, and how it is taken back."""

    def __init__(self, pane: Widget, draw_edge: Callable[[], None]) -> None:
        """Begin with nothing. draw_edge: draws the pane's edge, which shows `text`, where that has changed."""
        self._pane = pane
        self._draw_edge = draw_edge
        self._countdown: Timer | None = None
        self.steps: list[_UndoStep] = []

    def remember(self, text: str, take_back: Callable[[], object]) -> None:
        """Remember what takes an action back."""
        until = app_of(self._pane).now().astimezone() + timedelta(seconds=_AT_ONCE_S)
        self.steps = [*self.steps[-_KEPT:], _UndoStep(text, take_back, monotonic(), until)]
        self.count_down()
        if self._countdown is None:
            self._countdown = self._pane.set_interval(_TICK_S, self.count_down)

    def take_back_last(self) -> None:
        """Take back what was done last, after a question where that was not just now."""
        if self._measure_left_s() > 0:
            self._take_back(self.steps[-1])
        else:
            self._ask_first(self.steps[-1])

    def text(self) -> str:
        """Return for how long the latest action is taken back without a question; empty: it asks, or there is none.

        In reduced motion it says until when: a text that never changes.
        """
        left = self._measure_left_s()
        if left <= 0:
            return ""
        if app_of(self._pane).options.reduced_motion:
            return f"u: undo, until {self.steps[-1].until:%H:%M:%S}"
        return f"u: undo, {ceil(left)} s"

    @property
    def is_counting(self) -> bool:
        """Tell whether the edge still counts."""
        return self._countdown is not None

    def count_down(self) -> None:
        """Draw how much time is left, and end with it."""
        self._draw_edge()
        if self._countdown is not None and self._measure_left_s() <= 0:
            self._countdown.stop()
            self._countdown = None

    def _measure_left_s(self) -> float:
        return self.steps[-1].at + _AT_ONCE_S - monotonic() if self.steps else 0.0

    def _ask_first(self, step: _UndoStep) -> None:
        def on_agreed() -> None:
            if step in self.steps:
                self._take_back(step)

        minutes = int((monotonic() - step.at) // 60)
        when = f"{minutes} min ago" if minutes else "less than a minute ago"
        dialogs.confirm(self._pane.app, "Undo this?", f"{step.text}, {when}.", "undo", on_agreed)

    def _take_back(self, step: _UndoStep) -> None:
        app = app_of(self._pane)

        def on_taken_back(_: object) -> None:
            app.take_snapshot()
            app.say(f"Undone: {step.text}")

        def on_failed(_: Exception) -> None:  # what hindered it has been said, and may be gone at the next try
            self.steps.append(step)
            self.count_down()

        self.steps.remove(step)
        app.work("undo", step.take_back, on_taken_back, on_failed, title=f"undo: {step.text}")
        self.count_down()

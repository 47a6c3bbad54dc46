"""What takes the Sessions pane's actions back: at once for some seconds, which its edge counts; later it asks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any

from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from datetime import datetime

    from textual.timer import Timer

    from oulipoly_engine.facade.sessions.types import Board, ListedSession

_KEPT = 20
_AT_ONCE_S = 30.0  # after that nobody remembers for sure what was done last
_TICK_S = 1.0


class _UndoStep(Record):
    text: str
    take_back: Callable[[], object]
    at: float  # monotonic seconds
    until: datetime  # so long it is taken back at once


class SessionUndo:
    """The part of the pane that remembers."""

    app: Any
    wish: Callable[..., None]
    set_interval: Callable[..., Timer]
    border_subtitle: Any
    _edge: Callable[[], str]
    _countdown: Timer | None = None
    board: Board | None

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - the pane's own
        super().__init__(**more)
        self._undo: list[_UndoStep] = []

    @property
    def listed(self) -> ListedSession | None:
        """Return the session under the cursor."""
        raise NotImplementedError

    def can_undo(self, listed: ListedSession | None) -> bool:
        """Tell whether there is anything to take back, of what was done here or of a session."""
        if self._undo:
            return True
        board = self.board
        return listed is not None and board is not None and board.is_replaced(listed.session)

    def did(self, text: str, take_back: Callable[[], object] | None) -> None:
        """Remember what takes an action back, and say so."""
        self.app.say(f"{text}. u: undo" if take_back is not None else text)
        if take_back is None:
            return
        until = self.app.now().astimezone() + timedelta(seconds=_AT_ONCE_S)
        self._undo = [*self._undo[-_KEPT:], _UndoStep(text, take_back, monotonic(), until)]
        self._count_down()
        if self._countdown is None:
            self._countdown = self.set_interval(_TICK_S, self._count_down)

    def action_undo(self) -> None:
        """Take back what was done last here, or the latest replacement of the session's entries."""
        self.undo(self.listed)

    def undo(self, listed: ListedSession | None) -> None:
        """Take back what was done last here, or the latest replacement of a session's entries."""
        if not self._undo:
            if listed is not None:
                self.wish("session undo", listed.session.chain_id)
        elif self._measure_left_s() > 0:
            self._take_back(self._undo[-1])
        else:
            self._ask_first(self._undo[-1])

    def undo_text(self) -> str:
        """Return for how long `u` takes the latest action back without a question; empty: it asks, or there is none.

        In reduced motion it says until when: a text that never changes.
        """
        left = self._measure_left_s()
        if left <= 0:
            return ""
        return f"u: undo, until {self._undo[-1].until:%H:%M:%S}" if self._is_still else f"u: undo, {ceil(left)} s"

    @property
    def _is_still(self) -> bool:
        return bool(self.app.options.reduced_motion)

    def _measure_left_s(self) -> float:
        return self._undo[-1].at + _AT_ONCE_S - monotonic() if self._undo else 0.0

    def _count_down(self) -> None:
        text = self._edge()
        if text != self.border_subtitle:  # each change draws the pane's frame
            self.border_subtitle = text
        if self._countdown is not None and self._measure_left_s() <= 0:
            self._countdown.stop()
            self._countdown = None

    def _ask_first(self, deed: _UndoStep) -> None:
        from oulipoly_tui.screens.question import Confirm  # noqa: PLC0415 - only when it is asked

        def on_answered(yes: bool | None) -> None:
            if yes and deed in self._undo:
                self._take_back(deed)

        minutes = int((monotonic() - deed.at) // 60)
        when = f"{minutes} min ago" if minutes else "less than a minute ago"
        self.app.push_screen(Confirm("Undo this?", f"{deed.text}, {when}.", "undo"), on_answered)

    def _take_back(self, deed: _UndoStep) -> None:
        def on_taken_back(_: object) -> None:
            self.app.take_snapshot()
            self.app.say(f"Undone: {deed.text}")

        def on_failed(_: Exception) -> None:  # what hindered it has been said, and may be gone at the next try
            self._undo.append(deed)
            self._count_down()

        self._undo.remove(deed)
        self.app.work("undo", deed.take_back, on_taken_back, on_failed, title=f"undo: {deed.text}")
        self._count_down()

"""Whether the program of one terminal may write the user's clipboard: asked once, and the answer holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oulipoly_tui.screens.terminal.clipboard_question import ClipboardQuestion
    from oulipoly_tui.widgets.terminal_view import TerminalView


class ClipboardLeave:
    """The leave of one terminal."""

    def __init__(self, view: TerminalView, copy: Callable[[str], None], refused: Callable[[], None]) -> None:
        """Begin unasked. copy: takes what may be copied. refused: called when the user has said no."""
        self._view, self._copy, self._refused = view, copy, refused
        self._answer: bool | None = None
        self._text = ""  # the newest text: a program that asks again has changed its mind
        self._question: ClipboardQuestion | None = None

    def want(self, text: str, label: str) -> None:
        """Copy a text, ask whether to, or drop it, as the user has answered; for the app's own thread."""
        if self._answer is not None:
            if self._answer:
                self._copy(text)
            return
        self._text = text
        app = self._view.app
        question = f"{label} wants to put {len(text)} characters on your clipboard, now and later"
        if self._question is not None and self._question in app.screen_stack:
            self._question.reword(question)
            return
        from oulipoly_tui.screens.terminal.clipboard_question import ClipboardQuestion  # noqa: PLC0415 - only to ask

        self._question = ClipboardQuestion(question)
        app.push_screen(self._question, self._take_answer)

    def _take_answer(self, yes: bool | None) -> None:
        self._answer, self._question = bool(yes), None
        if yes:
            self._copy(self._text)
        else:
            self._refused()
        self._text = ""

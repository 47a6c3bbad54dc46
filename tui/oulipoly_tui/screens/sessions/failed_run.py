"""Why a run failed: how it ended, what it was asked, what it said last, what to do, why that account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from oulipoly_engine.core.runs.trace import Node, failure_lines
from oulipoly_tui.screens.reading import Reading
from oulipoly_tui.view.frame.hints import CLOSE, link
from oulipoly_tui.view.transcript.spans import Line

if TYPE_CHECKING:
    from oulipoly_tui.app_interface import AppInterface


class FailedRun(Reading):
    """Shows it until escape; from here the prompt is asked again."""

    HINTS = f"{link('r: again', 'screen.again')} · {CLOSE}"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "again", "again")]
    DEFAULT_CSS = ""

    def __init__(self, node: Node) -> None:
        self._node = node
        row = node.invocation
        lines: list[Line] = [((line, "dim" if line.startswith("│") else ""),) for line in failure_lines(node)]
        super().__init__(f"Failed run of {row.model} on {row.account or '?'}", lines)

    def action_again(self) -> None:
        """Ask its prompt again, after a look at it: whoever is best now serves it."""
        from oulipoly_tui.screens.prompt import Prompt  # noqa: PLC0415 - TextArea, 40 ms, only here

        app: Any = self.app
        model, words = self._node.invocation.model, self._node.last_words
        if words is None or not words.is_whole:
            app.say("Its prompt is not kept whole: p in Pools sends another one")
            return

        def on_asked(text: str | None) -> None:
            if text is not None:
                app.order("prompt", (model, text))

        self.dismiss()
        app.call_next(app.push_screen, Prompt(f"prompt {model} again", words.prompt), on_asked)


def show(app: AppInterface, uuid: str) -> None:
    """Look up a failed run and show it."""
    if app.engine is not None:
        trace = app.engine.trace
        app.work("failed run", lambda: trace.tree(uuid, max_depth=0), lambda node: app.push_screen(FailedRun(node)))

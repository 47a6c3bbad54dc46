"""Why a run failed: how it ended, what it was asked, what it said last, what to do, why that account."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from oulipoly_engine.core.runs.trace import Node, failure_lines
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.reading import Reading
from oulipoly_tui.view.frame.hints import CLOSE, link
from oulipoly_tui.view.transcript.spans import Line

if TYPE_CHECKING:
    from oulipoly_tui.base.app_interface import AppInterface


class FailedRun(Reading):
    """Shows it until escape; from here the prompt is asked again, on whoever is best or on another account."""

    HINTS = " · ".join((link("r: again", "screen.again"), link("a: on another account", "screen.elsewhere"), CLOSE))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "again", "again"),
        Binding("a", "elsewhere", "on another account"),
    ]
    DEFAULT_CSS = ""

    def __init__(self, node: Node) -> None:
        self._node = node
        row = node.invocation
        lines: list[Line] = [((line, "dim" if line.startswith("│") else ""),) for line in failure_lines(node)]
        super().__init__(f"Failed run of {row.model} on {row.account or '?'}", lines)

    def action_again(self) -> None:
        """Ask its prompt again, after a look at it: whoever is best now serves it."""
        self._ask_again(None)

    def action_elsewhere(self) -> None:
        """Choose another account of its pool, and ask its prompt again there."""
        app = app_of(self)
        row = self._node.invocation
        pool = None if app.snapshot is None else app.snapshot.pool(row.model)
        if pool is None:
            app.say(f"{row.model} is not configured any more: p in Pools sends its prompt to another model")
            return
        names = [member.account for member in pool.model.members if member.account != row.account]
        if not names:
            app.say(f"No other account serves {row.model}: r asks again on {row.account or 'its account'}")
            return
        if self._find_prompt() is not None:
            dialogs.choose_account(app, f"{row.model} again on which account?", names, self._ask_again)

    def _ask_again(self, account: str | None) -> None:
        """Show the prompt, and send it after a yes. account: the one that is to serve; None: whoever is best."""
        from oulipoly_tui.screens.prompt import Prompt  # noqa: PLC0415 - TextArea, 40 ms, only here

        app = app_of(self)
        prompt = self._find_prompt()
        if prompt is None:
            return
        model = self._node.invocation.model

        def on_asked(text: str | None) -> None:
            if text is None:
                return
            if account is None:
                app.order("prompt", (model, text))
            else:
                app.order("account prompt", (account, model, text))

        place = "" if account is None else f" on {account}"
        self.dismiss()
        app.call_next(app.push_screen, Prompt(f"prompt {model} again{place}", prompt), on_asked)

    def _find_prompt(self) -> str | None:
        """Return what it was asked; None, and say so, where that is not kept whole."""
        words = self._node.last_words
        if words is not None and words.is_whole:
            return words.prompt
        app = app_of(self)
        app.say("Its prompt is not kept whole: p in Pools sends another one")
        return None


def show(app: AppInterface, uuid: str) -> None:
    """Look up a failed run and show it."""
    if app.engine is not None:
        trace = app.engine.trace
        app.work("failed run", lambda: trace.tree(uuid, max_depth=0), lambda node: app.push_screen(FailedRun(node)))

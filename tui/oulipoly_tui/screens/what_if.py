"""The what-if: suppose pins, drains, reserves and turns, see what would change, then apply it or not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.markup import escape
from textual.screen import ModalScreen
from textual.widgets import Button, Input

from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.view.frame.hints import BACK, link
from oulipoly_tui.view.quota.what_if import format_comparison
from oulipoly_tui.view.transcript.spans import Line, wrap_lines
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.standing import close_by_itself, is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.balance.decision import Decision
    from oulipoly_engine.facade.snapshot import PoolView

_FORMS = "pin=A  drain=A  undrain=A  reserve=A:20  turns=+10  turns=A:+10; several with spaces between"
_OUTCOME_LEAST, _OUTCOME_MOST = 4, 12  # rows


class WhatIf(ModalScreen[None]):
    """Compares the choice with what it would be; every change of the line is tried at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "cancel", priority=True),
        Binding("ctrl+s,f2", "apply", "apply", priority=True),
    ]
    DEFAULT_CSS = """
    WhatIf Lines { height: auto; max-height: 16; scrollbar-gutter: stable; }
    WhatIf #outcome { border-top: solid $panel; }
    """

    def __init__(self, pool: PoolView, account: str, *, can_apply: bool) -> None:
        super().__init__()
        self._pool = pool
        self._account = account
        self._can_apply = can_apply
        self._asked = 0
        self._then: Decision | str | None = None

    def compose(self) -> ComposeResult:
        """Lay out line, outcome and buttons."""
        with Vertical(classes="dialog") as box:
            box.border_title = Content(f"What if … {self._pool.model.name}")
            apply = f"{link('F2 or ctrl+s: apply', 'screen.apply')} · " if self._can_apply else ""
            box.border_subtitle = apply + BACK
            yield Input("turns=+20", select_on_focus=False)
            yield Lines((((_FORMS, "dim"),),), id="forms")
            yield Lines(id="outcome")
            with Horizontal(classes="buttons"):
                yield Button(escape(f"pin {self._account}"), id="pin")
                yield Button(escape(f"drain {self._account}"), id="drain")
                if self._can_apply:
                    yield Button("Apply", id="apply", variant="primary")

    def on_mount(self) -> None:
        """Try what stands there."""
        self.query_one(Input).focus()
        self._try()

    def on_resize(self) -> None:
        """Wrap to the width."""
        self.call_after_refresh(self._show)

    @on(Input.Changed)
    def _try(self) -> None:
        app = app_of(self)
        self._asked += 1
        texts = self.query_one(Input).value.split()
        app.work("what-if", partial(self._decide, self._asked, texts), self._take_decision)

    def _decide(self, asked: int, texts: list[str]) -> tuple[int, Decision | str]:
        app = app_of(self)
        try:
            return asked, engine_of(app).pools.what_if(self._pool.model.name, texts)
        except Exception as error:
            if not hasattr(error, "message"):
                raise
            return asked, str(error.message)

    def _take_decision(self, answer: tuple[int, Decision | str]) -> None:
        asked, found = answer
        if asked != self._asked or not is_standing(self):
            return  # a later one is on its way
        self._then = found
        self._show()

    def _show(self) -> None:
        if not is_standing(self):
            return
        forms, outcome = self.query_one("#forms", Lines), self.query_one("#outcome", Lines)
        width = outcome.scrollable_content_region.width or 60
        told = wrap_lines((((_FORMS, "dim"),),), width)
        forms.styles.height = len(told)
        forms.show_lines(told)
        # The buttons must stay in sight in a small terminal.
        outcome.styles.height = max(_OUTCOME_LEAST, min(_OUTCOME_MOST, int(self.size.height * 0.9) - 8 - len(told)))
        if self._then is not None:
            outcome.show_lines(wrap_lines(self._outcome(self._then, width), width))

    def _outcome(self, then: Decision | str, width: int) -> tuple[Line, ...]:
        return (
            ((("! " + then, "warn"),),)
            if isinstance(then, str)
            else format_comparison(self._pool.decision, then, width)
        )

    def action_apply(self) -> None:
        """Make it true."""
        app = app_of(self)
        if not self._can_apply:
            return
        texts = self.query_one(Input).value.split()

        def on_done(clauses: tuple[str, ...]) -> None:
            app.say("; ".join(clauses) or "nothing to apply")
            app.take_snapshot()
            close_by_itself(self)

        app.work("apply", partial(engine_of(app).pools.apply, self._pool.model.name, texts), on_done)

    @on(Input.Submitted)
    def _handle_submit(self) -> None:
        self._try()

    @on(Button.Pressed)
    def _handle_press(self, event: Button.Pressed) -> None:
        if event.button.id == "apply":
            self.action_apply()
            return
        line = self.query_one(Input)
        line.replace(f"{event.button.id}={self._account}", 0, len(line.value))

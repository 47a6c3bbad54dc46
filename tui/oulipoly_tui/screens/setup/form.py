"""One page of questions: a form, a step of a wizard, a key, a choice of CLIs, or a login with its command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.markup import escape
from textual.screen import ModalScreen
from textual.widgets import Button, Input

from oulipoly_engine.core.setup.dialogs import Answer, Cancelled, Skipped, check_values
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_tui.screens import dialogs, review
from oulipoly_tui.screens.box import Box
from oulipoly_tui.screens.question import Pause
from oulipoly_tui.screens.setup.fields import FieldBox, Given
from oulipoly_tui.view.frame.hints import link
from oulipoly_tui.view.setup.dialogs import Page
from oulipoly_tui.view.transcript.spans import cut, wrap_lines
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.standing import is_standing

_TITLE, _BUTTON = 100, 24  # characters
_SHARE = 0.92  # of the screen's height
_AROUND = 6  # rows of the box that hold neither text nor fields: its edges, the buttons, one to see that it is a box


class _Fields(VerticalScroll, can_focus=False, inherit_bindings=False):
    """The text and the fields; the screen scrolls them, wherever the focus is."""


class FormScreen(ModalScreen[Answer | None]):
    """Its answer is that of the page; None: back to what was before it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", priority=True),
        Binding("ctrl+s,ctrl+enter,f2", "submit", "go on", priority=True),
        Binding("pagedown", "scroll(5)", show=False),
        Binding("pageup", "scroll(-5)", show=False),
    ]
    DEFAULT_CSS = """
    FormScreen > Box { max-width: 110; }
    FormScreen VerticalScroll { height: auto; scrollbar-size-vertical: 1; }
    FormScreen Lines { height: auto; }
    """

    def __init__(self, page: Page, given: Mapping[str, Given] | None = None) -> None:
        """Take what is asked. given: what was typed here before."""
        super().__init__()
        self._page = page
        self._before = given or {}
        self._pause = Pause(0.0 if page.form.fields else review.PAUSE_S)  # a button has the keys when it comes up
        self.typed: dict[str, Given] = {}  # what was typed when it closed, to be shown again

    def compose(self) -> ComposeResult:
        """Lay out text, fields and buttons."""
        page = self._page
        with Box() as box:
            title = visible_line(page.title)[:_TITLE]
            box.border_title = Content(f"{title} · {page.steps}" if page.steps else title)
            box.border_subtitle = self._hints()
            with _Fields():
                yield Lines(id="form-head")
                for asked in page.form.fields:
                    yield FieldBox(asked, self._before.get(asked.name))
            with Horizontal(classes="buttons"):
                yield Button(escape(cut(visible_line(page.submit), _BUTTON)), id="submit", variant="primary")
                if page.more is not None:
                    yield Button(escape(page.more[0]), id="more")
                if page.is_begun:
                    yield Button("Skip", id="skip")
                if page.is_back_possible:
                    yield Button("Back", id="back")

    def on_mount(self) -> None:
        """Begin with the first field; where there is none, with the button that does nothing but go on."""
        boxes = self.query(FieldBox)
        if boxes:
            boxes.first().focus_input()
        else:
            self.query_one("#submit").focus()

    def on_screen_resume(self) -> None:
        """Begin to wait for a pause only when the question can be seen."""
        self._pause.begin()

    def on_key(self, event: events.Key) -> None:
        """Let nothing that is typed on or held down press a button that has just come up."""
        if not self._pause.is_over():
            event.stop()
            event.prevent_default()

    def on_unmount(self) -> None:
        """Forget what was typed unseen, however it was closed."""
        self._wipe()

    def on_resize(self) -> None:
        """Wrap to the width."""
        self.call_after_refresh(self._fit)

    @property
    def given(self) -> dict[str, Given]:
        """Return what is typed, by field."""
        return {box.asked.name: box.given for box in self.query(FieldBox)}

    def action_scroll(self, by: int) -> None:
        """Scroll."""
        self.query_one(_Fields).scroll_relative(y=by, animate=False)

    def action_submit(self) -> None:
        """Answer, or say under each field what is wrong with it."""
        values, problems = check_values(self._page.form, self.given)
        texts = {one.name: one.text for one in reversed(problems)}
        wrong = [box for box in self.query(FieldBox) if box.asked.name in texts]
        for box in wrong:
            box.show_problem(texts[box.asked.name].removeprefix(f"{box.asked.title}: "))
        if wrong:
            wrong[0].focus_input()
        else:
            self.end(self._page.answer(values))

    def action_back(self) -> None:
        """Go to the page before; from the first one, ask whether the set-up shall end."""
        if self._page.is_back_possible or not self._page.is_begun:
            self.end(None)
            return
        text = "What was done until now stays as it is."
        dialogs.confirm(self.app, "End the set-up?", text, "end it", lambda: self.end(Cancelled()))

    def end(self, answer: Answer | None) -> None:
        """Close with an answer; what was typed unseen is forgotten."""
        self.typed = {box.asked.name: box.given for box in self.query(FieldBox) if box.asked.field_type != "password"}
        self._wipe()
        if self.is_active:
            self.dismiss(answer)

    @on(Input.Submitted)
    def _go_on(self) -> None:
        self.focus_next()

    @on(Button.Pressed)
    def _handle_press(self, event: Button.Pressed) -> None:
        more = self._page.more
        if event.button.id == "submit":
            self.action_submit()
        elif event.button.id == "back":
            self.action_back()
        elif event.button.id == "more" and more is not None:
            self.end(more[1])
        else:
            self.end(Skipped())

    def _wipe(self) -> None:
        for box in self.query(FieldBox):
            box.wipe()

    def _hints(self) -> str:
        page = self._page
        goes = link("ctrl+s or F2: go on", "screen.submit")
        goes_back = page.is_back_possible or not page.is_begun
        leaves = link("esc: back" if goes_back else "esc: end the set-up", "screen.back")
        return " · ".join((goes, "tab: next field", leaves) if page.form.fields else ("tab: next button", leaves))

    def _fit(self) -> None:
        if not is_standing(self):
            return
        head, scrolled = self.query_one("#form-head", Lines), self.query_one(_Fields)
        lines = wrap_lines(self._page.head, max(20, scrolled.scrollable_content_region.width - 1))
        head.styles.height = len(lines)
        head.show_lines(lines)
        scrolled.styles.max_height = max(4, int(self.size.height * _SHARE) - _AROUND)

"""What the doctor found: a list, all about the row under the cursor below it, and the command that mends it to copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.keys.keymap import TABLE
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.screens.reading import Reading
from oulipoly_tui.view.frame.doctor import doctor_detail, doctor_rows, put_wrong_first
from oulipoly_tui.view.frame.hints import CLOSE, key_links, link
from oulipoly_tui.view.transcript.spans import wrap_lines
from oulipoly_tui.widgets.lines import Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.checks.finding import Finding

_DETAIL = 9  # rows for what is said of one finding, its line above included
_EDGES = 4  # rows of the screen that stay free, with the box's own


class DoctorScreen(ListScreen[None]):
    """Shows findings until escape, and looks anew."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close"),
        Binding("R", "look", "check again"),
        Binding("y", "copy", "copy the command"),
    ]
    DEFAULT_CSS = """
    DoctorScreen VirtualList { scrollbar-gutter: stable; }
    DoctorScreen #detail { border-top: solid $panel; scrollbar-gutter: stable; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._findings: Sequence[Finding] = ()

    def compose(self) -> ComposeResult:
        """Lay out list and details."""
        with Box() as box:
            box.border_title = "Doctor"
            look = key_links(self.BINDINGS, "look")
            box.border_subtitle = " · ".join((link("enter: copy the command", "screen.copy"), *look, CLOSE))
            yield VirtualList()
            yield Lines(id="detail")

    def on_mount(self) -> None:
        """Give the keys to the list, and look."""
        self.rows.focus()
        self.action_look()

    def on_click(self, event: events.Click) -> None:
        """Close on a click outside of the box."""
        if event.widget is self:
            self.dismiss()

    def action_look(self) -> None:
        """Look at everything anew."""
        app = app_of(self)
        self.query_one(Box).border_title = "Doctor · looking …"
        app.work(
            "doctor",
            engine_of(app).checks.run,
            self._take,
            failed=self._fail,
            title="checking everything",
            can_stop=True,
        )

    def action_copy(self) -> None:
        """Copy the command of the row under the cursor."""
        from oulipoly_tui.driver.copying import copy_command  # noqa: PLC0415 - only when something is copied

        app = app_of(self)
        one = self._find_chosen()
        if one is not None and one.command:
            copy_command(app, one.command)
        elif one is not None:
            app.say("Nothing is to be run for this")

    @on(VirtualList.Chosen)
    def _handle_choice(self) -> None:
        self.action_copy()

    @on(VirtualList.Highlighted)
    def _show_detail(self) -> None:
        one, detail = self._find_chosen(), self.query_one("#detail", Lines)
        width = detail.scrollable_content_region.width
        lines = () if one is None else doctor_detail(one)
        detail.show_lines(wrap_lines(lines, width) if width else lines)
        detail.scroll_to(y=0, animate=False)

    def _take(self, findings: Sequence[Finding]) -> None:
        if is_standing(self):
            from oulipoly_engine.core.checks.finding import summarize  # noqa: PLC0415 - loaded with the findings

            self._findings = put_wrong_first(findings)
            self.query_one(Box).border_title = f"Doctor · {summarize(findings)}"
            self.redraw()

    def _fail(self, _error: Exception) -> None:
        if is_standing(self):
            self.query_one(Box).border_title = "Doctor · stopped"

    def _find_chosen(self) -> Finding | None:
        key = self.rows.cursor_key
        return self._findings[int(key)] if key is not None and int(key) < len(self._findings) else None

    def _draw(self) -> None:
        rows, detail = self.rows, self.query_one("#detail", Lines)
        detail.styles.height = min(_DETAIL, max(3, self.size.height // 2 - 2))
        room = self.size.height - _EDGES - (detail.styles.height.value if detail.styles.height else 0)
        rows.styles.height = max(1, min(int(room), len(self._findings) or 1))
        width = self._row_width
        if width > 0:
            rows.show_rows(doctor_rows(self._findings, width))
            self._show_detail()


class Problems(Reading):
    """The list of problems, from which the doctor can be asked and the next alert gone to."""

    HINTS = f"{link('d: doctor', 'screen.doctor')} · {CLOSE}"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d,f3", "doctor", "doctor"),
        *(Binding(row.keys, "next_alert", row.label, id=row.id) for row in TABLE if row.id == "frame.attention"),
    ]
    DEFAULT_CSS = ""

    def action_next_alert(self) -> None:
        """Close, and go to the next alert."""
        app = app_of(self)
        self.dismiss()
        app.call_next(app.action_press, "frame.attention")

    def action_doctor(self) -> None:
        """Look at everything."""
        app = app_of(self)
        self.dismiss()
        app.order("doctor")

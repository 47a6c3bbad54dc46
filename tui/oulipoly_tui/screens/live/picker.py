"""What a live session begins with: a pool, or a runtime and one of its models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from oulipoly_engine.errors import ReadOnly
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.view.frame.hints import BACK, key_links, link
from oulipoly_tui.view.live.models import Start, describe, picker_rows, read_start, reason_against
from oulipoly_tui.view.transcript.spans import wrap_lines
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList

if TYPE_CHECKING:
    from oulipoly_engine.core.live.runtime_status import RuntimeSummary

_AROUND = 8  # rows of the screen that are not the list's


class ModelPicker(ListScreen[Start | None]):
    """Its answer is what was chosen; None: nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "cancel"),
        Binding("R", "refresh_runtimes", "ask the runtimes"),
    ]
    DEFAULT_CSS = "ModelPicker #picker-detail { height: 2; border-top: none; color: $foreground-muted; }"

    def __init__(self) -> None:
        super().__init__()
        self._runtimes: Sequence[RuntimeSummary] = ()

    def compose(self) -> ComposeResult:
        """Lay out the list and what is to be done about the chosen one."""
        with Box() as box:
            box.border_title = "Begin a live session with"
            asks = key_links(self.BINDINGS, "refresh_runtimes")
            box.border_subtitle = " · ".join((link("enter: OK", "screen.take"), *asks, BACK))
            yield VirtualList()
            yield Lines(id="picker-detail")

    def on_mount(self) -> None:
        """Show the pools at once, and the runtimes as they were when they were last asked."""
        self.rows.focus()
        self.call_after_refresh(self.redraw)
        self._app.work("runtimes", self._engine.runtimes.summaries, self._take)

    def action_refresh_runtimes(self) -> None:
        """Start each runtime and let it say what it has."""
        if self._app.options.read_only:
            self._app.say(ReadOnly("start anything").message)
            return
        title = "asking the runtimes"
        self._app.work("runtimes", self._engine.runtimes.refresh, self._take, title=title)

    @on(VirtualList.Chosen)
    def action_take(self) -> None:
        """Begin with it, or say why that cannot be."""
        key = self.rows.cursor_key
        if key is None:
            return
        start = read_start(key)
        found = self._find(start)
        reason = None if found is None else reason_against(found)
        if reason is not None:
            self._app.say(reason, severity="warning")
        else:
            self.dismiss(start)

    def _find(self, start: Start) -> RuntimeSummary | None:
        return next((one for one in self._runtimes if one.runtime.id == start.runtime), None)

    def _take(self, found: Sequence[RuntimeSummary]) -> None:
        self._runtimes = found
        self.redraw()

    @on(VirtualList.Highlighted)
    def _describe(self) -> None:
        key = self.rows.cursor_key
        found = None if key is None else self._find(read_start(key))
        detail = self.query_one("#picker-detail", Lines)
        text = "" if found is None else describe(found)
        detail.show_lines(wrap_lines((((text, "dim"),),), max(20, detail.size.width)) if text else ())

    def _draw(self) -> None:
        rows, snapshot = self.rows, self._app.snapshot
        width = max(20, (rows.scrollable_content_region.width or 60) - GUTTER)
        listed = picker_rows(() if snapshot is None else snapshot.pools, self._runtimes, width)
        rows.styles.height = min(max(4, self.size.height - _AROUND), len(listed))
        rows.show_rows(listed)
        self._describe()

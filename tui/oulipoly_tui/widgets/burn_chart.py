"""The burn chart on the screen: drawn anew when its values or its size change, and at no other time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual import events
from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Region
from textual.strip import Strip

from oulipoly_tui.view.quota.burn_chart import Burn, burn_chart
from oulipoly_tui.view.transcript.spans import Span
from oulipoly_tui.widgets.lines import Lines


class BurnChart(Lines):
    """Draws one window over a range of time."""

    DEFAULT_CSS = "BurnChart { overflow: hidden; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._burn: Burn | None = None
        self._wide = 0  # how wide the lines are
        self._pieces = _Pieces(self._piece)
        self._filters: Sequence[LineFilter] = ()
        self._background = Color(0, 0, 0)  # while lines are drawn, as the filters

    def show_burn(self, burn: Burn | None) -> None:
        """Draw a window; None: nothing."""
        if burn != self._burn:
            self._burn = burn
            self._draw_anew()

    def on_resize(self, event: events.Resize) -> None:
        """Draw for the new size."""
        super().on_resize(event)
        self._draw_anew()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw lines; their colours may be others than the last time.

        Textual draws the edges alone: to the chart's own lines it has nothing to add, and its filters see each of the
        few pieces once, not in every line.
        """
        top, right, _, left = self.gutter
        if left or right:
            return super().render_lines(crop)
        inside = range(top, top + self.size.height)
        edges = {
            y: super(BurnChart, self).render_lines(Region(0, y, self.size.width, 1))[0]
            for y in crop.line_range
            if y not in inside
        }
        self._pieces.clear()
        self._base = self.rich_style
        self._filters, self._background = self.get_line_filters(), self.background_colors[1]
        try:
            strips = [self.render_line(y - top) if y in inside else edges[y] for y in crop.line_range]
        finally:
            self._base, self._filters = None, ()
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _draw_anew(self) -> None:
        before, size = self._lines, self.size
        lines = () if self._burn is None else burn_chart(self._burn, *size)
        if len(lines) != len(before) or size.width != self._wide:
            self._wide = size.width
            self.show_lines(lines)
            return
        self._lines = lines
        changed = (place for place, line in enumerate(lines) if line != before[place])
        regions = [Region(0, place, size.width, 1) for place in changed]
        if regions:
            self.refresh(*regions)

    def _draw(self, place: int, width: int) -> Strip:
        """Draw a line of thousands of pieces: nothing is measured, for it is as wide as was asked."""
        if width != self._wide or place >= len(self._lines):
            return Strip(self._apply_filters(list(super()._draw(place, width))), width)
        return Strip(map(self._pieces.__getitem__, self._lines[place]), width)

    def _piece(self, span: Span) -> Segment:
        (segment,) = self._apply_filters([Segment(span[0], self.style_of(span[1], self.base_style))])
        return segment

    def _apply_filters(self, segments: list[Segment]) -> list[Segment]:
        for change in self._filters:
            segments = list(change.apply(segments, self._background))
        return segments


class _Pieces(dict[Span, Segment]):
    """The pieces that a chart is made of: the same few, again and again."""

    def __init__(self, make: Callable[[Span], Segment]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, span: Span) -> Segment:
        """Make a piece."""
        segment = self[span] = self._make(span)
        return segment

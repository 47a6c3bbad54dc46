"""A text of any length: its places are laid out when they are looked at.

Where the view stands is a place and a line of it, never a count of lines from the top: so nothing but what is on the
screen is ever measured.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from oulipoly_tui.view.transcript.spans import Line, Span, cells, cut
from oulipoly_tui.view.transcript.transcript import TranscriptLine, mark_matches
from oulipoly_tui.widgets.lines import Lines, VirtualList
from oulipoly_tui.widgets.places.layout import WAITING, PlacesLayout, Position
from oulipoly_tui.widgets.standing import is_standing

_STRIPS_KEPT = 400
_WHEEL = 3  # lines
_GUTTER = 2
_CURSOR, _NO_CURSOR = "❯ ", "  "  # noqa: RUF001 - as in every list


class PlacesView(Lines, can_focus=True):
    """Shows the lines of places, follows their end, and has a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = list(VirtualList.BINDINGS)
    COMPONENT_CLASSES: ClassVar[set[str]] = {"places--cursor"}
    DEFAULT_CSS = """
    PlacesView { overflow: hidden; }
    PlacesView > .places--cursor { background: $cursor; text-style: $cursor-style; }
    """

    class Moved(Message):
        """The view stands elsewhere, or is at the end now."""

    def __init__(self, laid: PlacesLayout, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.is_following = True
        self._laid = laid
        self._pattern: re.Pattern[str] | None = None
        self._strips: dict[tuple[int, int, bool, bool], Strip] = {}  # by place, line, cursor and thumb
        self._top = (0, 0)  # place and line that are drawn first
        self._row = 0  # of the cursor on the screen
        self._width = 0  # that the lines were laid out for
        self._from_below = False  # the top came into view from below
        self._view: list[tuple[int, int, TranscriptLine]] | None = None

    @property
    def length(self) -> int:
        """Return how many places there are."""
        return self._laid.length

    @property
    def drawn(self) -> int:
        """Return how many lines were laid out, for whoever counts work."""
        return self._laid.drawn

    # ---- what is shown

    @property
    def here(self) -> tuple[int, TranscriptLine] | None:
        """Return the place of the cursor and its line."""
        view = self._lines_of_view()
        if not view:
            return None
        place, _, drawn = view[min(self._row, len(view) - 1)]
        return place, drawn

    @property
    def is_at_end(self) -> bool:
        """Tell whether the last line is on the screen."""
        view = self._lines_of_view()
        return not view or self._laid.after(view[-1][:2]) is None

    # ---- moving

    def go_to(self, place: int, text: str = "") -> None:
        """Put a place at the top and the cursor on it; with a text, on the line that holds it, unfolded."""
        self.is_following = False
        self._from_below = False
        if text:
            self._pattern = re.compile(re.escape(text), re.IGNORECASE)
            self._strips.clear()
            self._laid.unfold_for(place, text)
            self._drop(place)
        line = 0
        lines = self._laid.lines_at(place)
        if text and self._pattern is not None:
            pattern = self._pattern
            line = next((at for at, item in enumerate(lines) if pattern.search("".join(t for t, _ in item.line))), 0)
        elif len(lines) > 1 and not lines[0].line:
            line = 1  # the blank line before a heading
        top: tuple[int, int] | None = (place, line)
        row = 0
        for _ in range(min(2, max(0, self.size.height // 4))):  # a little of what came before
            above = None if top is None else self._laid.before(top)
            if above is None:
                break
            top, row = above, row + 1
        self._row = row
        self._set_top(top or (place, line))
        self._row = row
        self._end_is_top_most()

    def scroll_lines(self, by: int) -> None:
        """Move the view by so many lines."""
        self._scroll(by)
        self.refresh()

    def _scroll(self, by: int) -> int:
        """Move the view, and leave it to be drawn; return by how many lines it did."""
        top, moved = self._top, 0
        self._from_below = by < 0
        for _ in range(abs(by)):
            following = self._laid.after(top) if by > 0 else self._laid.before(top)
            if following is None:
                break
            top, moved = following, moved + 1
        if by > 0:
            limit = self._laid.end_top(self.size.height)
            top = min(top, limit)
        else:
            self.is_following = False
        self._top, self._view = top, None
        self.is_following = self.is_at_end and by >= 0
        return moved

    def action_down(self) -> None:
        """Move down."""
        view = self._lines_of_view()
        if self._row < len(view) - 1:
            self._put_cursor(self._row + 1)
        else:
            self._scroll(1)
            self.paint_all()
        self._tell()

    def action_up(self) -> None:
        """Move up."""
        if self._row > 0:
            self.is_following = False
            self._put_cursor(self._row - 1)
        else:
            self._scroll(-1)
            self.paint_all()
        self._tell()

    def action_half_down(self) -> None:
        """Move down half a page."""
        self._jump(max(1, self.size.height // 2))

    def action_half_up(self) -> None:
        """Move up half a page."""
        self._jump(-max(1, self.size.height // 2))

    def action_first(self) -> None:
        """Go to the beginning."""
        self.is_following = self._from_below = False
        self._row = 0
        self._set_top((0, 0))
        self._tell()

    def action_last(self) -> None:
        """Go to the end, and stay there as it grows."""
        self.is_following = True
        self._to_end()
        self._tell()

    def action_choose(self) -> None:
        """Unfold what is under the cursor, or fold it."""
        self.toggle()

    # ---- folding

    def toggle(self) -> bool:
        """Unfold the part under the cursor, or fold it; return whether there is one."""
        found = self.here
        if found is None or not self._laid.toggle(found[0], found[1].part):
            return False
        self._relay(found[0], found[1].part)
        return True

    def toggle_all(self) -> None:
        """Unfold everything, or fold it again."""
        self._laid.toggle_all()
        place = self._top[0]
        self._forget()
        self._set_top((place, 0))
        if self.is_following:
            self._to_end()

    @property
    def unfolds_all(self) -> bool:
        """Tell whether everything is unfolded."""
        return self._laid.unfolds_all

    # ---- drawing

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen."""
        width = self.size.width
        view = self._lines_of_view()
        if y >= len(view):
            return Strip.blank(width, self.base_style)
        place, line, drawn = view[y]
        is_cursor = y == min(self._row, len(view) - 1) and self.has_focus
        has_thumb = y == self._thumb(len(view))
        found = self._strips.get((place, line, is_cursor, has_thumb))
        if found is not None and found.cell_length == width:
            return found
        base = self.base_style
        under = base + self.get_component_rich_style("places--cursor") if is_cursor else base
        mark: Span = (_CURSOR, "accent") if is_cursor else (_NO_CURSOR, "")
        spans = (mark, *mark_matches(drawn.line, self._pattern))
        thumb = Segment("┃" if has_thumb else " ", self.style_of("dim", base))
        found = Strip([*self._strip(spans, max(0, width - 1), under), thumb], width)
        if len(self._strips) >= _STRIPS_KEPT:
            self._strips.clear()
        if drawn is not WAITING[0]:
            self._strips[place, line, is_cursor, has_thumb] = found
        return found

    def on_mount(self) -> None:
        """Know our size."""
        self._measure()

    def on_resize(self, _event: events.Resize) -> None:
        """Lay out anew for another width; for another height, as when the find line closes, the lines are the same."""
        before, self._width = self._width, self.size.width
        self._measure()
        if before != self._width:
            self._laid.fit(self._width - 1 - _GUTTER)
            self._forget()
        if self.is_following:
            self._to_end()
        elif before == self._width:
            self._redraw()
            self._end_is_top_most()
        else:
            self._set_top((self._top[0], 0))

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Hide it."""
        self.refresh()

    def notify_style_update(self) -> None:
        """Draw anew in other colours."""
        self._strips.clear()
        super().notify_style_update()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move down."""
        event.stop()
        self.scroll_lines(_WHEEL)
        self._tell()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move up."""
        event.stop()
        self.scroll_lines(-_WHEEL)
        self._tell()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is; a second click unfolds; at the edge it goes to that share of all."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.x >= self.size.width - 1 and self.length:
            self.go_to(min(self.length - 1, offset.y * self.length // max(1, self.size.height)))
        else:
            self._put_cursor(min(offset.y, max(0, len(self._lines_of_view()) - 1)))
            if event.chain > 1:
                self.toggle()
        self._tell()

    # ---- parts

    def _count(self) -> int:
        return self.size.height

    def _strip(self, line: Line, width: int, base: Style) -> Strip:
        segments, left = [], width
        for text, tone in line:
            fitting = cut(text, left)
            left -= cells(fitting)
            segments.append(Segment(fitting, self.style_of(tone, base)))
            if left <= 0:
                break
        if left > 0:
            segments.append(Segment(" " * left, base))
        return Strip(segments, width)

    def _measure(self) -> None:
        self.virtual_size = Size(self.size.width, self.size.height)

    def _lines_of_view(self) -> list[tuple[int, int, TranscriptLine]]:
        if self._view is None:
            self._view = list(self._laid.walk(self._top, self.size.height))
            self.call_after_refresh(self._look_ahead)  # the reader would keep the screen waiting
        return self._view

    def look_ahead(self) -> None:
        """Have what lies beside the screen ready before it is scrolled to."""

    def _look_ahead(self) -> None:
        if is_standing(self):
            self.look_ahead()

    def _end_is_top_most(self) -> None:
        """Leave no empty lines below the end where there is more above."""
        limit = self._laid.end_top(self.size.height)
        if self._top > limit:
            view = self._lines_of_view()
            position = view[min(self._row, len(view) - 1)][:2] if view else None
            self._set_top(limit)
            self._row = next((row for row, item in enumerate(self._lines_of_view()) if item[:2] == position), self._row)

    def _to_end(self) -> None:
        self._from_below = True
        self._set_top(self._laid.end_top(self.size.height))
        self._row = max(0, len(self._lines_of_view()) - 1)

    def _follow(self) -> None:
        """Go to the end, and paint at once what is new on the screen: who follows waits for just that."""
        before, row = self._view, self._row
        self._from_below = True
        self._top, self._view = self._laid.end_top(self.size.height), None
        view = self._lines_of_view()
        self._row = max(0, len(view) - 1)
        rows = {y for y, (old, new) in enumerate(zip_longest(before or (), view)) if old != new}
        rows |= {row, self._row} if row != self._row else set()
        if before is None or len(rows) * 2 > self.size.height:
            self.paint_all()
        else:
            self.paint_rows(*sorted(rows))

    def _put_cursor(self, row: int) -> None:
        """Draw the line that the cursor leaves and the one that it comes to."""
        before, self._row = self._row, row
        self.paint_rows(before, row)

    def _set_top(self, top: Position) -> None:
        self._top = top
        self._redraw()

    def _redraw(self) -> None:
        self._view = None
        self.refresh()

    def _forget(self) -> None:
        self._laid.forget()
        self._strips.clear()
        self._view = None

    def _drop(self, place: int) -> None:
        self._laid.drop(place)
        for drawn in [drawn for drawn in self._strips if drawn[0] == place]:
            del self._strips[drawn]

    def _relay(self, place: int, part: int) -> None:
        """Lay a place out again and keep the cursor on its part."""
        self._drop(place)
        self.is_following = False
        lines = self._laid.lines_at(place)
        if self._top[0] == place:
            self._top = (place, min(self._top[1], max(0, len(lines) - 1)))
        self._redraw()
        head = next((at for at, item in enumerate(lines) if item.part == part), 0)
        rows = [row for row, item in enumerate(self._lines_of_view()) if (item[0], item[1]) == (place, head)]
        if rows:
            self._row = rows[0]
        elif self._top[0] == place and self._top[1] > head:
            self._set_top((place, head))
            self._row = 0

    def _jump(self, by: int) -> None:
        moved = self._scroll(by)
        view = self._lines_of_view()
        if moved < abs(by):
            self._row = len(view) - 1 if by > 0 else 0
        elif by > 0 and self.is_at_end:
            self._row = min(len(view) - 1, self._row + by)
        self._row = max(0, min(self._row, len(view) - 1))
        self.paint_all()
        self._tell()

    def _thumb(self, height: int) -> int:
        if self.length <= 1 or height <= 1:
            return -1
        if self.is_following:
            return height - 1
        return min(height - 1, self._top[0] * height // self.length)

    def _tell(self) -> None:
        self.post_message(self.Moved())

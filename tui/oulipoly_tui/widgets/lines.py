"""Lines of toned text on the screen, and a list of any length made of them: constant cost, whatever the length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_tui.actions.action import LISTS
from oulipoly_tui.keys.keymap import TABLE
from oulipoly_tui.view.transcript.spans import Line, Row, Tone, cells, cut
from oulipoly_tui.widgets.painting import paint_at_once

GUTTER = 2  # columns before each row of a list, for the cursor
_CURSOR, _NO_CURSOR = "> ", "  "
_STRIPS_KEPT = 200


class Lines(ScrollView, can_focus=False):
    """Shows lines; scrolls where there are more than fit."""

    DEFAULT_CSS = """
    Lines { scrollbar-size-vertical: 1; overflow-x: hidden; background: transparent; }
    Lines > .tone--dim { color: $foreground-muted; }
    Lines:ansi > .tone--dim { text-style: dim; }
    Lines > .tone--good { color: $text-success; }
    Lines > .tone--warn { color: $text-warning; }
    Lines > .tone--bad { color: $text-error; text-style: bold; }
    Lines > .tone--accent { color: $text-accent; text-style: bold; }
    Lines > .tone--strong { text-style: bold; }
    Lines > .tone--heading { color: $text-primary; text-style: bold; }
    Lines > .tone--key { color: $text-accent; text-style: bold; }
    Lines > .tone--keyword { color: $text-accent; }
    Lines > .tone--string { color: $text-success; }
    """

    def __init__(self, lines: Sequence[Line] = (), *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: Sequence[Line] = lines
        self._base: Style | None = None  # while lines are drawn
        self._tones: dict[Tone, Style] = {}  # that were drawn since the last change of styles

    @property
    def lines(self) -> Sequence[Line]:
        """Return what is shown."""
        return self._lines

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show other lines, from where the view was scrolled to."""
        if lines == self._lines:
            return
        self._lines = lines
        self._measure()
        self.refresh()

    def on_mount(self) -> None:
        """Say how long we are."""
        self._measure()

    def on_resize(self, _event: events.Resize) -> None:
        """Say how wide we are."""
        self._measure()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw lines; what they have in common is asked of the style sheet once, for it takes as long as a line."""
        self._base = self.rich_style
        try:
            return super().render_lines(crop)
        finally:
            self._base = None

    @property
    def base_style(self) -> Style:
        """Return our own style."""
        return self.rich_style if self._base is None else self._base

    def render_line(self, y: int) -> Strip:
        """Draw one line of the view."""
        return self._draw(y + self.scroll_offset.y, self.size.width)

    def paint_rows(self, *rows: int) -> None:
        """Draw rows of the screen anew, at once where that can be done: what a key has moved is what is waited for."""
        width, height = self.scrollable_content_region.size
        self._paint([Region(0, y, width, 1) for y in rows if 0 <= y < height])

    def paint_all(self) -> None:
        """Draw every row of the screen anew, at once where that can be done."""
        self._paint([self.scrollable_content_region.size.region])

    def _paint(self, shown: list[Region]) -> None:
        if shown and not paint_at_once(self, shown):
            self.refresh(*shown)

    def _count(self) -> int:
        return len(self._lines)

    def _measure(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, self._count())

    def _draw(self, place: int, width: int) -> Strip:
        if place >= len(self._lines):
            return Strip.blank(width, self.base_style)
        return self._strip(self._lines[place], width, self.base_style)

    def style_of(self, tone: Tone, base: Style) -> Style:
        """Return how a tone looks over a style of ours. Dimmed on a reversed row would be its ground on its ground."""
        if not tone or (tone == "dim" and base.reverse):
            return base
        style = self._tones.get(tone)
        if style is None:
            style = self._ask_style_sheet(tone)
            self._tones[tone] = style
        return base + style

    def _ask_style_sheet(self, tone: Tone) -> Style:
        """Return a tone's rules, asked for when it is drawn.

        Component classes are asked for with each change of styles, ten for each widget: a fifth of an app's start.
        """
        node = DOMNode(classes=f"tone--{tone}")
        node._attach(self)
        self.app.stylesheet.apply(node)
        return node.styles.partial_rich_style

    def notify_style_update(self) -> None:
        """Have the tones asked for anew: the theme may be another one."""
        self._tones.clear()
        super().notify_style_update()

    def _strip(self, line: Line, width: int, base: Style) -> Strip:
        segments = []
        left = width
        for raw, tone in line:
            text = visible_line(raw)
            width_used = cells(text)
            if width_used > left:
                text = cut(text, left)
                width_used = cells(text)
            left -= width_used
            segments.append(Segment(text, self.style_of(tone, base)))
            if left <= 0:
                break
        if left > 0:
            segments.append(Segment(" " * left, base))
        return Strip(segments, width)


class VirtualList(Lines, can_focus=True):
    """A list with a cursor. Rows may be any sequence: only the visible ones are asked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(row.keys, row.method, row.label, show=False, tooltip=row.description, id=row.id)
        for row in TABLE
        if row.where == LISTS
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"list--cursor", "list--cursor-blurred"}
    DEFAULT_CSS = """
    VirtualList > .list--cursor { background: $cursor; text-style: $cursor-style; }
    VirtualList > .list--cursor-blurred { background: $surface; }
    """

    class Highlighted(Message):
        """The cursor is on another row."""

        def __init__(self, origin: VirtualList, key: str | None) -> None:
            self.origin = origin
            self.key = key
            super().__init__()

        @property
        def control(self) -> VirtualList:
            """Return the list."""
            return self.origin

    class Chosen(Message):
        """Enter, or a second click."""

        def __init__(self, origin: VirtualList, key: str) -> None:
            self.origin = origin
            self.key = key
            super().__init__()

        @property
        def control(self) -> VirtualList:
            """Return the list."""
            return self.origin

    class Fitted(Message):
        """The list has another size than before: rows that were made for one are to be made anew."""

        def __init__(self, origin: VirtualList) -> None:
            self.origin = origin
            super().__init__()

        @property
        def control(self) -> VirtualList:
            """Return the list."""
            return self.origin

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._told_size = Size()
        self._rows: Sequence[Row] = ()
        self._cursor = 0
        self._key: str | None = None
        self._strips: dict[int, Strip] = {}  # of the rows without the cursor, by place
        self._drawn_as: tuple[int, Style] | None = None  # their width and style
        self._is_on_row = False  # the mouse went down on one

    @property
    def rows(self) -> Sequence[Row]:
        """Return what is listed."""
        return self._rows

    @property
    def cursor_key(self) -> str | None:
        """Return the key of the row under the cursor; None in an empty list."""
        return self._key

    @property
    def cursor_line(self) -> Line:
        """Return the row under the cursor as it is drawn; nothing in an empty list."""
        return () if self._key is None else self._rows[self._cursor].line

    def show_rows(self, rows: Sequence[Row]) -> None:
        """List other rows; the cursor stays on its key, or near its place where that is gone."""
        if rows == self._rows:
            return
        self._rows = rows
        self._strips.clear()
        self._measure()
        before = self._key
        self._land(self._place_of(before), 1, scroll=False)
        if self._key != before:  # else the wheel may have gone elsewhere on purpose
            self.call_after_refresh(self._scroll_into_view)
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Say how wide we are, and keep the cursor in view."""
        super().on_resize(event)
        self._scroll_into_view()
        if event.size != self._told_size:
            self._told_size = event.size
            self.post_message(self.Fitted(self))

    def go_to(self, key: str) -> bool:
        """Put the cursor on a row; return whether there is such a one."""
        place = self._place_of(key)
        if place < len(self._rows) and self._rows[place].key == key:
            self._land(place, 1)
            return True
        return False

    def step_to(self, fits: Callable[[str], bool], step: int) -> bool:
        """Put the cursor on the next row whose key fits, round the end; return whether there is one."""
        count = len(self._rows)
        places = ((self._cursor + step * far) % count for far in range(1, count + 1))
        place = next((one for one in places if fits(self._rows[one].key)), None)
        if place is not None:
            self._land(place, step)
        return place is not None

    def action_down(self) -> None:
        """Move down."""
        self._land(self._cursor + 1, 1)

    def action_up(self) -> None:
        """Move up."""
        if all(not self._rows[place].is_selectable for place in range(min(self._cursor, len(self._rows)))):
            self.scroll_to(y=0, animate=False)  # the headings above the first row can be seen again
        self._land(self._cursor - 1, -1)

    def action_half_down(self) -> None:
        """Move down half a page."""
        self._land(self._cursor + max(1, self.size.height // 2), 1)

    def action_half_up(self) -> None:
        """Move up half a page."""
        self._land(self._cursor - max(1, self.size.height // 2), -1)

    def action_first(self) -> None:
        """Move to the first row."""
        self.scroll_to(y=0, animate=False)
        self._land(0, 1)

    def action_last(self) -> None:
        """Move to the last row."""
        self._land(len(self._rows) - 1, -1)

    def action_choose(self) -> None:
        """Open the row."""
        if self._key is not None:
            self.post_message(self.Chosen(self, self._key))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Put the cursor on the row that was there when the button went down: keys that move here may move the list."""
        place = event.get_content_offset_capture(self).y + self.scroll_offset.y
        self._is_on_row = 0 <= place < len(self._rows) and self._rows[place].is_selectable
        if self._is_on_row:
            self._land(place, 1)

    def on_click(self, event: events.Click) -> None:
        """Open the row on a second click."""
        if event.chain > 1 and self._is_on_row:
            self.action_choose()

    def _count(self) -> int:
        return len(self._rows)

    def _draw(self, place: int, width: int) -> Strip:
        base = self.base_style
        if place >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[place]
        is_cursor = place == self._cursor and row.is_selectable
        if not is_cursor:
            return self._plain_strip(place, row, width, base)
        base += self.get_component_rich_style("list--cursor" if self.has_focus else "list--cursor-blurred")
        return self._strip(((_CURSOR, "accent"), *row.line), width, base)

    def _plain_strip(self, place: int, row: Row, width: int, base: Style) -> Strip:
        """Draw a row without the cursor, or take it as it was: scrolling draws all but one of them again."""
        if self._drawn_as != (width, base) or len(self._strips) > _STRIPS_KEPT:
            self._strips.clear()
            self._drawn_as = (width, base)
        strip = self._strips.get(place)
        if strip is None:
            strip = self._strips[place] = self._strip(((_NO_CURSOR, ""), *row.line), width, base)
        return strip

    def notify_style_update(self) -> None:
        """Draw anew in other colours."""
        self._strips.clear()
        super().notify_style_update()

    def _place_of(self, key: str | None) -> int:
        if key is None:
            return 0
        if self._cursor < len(self._rows) and self._rows[self._cursor].key == key:
            return self._cursor
        finder = getattr(self._rows, "place_of", None)  # who has ten thousand rows knows where each stands
        if finder is not None:
            place = finder(key)
            return self._cursor if place is None else int(place)
        return next((place for place, row in enumerate(self._rows) if row.key == key), self._cursor)

    def _land(self, place: int, step: int, *, scroll: bool = True) -> None:
        """Put the cursor on the nearest row that can be selected, looking in the direction of the step first."""
        if not self._rows:
            self._set(0, None)
            return
        place = max(0, min(place, len(self._rows) - 1))
        place_found = self._selectable(place, step)
        if place_found is None:
            place_found = self._selectable(place, -step)
        if place_found is None:
            self._set(0, None)
            return
        before = self._cursor
        self._set(place_found, self._rows[place_found].key)
        if scroll and self._scroll_into_view():
            self.paint_all()
        elif place_found != before:
            top = self.scroll_offset.y
            self.paint_rows(before - top, place_found - top)

    def _selectable(self, place: int, step: int) -> int | None:
        while 0 <= place < len(self._rows):
            if self._rows[place].is_selectable:
                return place
            place += step
        return None

    def _scroll_into_view(self) -> bool:
        """Scroll to the cursor; return whether the view stands elsewhere now."""
        place = self._cursor
        top, height = self.scroll_offset.y, max(1, self.scrollable_content_region.height)
        if place < top:
            self.scroll_to(y=place, animate=False, force=True)
        elif place >= top + height:
            self.scroll_to(y=place - height + 1, animate=False, force=True)
        return self.scroll_offset.y != top

    def _set(self, place: int, key: str | None) -> None:
        self._cursor = place
        if key != self._key:
            self._key = key
            self.post_message(self.Highlighted(self, key))

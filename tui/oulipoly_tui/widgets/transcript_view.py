"""A conversation of any length: pages of it come when they are looked at, lines are made when they are drawn.

Where the view stands is a place and a line of it, never a count of lines from the top: so nothing but what is on the
screen is ever measured.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from oulipoly_tui.keymap import TABLE
from oulipoly_tui.keys.key import LISTS
from oulipoly_tui.view.spans import Line, cells, cut
from oulipoly_tui.view.transcript import Drawn, Folds, entry_lines, foldable, marked, part_with
from oulipoly_tui.widgets.lines import Lines

if TYPE_CHECKING:
    from oulipoly_engine.engine_sessions import Entry

PAGE = 32  # places
_PAGES_KEPT = 80
_LAID_KEPT = 3_000  # places
_STRIPS_KEPT = 1_000  # places
_WHEEL = 3  # lines
_WAITING = (Drawn((("…", "dim"),)),)
_GUTTER = 2
_CURSOR, _NO_CURSOR = "❯ ", "  "  # noqa: RUF001 - as in every list


class TranscriptView(Lines, can_focus=True):
    """Shows pages that are given to it, and asks for those that are missing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(row.keys, row.action, row.label, show=False, tooltip=row.tooltip, id=row.id)
        for row in TABLE
        if row.where == LISTS
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"transcript--cursor"}
    DEFAULT_CSS = """
    TranscriptView { overflow: hidden; }
    TranscriptView > .transcript--cursor { background: $primary-muted; }
    """

    class Moved(Message):
        """The view stands elsewhere, or is at the end now."""

    def __init__(self, need: Callable[[int, int], None], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._need = need  # asks for a page by its number; the second one tells the questions apart
        self.length = 0
        self.is_following = True
        self._folds = Folds()
        self._opened: set[tuple[int, int]] = set()
        self._pattern: re.Pattern[str] | None = None
        self._pages: OrderedDict[int, tuple[Entry, ...]] = OrderedDict()
        self._asked: dict[int, int] = {}
        self._questions = 0
        self._laid: OrderedDict[int, tuple[Drawn, ...]] = OrderedDict()
        self._strips: OrderedDict[int, dict[tuple[int, bool], Strip]] = OrderedDict()  # by place
        self._styles: dict[str, Style] = {}  # by tone; asking the style sheet for each word takes its time
        self._top = (0, 0)  # place and line that are drawn first
        self._row = 0  # of the cursor on the screen
        self._from_below = False  # the top came into view from below
        self._view: list[tuple[int, int, Drawn]] | None = None
        self.drawn = 0  # lines that were laid out, for whoever counts work

    # ---- what is shown

    def begin(self, length: int, *, is_side: bool = False) -> None:
        """Show another conversation, from its end."""
        self.length = length
        self._opened = set()
        self._folds = Folds(self._opened, is_side=is_side)
        self._pages.clear()
        self._asked.clear()
        self._pattern = None
        self._forget()
        self.is_following = True
        self._to_end()

    def give(self, number: int, question: int, entries: tuple[Entry, ...]) -> None:
        """Take a page; an answer that a later question has overtaken is left."""
        if self._asked.get(number) != question:
            return
        self.put(number, entries)

    def put(self, number: int, entries: tuple[Entry, ...]) -> None:
        """Take a page that was asked for elsewhere."""
        self._asked.pop(number, None)
        before = self._pages.get(number)
        waited_for_top = self._top[0] // PAGE == number and before is None
        self._pages[number] = entries
        self._pages.move_to_end(number)
        while len(self._pages) > _PAGES_KEPT:
            self._pages.popitem(last=False)
        kept = before or ()
        for place, entry in enumerate(entries):
            if place >= len(kept) or kept[place] != entry:
                self._drop(number * PAGE + place)
        if self.is_following:
            self._to_end()
        elif waited_for_top and self._from_below:
            self._set_top((self._top[0], max(0, len(self._lines_at(self._top[0])) - 1)))
        else:
            self._redraw()

    def grew(self, length: int, first_changed: int, entries: tuple[Entry, ...] = ()) -> None:
        """Take note of new places, whose entries may come with them; else pages are asked for again."""
        self.length = length
        if entries and self._join(first_changed, entries):
            if self.is_following:
                self._to_end()
            return
        for number in [number for number in self._pages if (number + 1) * PAGE > first_changed]:
            self._renew(number, first_changed)
        if self.is_following:
            self._to_end()
        else:
            self._redraw()

    def restart(self, length: int) -> None:
        """Take note that nothing is as it was."""
        self._pages.clear()
        self._asked.clear()
        self.length = length
        self._forget()
        self._to_end() if self.is_following else self._set_top((min(self._top[0], max(0, length - 1)), 0))

    def entry(self, place: int) -> Entry | None:
        """Return what stands at a place, None while it has not come."""
        page = self._pages.get(place // PAGE)
        index = place % PAGE
        if page is None or index >= len(page):
            return None
        return page[index]

    @property
    def here(self) -> tuple[int, Drawn] | None:
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
        return not view or self._after(view[-1][0], view[-1][1]) is None

    # ---- moving

    def go_to(self, place: int, text: str = "") -> None:
        """Put a place at the top and the cursor on it; with a text, on the line that holds it, unfolded."""
        self.is_following = False
        self._from_below = False
        if text:
            self._pattern = re.compile(re.escape(text), re.IGNORECASE)
            self._strips.clear()
            self._unfold_for(place, text)
        line = 0
        lines = self._lines_at(place)
        if text and self._pattern is not None:
            pattern = self._pattern
            line = next((at for at, one in enumerate(lines) if pattern.search("".join(t for t, _ in one.line))), 0)
        elif len(lines) > 1 and not lines[0].line:
            line = 1  # the blank line before a heading
        top: tuple[int, int] | None = (place, line)
        row = 0
        for _ in range(min(2, max(0, self.size.height // 4))):  # a little of what came before
            above = self._before(*top) if top is not None else None
            if above is None:
                break
            top, row = above, row + 1
        self._row = row
        self._set_top(top or (place, line))
        self._row = row
        self._end_is_top_most()

    def scroll_lines(self, by: int) -> int:
        """Move the view by so many lines; return by how many it did."""
        top, moved = self._top, 0
        self._from_below = by < 0
        for _ in range(abs(by)):
            following = self._after(*top) if by > 0 else self._before(*top)
            if following is None:
                break
            top, moved = following, moved + 1
        if by > 0:
            limit = self._end_top()
            top = min(top, limit)
        else:
            self.is_following = False
        self._set_top(top)
        self.is_following = self.is_at_end and by >= 0
        return moved

    def action_down(self) -> None:
        """Move down."""
        view = self._lines_of_view()
        if self._row < len(view) - 1:
            self._row += 1
            self.refresh()
        else:
            self.scroll_lines(1)
        self._tell()

    def action_up(self) -> None:
        """Move up."""
        if self._row > 0:
            self._row -= 1
            self.is_following = False
            self.refresh()
        else:
            self.scroll_lines(-1)
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
        entry = None if found is None else self.entry(found[0])
        if found is None or entry is None or not foldable(entry, found[1].part):
            return False
        key = (found[0], found[1].part)
        self._opened ^= {key}
        self._relay(found[0], found[1].part)
        return True

    def toggle_all(self) -> None:
        """Unfold everything, or fold it again."""
        self._opened.clear()
        self._folds = self._folds._replace(is_all=not self._folds.is_all)
        place = self._top[0]
        self._forget()
        self._set_top((place, 0))
        if self.is_following:
            self._to_end()

    @property
    def unfolds_all(self) -> bool:
        """Tell whether everything is unfolded."""
        return self._folds.is_all

    # ---- drawing

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen."""
        width = self.size.width
        view = self._lines_of_view()
        if y >= len(view):
            return Strip.blank(width, self.rich_style)
        place, line, drawn = view[y]
        is_cursor = y == min(self._row, len(view) - 1) and self.has_focus
        strips = self._strips.setdefault(place, {})
        found = strips.get((line, is_cursor))
        if found is None:
            base = self.rich_style
            if is_cursor:
                base += self.get_component_rich_style("transcript--cursor")
            spans = marked(drawn.line, self._pattern)
            mark = _CURSOR if is_cursor else _NO_CURSOR
            found = self._strip(((mark, "accent" if is_cursor else ""), *spans), max(0, width - 1), base)
            if len(self._strips) > _STRIPS_KEPT:
                self._strips.popitem(last=False)
            if drawn is not _WAITING[0]:
                strips[line, is_cursor] = found
        thumb = "┃" if y == self._thumb(len(view)) else " "
        return Strip([*found, Segment(thumb, self.rich_style + self._style("dim"))], width)

    def on_mount(self) -> None:
        """Know our size."""
        self._measure()

    def on_resize(self, _event: events.Resize) -> None:
        """Lay out anew for another width."""
        self._measure()
        self._forget()
        if self.is_following:
            self._to_end()
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
        self._styles.clear()
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
            self._row = min(offset.y, max(0, len(self._lines_of_view()) - 1))
            self.refresh()
            if event.chain > 1:
                self.toggle()
        self._tell()

    # ---- parts

    def _count(self) -> int:
        return self.size.height

    def _strip(self, line: Line, width: int, base: Style) -> Strip:
        segments, left = [], width
        for text, tone in line:
            shown = cut(text, left)
            left -= cells(shown)
            segments.append(Segment(shown, base + self._style(tone) if tone else base))
            if left <= 0:
                break
        if left > 0:
            segments.append(Segment(" " * left, base))
        return Strip(segments, width)

    def _style(self, tone: str) -> Style:
        found = self._styles.get(tone)
        if found is None:
            found = self._styles[tone] = self.get_component_rich_style(f"tone--{tone}", partial=True)
        return found

    def _measure(self) -> None:
        self.virtual_size = Size(self.size.width, self.size.height)

    def _lines_at(self, place: int) -> tuple[Drawn, ...]:
        found = self._laid.get(place)
        if found is not None:
            return found
        entry = self.entry(place)
        if entry is None:
            self._ask(place // PAGE)
            return _WAITING
        width = max(12, self.size.width - 1 - _GUTTER)
        found = self._laid[place] = entry_lines(entry, width, self._folds)
        self.drawn += len(found)
        if len(self._laid) > _LAID_KEPT:
            self._laid.popitem(last=False)
        return found

    def _ask(self, number: int) -> None:
        if 0 <= number * PAGE < self.length and number not in self._asked:
            self._questions += 1
            self._asked[number] = self._questions
            self._need(number, self._questions)

    def _after(self, place: int, line: int) -> tuple[int, int] | None:
        if line + 1 < len(self._lines_at(place)):
            return place, line + 1
        for following in range(place + 1, self.length):
            if self._lines_at(following):
                return following, 0
        return None

    def _before(self, place: int, line: int) -> tuple[int, int] | None:
        if line > 0:
            return place, line - 1
        for above in range(place - 1, -1, -1):
            lines = self._lines_at(above)
            if lines:
                return above, len(lines) - 1
        return None

    def _lines_of_view(self) -> list[tuple[int, int, Drawn]]:
        if self._view is None:
            self._view = list(self._walk(self.size.height))
            self._look_ahead()
        return self._view

    def _walk(self, count: int) -> Iterator[tuple[int, int, Drawn]]:
        place, line = self._top
        while count > 0 and place < self.length:
            lines = self._lines_at(place)
            for at in range(min(line, len(lines)), len(lines)):
                yield place, at, lines[at]
                count -= 1
                if count == 0:
                    return
            place, line = place + 1, 0

    def _look_ahead(self) -> None:
        """Ask for the pages beside those on the screen, so that they are there when they are scrolled to."""
        view = self._view
        first, last = (view[0][0], view[-1][0]) if view else (self._top[0], self._top[0])
        for number in (first // PAGE - 1, last // PAGE + 1):
            if number >= 0 and number not in self._pages:
                self._ask(number)

    def _end_top(self) -> tuple[int, int]:
        """Return where the view stands when the last line is at the bottom."""
        at: tuple[int, int] | None = self._before(self.length, 0) if self.length else None
        if at is None:
            return 0, 0
        for _ in range(self.size.height - 1):
            above = self._before(*at)
            if above is None:
                return 0, 0
            at = above
        return at

    def _end_is_top_most(self) -> None:
        """Leave no empty lines below the end where there is more above."""
        limit = self._end_top()
        if self._top > limit:
            wanted = self.here
            self._set_top(limit)
            if wanted is not None:
                rows = [
                    row for row, one in enumerate(self._lines_of_view()) if one[0] == wanted[0] and one[2] is wanted[1]
                ]
                self._row = rows[0] if rows else self._row

    def _to_end(self) -> None:
        self._from_below = True
        self._set_top(self._end_top())
        self._row = max(0, len(self._lines_of_view()) - 1)

    def _set_top(self, top: tuple[int, int]) -> None:
        self._top = top
        self._redraw()

    def _redraw(self) -> None:
        self._view = None
        self.refresh()

    def _forget(self) -> None:
        self._laid.clear()
        self._strips.clear()
        self._view = None

    def _renew(self, number: int, first_changed: int) -> None:
        """Keep what a page has of old places until the new page comes."""
        kept = self._pages[number][: max(0, first_changed - number * PAGE)]
        self._pages[number] = kept
        for place in range(first_changed, (number + 1) * PAGE):
            self._drop(place)
        self._asked.pop(number, None)
        self._ask(number)

    def _join(self, first: int, entries: tuple[Entry, ...]) -> bool:
        """Put new entries behind what is there; return whether all that is before them in their page is."""
        number, index = divmod(first, PAGE)
        known = self._pages.get(number, ()) if index else ()
        if len(known) < index:
            return False
        joined = [*known[:index], *entries]
        for place in range(first, first + len(entries)):
            self._drop(place)
        for at in range(0, len(joined), PAGE):
            self._asked.pop(number + at // PAGE, None)
            self._pages[number + at // PAGE] = tuple(joined[at : at + PAGE])
        return True

    def _drop(self, place: int) -> None:
        self._laid.pop(place, None)
        self._strips.pop(place, None)

    def _relay(self, place: int, part: int) -> None:
        """Lay a place out again and keep the cursor on its part."""
        self._drop(place)
        self.is_following = False
        lines = self._lines_at(place)
        if self._top[0] == place:
            self._top = (place, min(self._top[1], max(0, len(lines) - 1)))
        self._redraw()
        head = next((at for at, one in enumerate(lines) if one.part == part), 0)
        rows = [row for row, one in enumerate(self._lines_of_view()) if (one[0], one[1]) == (place, head)]
        if rows:
            self._row = rows[0]
        elif self._top[0] == place and self._top[1] > head:
            self._set_top((place, head))
            self._row = 0

    def _unfold_for(self, place: int, text: str) -> None:
        entry = self.entry(place)
        part = None if entry is None else part_with(entry.turn, text)
        if entry is None or part is None:
            return
        if entry.turn is not None and entry.turn.is_sidechain and not self._folds.is_open(place, -2):
            self._opened ^= {(place, -2)}
        if foldable(entry, part) and not self._folds.is_open(place, part):
            self._opened ^= {(place, part)}
        self._drop(place)

    def _jump(self, by: int) -> None:
        moved = self.scroll_lines(by)
        view = self._lines_of_view()
        if moved < abs(by):
            self._row = len(view) - 1 if by > 0 else 0
        elif by > 0 and self.is_at_end:
            self._row = min(len(view) - 1, self._row + by)
        self._row = max(0, min(self._row, len(view) - 1))
        self._tell()

    def _thumb(self, height: int) -> int:
        if self.length <= 1 or height <= 1:
            return -1
        if self.is_following:
            return height - 1
        return min(height - 1, self._top[0] * height // self.length)

    def _tell(self) -> None:
        self.post_message(self.Moved())

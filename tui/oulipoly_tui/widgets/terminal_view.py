"""A terminal in a pane: draws the rows that changed, and passes every key and mouse event on but one chord.

The emulated screen lives in the terminal's host; this widget holds strips alone. A picture is acknowledged once it has
been drawn, so the host sends as many as the screen can take and no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.filter import LineFilter
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.screen import Mods
from oulipoly_tui.view.terminal.copy_mode import CopyMode, Spot
from oulipoly_tui.view.terminal.repl import back_from
from oulipoly_tui.view.transcript.spans import cells, cut
from oulipoly_tui.widgets.painting import paint_at_once
from oulipoly_tui.widgets.terminal_keys import is_one_of, key_message
from oulipoly_tui.widgets.terminal_strips import Strips, highlight, line_filters

LEAVE = "ctrl+right_square_bracket"  # ctrl+]

_SCROLL_KEYS = {"shift+pageup": -1, "shift+pagedown": 1}  # by a page, as terminals have it
_NEVER_AT_ONCE = {*_SCROLL_KEYS, "escape"}
_TWICE_S = 0.4  # between two escapes that lead out, where they do
_RESIZE_S = 0.04  # a window that is dragged sends dozens of sizes
_ANSWER_S = 0.5  # for a host to say which lines go on, before what is selected is copied as it was seen
_WHEEL_LINES = 3
_WHEEL_UP, _WHEEL_DOWN = 4, 5
_CURSOR, _RESTING_CURSOR = Style(reverse=True), Style(underline=True, bold=True)
_SELECTED = Style(reverse=True)

Send = Callable[[messages.Message], None]


class TerminalView(Widget, can_focus=True):
    """One attached terminal."""

    DEFAULT_CSS = "TerminalView { width: 1fr; height: 1fr; background: $background; color: $foreground; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = set()

    class Left(Message):
        """The user wants out: by the chord, or by escape pressed twice where that is allowed."""

    class Copied(Message):
        """Text for the clipboard: selected here, or asked for by the child."""

        def __init__(self, view: TerminalView, text: str, *, by_child: bool) -> None:
            self.view, self.text, self.by_child = view, text, by_child
            super().__init__()

    class ModeChanged(Message):
        """Copy mode began, ended or moved, or it is shown how far back we look; the title shows it."""

    class SearchAsked(Message):
        """Copy mode wants a text to search; answer by `search`."""

    class LinkChosen(Message):
        """A link of the child's was clicked with ctrl held."""

        def __init__(self, address: str) -> None:
            self.address = address
            super().__init__()

    def __init__(
        self,
        send: Send,
        *,
        leave: Collection[str] = (LEAVE,),
        escape_leaves: bool = False,
        id: str | None = None,
    ) -> None:
        """Make the widget of one terminal.

        leave: the chords that lead out, as Textual names them. escape_leaves: so does Escape pressed twice in haste.
        """
        super().__init__(id=id)
        self.leave_chords = leave
        self._escape_leaves = escape_leaves
        self._escaped_at = 0.0
        self._send = send
        self._base: Style | None = None
        self._strips = Strips()
        self._history = Strips(self._strips)  # what copy mode shows
        self._cursor: tuple[int, int, bool, str] = (0, 0, False, "block")
        self._copying: CopyMode | None = None
        self._request = 0
        self._wants_copy = False
        self._takes_colours = False  # the host has the program know which colours are ours
        self._colours_sent: messages.Colours | None = None  # what it was told
        self._has_numbers = False  # the host tells which number a line has for good
        self._trimmed = self._oldest = 0  # rows, at the last word and in the picture: added to a line they give it
        self._wants_mouse = self._is_alternate = False
        self._is_attached = self._is_shown = False
        self._pressed_at: tuple[int, int] | None = None
        self._resizing: Timer | None = None
        self._said_size: tuple[int, ...] = (0, 0)  # the last one that the host was given
        self.scrollback = self.above = 0  # rows: kept, and how far up the viewport stands
        self.new_lines = 0  # that came while the viewport stood above the bottom

    @property
    def copy_mode(self) -> CopyMode | None:
        """Return copy mode's state while it lasts."""
        return self._copying

    def last_lines(self) -> tuple[str, ...]:
        """Return what the program leaves on its screen, as text; nothing where it had a screen of its own."""
        if self._is_alternate:
            return ()
        lines = [self._strips.text(y) for y in range(self._strips.count)]
        while lines and not lines[-1]:
            lines.pop()
        return tuple(lines)

    # What the host says ----------------------------------------------------------------------------------------------
    def take(self, message: messages.Message) -> None:
        """Draw what the host has sent. Messages that draw nothing are not ours."""
        match message:
            case messages.Picture():
                self._draw(message)
            case messages.Hello():
                self._take_hello(message)
            case messages.TrimReport():
                self._trimmed = message.rows
                if self._copying is not None:
                    self._copying.trimmed(message.rows)
            case messages.RowsAnswer():
                self._take_rows(message.styles, message.rows, resets_styles=message.resets_styles)
            case messages.LinesAnswer():
                if self._copying is not None:
                    self._copying.goes_on.update((line, line in message.goes_on) for line, _ in message.rows)
                self._take_rows(message.styles, message.rows, resets_styles=message.resets_styles)
            case messages.SearchAnswer() if self._copying is not None:
                self._copying.found([(line + self._trimmed, start, end) for line, start, end in message.hits])
                self._copy_moved()
            case messages.SideEffectReport():
                for text in message.copied:
                    self.post_message(self.Copied(self, text, by_child=True))
            case _:
                pass

    def _take_hello(self, host: messages.Hello) -> None:
        """Begin anew with a host, or with the process that took over for it: it counts from its own beginning."""
        if self._copying is not None:
            self.end_copying()
        self._trimmed = self._oldest = 0
        self._has_numbers = messages.understands(host, messages.NUMBERS)
        self._takes_colours = messages.understands(host, messages.COLOURS)
        self._colours_sent = None
        if self._has_numbers:
            self._send(messages.LineNumbersRequest())

    def _draw(self, picture: messages.Picture) -> None:
        was_above = self.above
        came = picture.scrollback + self._trimmed - self.scrollback - self._oldest
        if picture.offset and self.above and came > 0:
            self.new_lines += came
        elif not picture.offset:
            self.new_lines = 0
        self._oldest = self._trimmed
        self.scrollback, self.above = picture.scrollback, picture.offset
        self._is_alternate, self._wants_mouse = picture.alternate, picture.mouse
        self._strips.base(self._own_style)
        self._strips.learn(picture.styles, resets_styles=picture.resets_styles)
        if self._colours_sent is None:
            self._tell_colours()
        resized = self._strips.count != picture.rows or picture.full
        self._strips.resize(picture.columns, picture.rows)
        dirty = {y for y, runs in picture.changed if self._strips.put(y, runs)}
        dirty |= {self._cursor[1], picture.cursor[1]} if picture.cursor != self._cursor else set()
        self._cursor = picture.cursor
        if self.above or was_above:  # the mark in the last row tells how far
            dirty.add(picture.rows - 1)
        regions = self._regions(dirty, is_full=resized)
        if self._copying is not None or not regions or paint_at_once(self, regions, self.render_line):
            self._send(messages.PictureReceipt(picture.number))
        else:
            self.refresh(*regions)
            self.call_after_refresh(self._send, messages.PictureReceipt(picture.number))

    def _regions(self, dirty: set[int], *, is_full: bool) -> list[Region]:
        width, height = self.size
        if is_full or len(dirty) * 2 > height:
            return [Region(0, 0, width, height)]
        return [Region(0, y, width, 1) for y in sorted(dirty) if y < height]

    def render_line(self, y: int) -> Strip:
        """Return one row, with cursor or selection on top."""
        if not self._is_shown:
            # What is drawn is shown. Textual does not say so where its map of the screen is read, after something was
            # scrolled, between our mounting and the next layout: the host would go on sending no pictures.
            self._is_shown = True
            self.call_later(self.on_show)
        if self._copying is not None:
            return self._past_line(self._copying, y)
        base, width = self._own_style, self.size.width
        self._strips.base(base)
        strip = self._strips.strip(y)
        x, row, visible, _ = self._cursor
        if visible and row == y and not self.above:
            strip = highlight(strip, x, x + 1, _CURSOR if self.has_focus else _RESTING_CURSOR)
        if self.above and y == self._strips.count - 1:
            return self._with_mark(strip.adjust_cell_length(width, base), width)
        return strip.adjust_cell_length(width, base)

    def notify_style_update(self) -> None:
        """Forget the style of what the child left at its defaults: the theme has another."""
        self._base = None
        super().notify_style_update()
        if self._colours_sent is not None:
            self.call_after_refresh(self._tell_colours)

    def _tell_colours(self) -> None:
        """Have the program know what it is drawn in, but for a theme whose colours only the terminal knows."""
        if not self._takes_colours:
            return
        front, back = (colour and colour.triplet for colour in (self._own_style.color, self._own_style.bgcolor))
        if front is None or back is None:
            return
        colours = messages.Colours(int(front.hex[1:], 16), int(back.hex[1:], 16), self.app.current_theme.dark)
        if colours != self._colours_sent:
            self._colours_sent = colours
            self._send(colours)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return what changes the strips' colours before they are drawn."""
        return line_filters(super().get_line_filters(), self.app)

    @property
    def _own_style(self) -> Style:
        if self._base is None:
            self._base = self.rich_style  # 0.1 ms: it walks all ancestors
        return self._base

    def _with_mark(self, strip: Strip, width: int) -> Strip:
        text = cut(f" {back_from(self.above, self.new_lines)} ", width)
        text_strip = strip.crop(0, width - cells(text))
        return Strip.join((text_strip, Strip([Segment(text, self._own_style + _CURSOR)], cells(text))))

    # What the user does ----------------------------------------------------------------------------------------------
    def on_key(self, event: events.Key) -> None:
        """Pass a key on, but for the chord that leads out."""
        event.stop()
        event.prevent_default()
        if self._leads_out(event):
            self.post_message(self.Left())
        elif self._copying is not None:
            self._copy_key(event)
        elif event.key in _SCROLL_KEYS and not self._is_alternate:
            self._send(messages.ScrollRequest(_SCROLL_KEYS[event.key] * max(1, self.size.height - 1)))
        else:
            self._send(key_message(event))

    def take_key(self, event: events.Key) -> bool:
        """Pass a plain key on before its turn, which saves it two turns of the loop; False: it means something here."""
        if self._copying is not None or event.key in _NEVER_AT_ONCE or is_one_of(event, self.leave_chords):
            return False
        self._escaped_at = 0.0
        self._send(key_message(event))
        return True

    def _leads_out(self, event: events.Key) -> bool:
        is_chord = is_one_of(event, self.leave_chords)
        if is_chord and event.key not in self.leave_chords and self._copying is None:
            self._send(messages.KeyInput("escape"))  # which came before it, in the same breath
        return is_chord or self._is_second_escape(event.key)

    def _is_second_escape(self, key: str) -> bool:
        before, self._escaped_at = self._escaped_at, time.monotonic() if key == "escape" else 0.0
        return self._escape_leaves and key == "escape" and self._escaped_at - before < _TWICE_S

    def on_paste(self, event: events.Paste) -> None:
        """Pass a paste on."""
        event.stop()
        if self._copying is None:
            self._send(messages.PasteInput(event.text))

    def on_focus(self) -> None:
        """Say that we have the focus."""
        self._focus_is("focused")

    def on_blur(self) -> None:
        """Say that we have not."""
        self._focus_is("unfocused")

    def attach_hidden(self, columns: int, rows: int) -> None:
        """Hear of bells and activity before we are ever shown."""
        self._is_attached = True
        self._said_size = (max(1, columns), max(1, rows))
        self._send(messages.Attach(max(1, columns), max(1, rows), "hidden"))

    def stand_aside(self, *, on: bool) -> None:
        """Have no say in the size and get no pictures, or have and get them again."""
        if on:
            self._focus_is("hidden")
        else:
            self.on_show()

    def on_show(self) -> None:
        """Be sent pictures again."""
        self._is_shown = True
        self._focus_is("focused" if self.has_focus else "unfocused")

    def on_hide(self) -> None:
        """Be sent no pictures that nobody sees."""
        self._is_shown = False
        self._focus_is("hidden")

    def on_resize(self, event: events.Resize) -> None:
        """Tell the host our size: at once the first time, then when it has come to rest."""
        if event.size.width < 1 or event.size.height < 1:
            return
        if not self._is_attached:
            self._is_attached = True
            self._said_size = tuple(event.size)
            focus: messages.Focus = "focused" if self.has_focus else "unfocused"
            self._send(messages.Attach(event.size.width, event.size.height, focus))
            return
        if not self._is_shown:
            self._tell_size()
            return
        if self._resizing is not None:
            self._resizing.stop()
        self._resizing = self.set_timer(_RESIZE_S, self._tell_size)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Pass a click on, or begin to select; ctrl opens a link."""
        self.focus()
        event.stop()
        if self.above and self._copying is None and event.y == self._strips.count - 1:  # the mark
            self._send(messages.ScrollRequest(0))
            return
        if event.ctrl and (address := self._strips.link_at(event.x, event.y)) is not None:
            self.post_message(self.LinkChosen(address))
        elif self._wants_mouse and not event.shift and self._copying is None:
            self.capture_mouse()
            self._point("press", event.button, event)
        elif event.button == 1:
            self.capture_mouse()
            self._pressed_at = (event.x, event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Pass a movement on, or select."""
        event.stop()
        if self._pressed_at is not None:
            if (event.x, event.y) != self._pressed_at or self._copying is not None:
                self._select_to(event.x, event.y)
        elif self._wants_mouse and self._copying is None:
            self._point("move", event.button, event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Pass a release on, or copy what was selected."""
        event.stop()
        self.release_mouse()
        if self._pressed_at is not None:
            self._pressed_at = None
            if self._copying is not None and self._copying.anchor is not None:
                self._copy()
        elif self._wants_mouse and self._copying is None:
            self._point("release", event.button, event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Look into the past, or let the child scroll."""
        self._wheel(event, up=True)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Come back from the past, or let the child scroll."""
        self._wheel(event, up=False)

    # Copy mode -------------------------------------------------------------------------------------------------------
    def begin_copying(self) -> None:
        """Walk over the whole text by keys; what the child prints meanwhile is shown afterwards."""
        if self._copying is not None:
            return
        top = self._oldest + self.scrollback - self.above
        height = max(1, self.size.height)
        cursor = Spot(top + min(self._cursor[1], height - 1), self._cursor[0])
        total = self._oldest + self.scrollback + self._strips.count
        self._copying = CopyMode(total, self.size.width, height, top, cursor, first=self._oldest)
        self._copying.wrapped_at = self._strips.width
        self._history.base(self._own_style)
        self._history.resize(self.size.width, height)
        self._copying.learn(top, [self._strips.runs(y) for y in range(self._strips.count)])
        self._ask_rows(top, height)
        self._copy_moved()

    def end_copying(self) -> None:
        """Show the terminal as it is now."""
        self._copying = None
        self._wants_copy = False
        self.post_message(self.ModeChanged())
        self.refresh()

    def search(self, text: str) -> None:
        """Search the whole text; copy mode goes to what is found."""
        if text:
            self.begin_copying()
            self._request += 1
            self._send(messages.SearchRequest(self._request, text))

    def _copy_key(self, event: events.Key) -> None:
        mode = self._copying
        if mode is None:
            return
        match mode.press(event.key.removeprefix("shift+") if event.key in _SCROLL_KEYS else event.key).kind:
            case "moved":
                self._copy_moved()
            case "copy":
                self._copy()
            case "search":
                self.post_message(self.SearchAsked())
            case "leave":
                self.end_copying()
            case _:
                pass

    def _copy_moved(self) -> None:
        mode = self._copying
        if mode is not None:
            for line in range(mode.top, min(mode.top + mode.height, mode.first)):  # nobody has them any more but we
                self._history.put(line - mode.top, mode.lines.get(line, ()))
            self._ask_rows(mode.top, mode.height)
        self.post_message(self.ModeChanged())
        self.refresh()

    def _copy(self) -> None:
        mode = self._copying
        if mode is None:
            return
        missing = mode.next_missing(told=self._has_numbers)
        if missing is None:
            self.post_message(self.Copied(self, mode.text(), by_child=False))
            self.end_copying()
            return
        if not self._wants_copy:
            self.set_timer(_ANSWER_S, self._copy_what_was_seen)
        self._wants_copy = True
        first, count = mode.range_needed()
        self._ask_rows(missing, min(1000, first + count - missing))

    def _copy_what_was_seen(self) -> None:
        """Copy without knowing which lines go on, if no host says so: it may have gone with its program."""
        mode = self._copying
        if mode is not None and self._wants_copy and mode.next_missing(told=False) is None:
            self.post_message(self.Copied(self, mode.text(), by_child=False))
            self.end_copying()

    def _ask_rows(self, first: int, count: int) -> None:
        self._request += 1
        request_type = messages.LinesRequest if self._has_numbers else messages.RowsRequest
        self._send(request_type(self._request, max(0, first), count))

    def _take_rows(
        self, styles: Sequence[messages.WireStyle], rows: Sequence[messages.WireRow], *, resets_styles: bool
    ) -> None:
        self._history.learn(styles, resets_styles=resets_styles)
        if resets_styles:
            self._send(messages.RefreshRequest())  # the numbers in the rows of the screen mean nothing any more
        mode = self._copying
        if mode is None:
            return
        for line, runs in rows:
            self._history.put(line - mode.top, runs)
        mode.lines.update(rows)
        if self._wants_copy and not rows:  # the text ends there: it was trimmed meanwhile
            first, count = mode.range_needed()
            mode.lines.update({line: () for line in range(first, first + count) if line not in mode.lines})
            mode.goes_on.update({line: False for line in range(first, first + count) if line not in mode.goes_on})
        if self._wants_copy:
            self._copy()
        self.refresh()

    def _past_line(self, mode: CopyMode, y: int) -> Strip:
        strip = self._history.strip(y)
        line = mode.top + y
        if (cells := mode.selection(line)) is not None:
            strip = highlight(strip, *cells, _SELECTED)
        if mode.cursor.line == line:
            strip = highlight(strip, mode.cursor.x, mode.cursor.x + 1, _CURSOR)
        return strip.adjust_cell_length(self.size.width, self._own_style)

    def _select_to(self, x: int, y: int) -> None:
        self.begin_copying()
        mode = self._copying
        if mode is not None and self._pressed_at is not None:
            begin = mode.anchor or Spot(mode.top + self._pressed_at[1], self._pressed_at[0])
            mode.select(begin, Spot(mode.top + y, x))
            self._copy_moved()

    # Small parts -----------------------------------------------------------------------------------------------------
    def _wheel(self, event: events.MouseEvent, *, up: bool) -> None:
        event.stop()
        if self._copying is not None:
            for _ in range(_WHEEL_LINES):
                self._copying.press("up" if up else "down")
            self._copy_moved()
        elif self._wants_mouse and not event.shift:
            self._point("press", _WHEEL_UP if up else _WHEEL_DOWN, event)
        elif self._is_alternate:  # as terminals do where the program shows a screen of its own: less, man, vim
            for _ in range(_WHEEL_LINES):
                self._send(messages.KeyInput("up" if up else "down"))
        else:
            self._send(messages.ScrollRequest(-_WHEEL_LINES if up else _WHEEL_LINES))

    def _point(self, action: str, button: int, event: events.MouseEvent) -> None:
        mods = (event.shift and Mods.SHIFT) | (event.ctrl and Mods.CTRL) | (event.meta and Mods.ALT)
        x, y = max(0, event.x), max(0, event.y)
        self._send(messages.MouseInput(action, button, x, y, int(mods)))  # type: ignore[arg-type]

    def _focus_is(self, focus: messages.Focus) -> None:
        if self._is_attached:
            self._send(messages.FocusChange(focus))
        if 0 <= self._cursor[1] < self.size.height:
            self.refresh(Region(0, self._cursor[1], self.size.width, 1))

    def check_size(self) -> None:
        """Tell the host our size if it was not told.

        Textual sends no Resize where something has asked for the layout before a new widget's own was made.
        """
        if self._resizing is None and tuple(self.size) != self._said_size:
            self._tell_size()

    def _tell_size(self) -> None:
        self._resizing = None
        if self.size.width > 0 and self.size.height > 0:
            self._said_size = tuple(self.size)
            self._send(messages.WindowSize(self.size.width, self.size.height))

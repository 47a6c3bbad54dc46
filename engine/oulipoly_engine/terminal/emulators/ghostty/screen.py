"""A screen on libghostty-vt. It is native code that hostile output can crash, so it runs in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

from oulipoly_engine.terminal.emulators.ghostty.callbacks import CELL_PIXELS, Callbacks
from oulipoly_engine.terminal.emulators.ghostty.cells import CellReader
from oulipoly_engine.terminal.emulators.ghostty.ffi import Library, check, load, new_struct
from oulipoly_engine.terminal.emulators.ghostty.keys import InputEncoders
from oulipoly_engine.terminal.emulators.ghostty.rows import LineNumbers
from oulipoly_engine.terminal.emulators.ghostty.search import find
from oulipoly_engine.terminal.protocol.keys import encode_paste
from oulipoly_engine.terminal.protocol.limits import HOLD_S, WHEEL_ROWS, clamp_size
from oulipoly_engine.terminal.protocol.rows import text_of
from oulipoly_engine.terminal.protocol.screen import (
    Cursor,
    Frame,
    Key,
    Mouse,
    Row,
    ScreenBroken,
    ScreenLimits,
    ScreenUnavailable,
    SearchHit,
    SideEffects,
)

DUMP = b"ghostty-vt 0.1.3\n"  # what a dump begins with; the library reads its own snapshots only
_ROW_CELLS = 120  # the least cells that a row of the scrollback is reckoned with
_CELL_BYTES, _ROW_BYTES = 8, 200  # measured: 1.0 to 1.2 kB a row of 120 cells, with its styles
_CONTINUATION = 64 << 10  # bytes of a sequence begun and not ended that a dump keeps
_SHAPES = ("bar", "block", "underline", "block")  # GhosttyRenderStateCursorVisualStyle
_BRACKETED, _FOCUS, _WHEEL_KEYS, _SCHEME = 2004, 1004, 1007, 2031
_WHEEL = {4: "up", 5: "down"}


class GhosttyScreen:
    """One terminal; fits `Screen`."""

    name = "ghostty"

    def __init__(self, limits: ScreenLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        library = load()
        terminal = library.ffi.new("GhosttyTerminal*")
        limits = limits or ScreenLimits()
        columns, rows = clamp_size(limits.columns, limits.rows)
        check(library.lib.ghostty_terminal_new(library.ffi.NULL, terminal, columns, rows), "making a terminal")
        self._begin(library, terminal, limits, clock)
        self._set("MODE", self._clusters)

    @classmethod
    def restore(cls, dump: bytes, limits: ScreenLimits, clock: Callable[[], float] = time.monotonic) -> Self:
        """Return a screen as it was when it was dumped; the size is the dump's.

        Raises ScreenUnavailable for what is not a dump of this engine.
        """
        library = load()
        ffi, lib = library
        if not dump.startswith(DUMP):
            raise ScreenUnavailable("this is not a dump of a ghostty screen")
        data = dump[len(DUMP) :]
        buffer = ffi.from_buffer("uint8_t[]", data)
        decoder, terminal = ffi.new("GhosttySnapshotDecoder*"), ffi.new("GhosttyTerminal*")
        if lib.ghostty_snapshot_decoder_new_buf(ffi.NULL, decoder, buffer, len(data)) != lib.GHOSTTY_SUCCESS:
            raise ScreenUnavailable("this dump of a ghostty screen cannot be read")
        try:
            most = ffi.new("size_t*", _CONTINUATION)
            option = lib.GHOSTTY_SNAPSHOT_DECODER_OPT_MAX_CONTINUATION_BYTES
            lib.ghostty_snapshot_decoder_set(decoder[0], option, most)
            if lib.ghostty_snapshot_decoder_decode(decoder[0], terminal) != lib.GHOSTTY_SUCCESS:
                raise ScreenUnavailable("this dump of a ghostty screen is damaged")
        finally:
            lib.ghostty_snapshot_decoder_free(decoder[0])
        screen = cls.__new__(cls)
        screen._begin(library, terminal, limits, clock)
        return screen

    def _begin(
        self,
        library: Library,
        terminal: Any,  # noqa: ANN401 - cffi's values have no types
        limits: ScreenLimits,
        clock: Callable[[], float],
    ) -> None:
        self._ffi, self._lib = library
        self._library = library
        self._handle: Any = terminal[0]
        self._clock = clock
        self._limits = limits
        self._columns = self._number("COLS", "uint16_t")
        self._rows = self._number("ROWS", "uint16_t")
        self._last_rows: list[Row | None] = [None] * self._rows
        self._last_state: tuple[object, ...] = ()
        self._must_read_all = True
        self._set_scrollback_limit()
        self._set("SCROLLBACK_MAX_LINES", self._ffi.NULL)  # a limit in lines makes ascii six times slower to feed
        self._colour(limits.foreground, limits.background)
        self._clusters = self._ffi.new("GhosttyTerminalModeConfig*", {"mode": 2027, "value": True})
        self._set("MODE_DEFAULT", self._clusters)  # as Ink and Rich measure them, also after a reset
        self._set("KITTY_IMAGE_STORAGE_LIMIT", self._ffi.new("uint64_t*", 0))
        self._set("CONTINUATION_MAX_BYTES", self._ffi.new("size_t*", _CONTINUATION))
        self._callbacks = Callbacks(library, limits, clock)
        self._callbacks.size = (self._columns, self._rows)
        self._callbacks.attach(self._handle)
        self._reader = CellReader(library, self._handle)
        self._line_numbers = LineNumbers(library, self._handle)
        self._encoders = InputEncoders(library, self._handle)
        self._scrollbar = self._ffi.new("GhosttyTerminalScrollbar*")
        self._cursor = new_struct(self._ffi, "GhosttyRenderStateCursor")
        self._mode = self._ffi.new("GhosttyTerminalModeConfig*")

    def feed(self, data: bytes) -> None:
        """Process the child's output."""
        terminal = self._terminal
        self._lib.ghostty_terminal_vt_write(terminal, data, len(data))
        if (self._number("COLS", "uint16_t"), self._number("ROWS", "uint16_t")) != (self._columns, self._rows):
            # The child asked for 132 columns (DECCOLM): the size is not its to say.
            check(self._lib.ghostty_terminal_resize(terminal, self._columns, self._rows, *CELL_PIXELS), "resize")

    def take_side_effects(self) -> SideEffects:
        """Return and forget the child's side effects."""
        return self._callbacks.side_effects.take()

    def hold_left(self) -> float:
        """Return the seconds for which the child may still hold the picture."""
        since = self._callbacks.held_since
        return 0.0 if since is None else max(0.0, since + HOLD_S - self._clock())

    def frame(self, *, full: bool = False) -> Frame | None:
        """Return what changed since the last frame."""
        if not full and self.hold_left():
            return None
        self._check_open()
        every = self._reader.update() or full or self._must_read_all
        is_full = full or self._last_rows[:1] == [None]
        changed = []
        for y, row in self._reader.rows(every=every):
            if is_full or row != self._last_rows[y]:
                self._last_rows[y] = row
                changed.append((y, row))
        self._must_read_all = False
        bar = self._bar()
        state = (
            self._cursor_now(),
            bar.total - bar.len,
            bar.total - bar.len - bar.offset,
            self._alternate(),
            bool(self._number("MOUSE_TRACKING", "bool")),
            self._on(_BRACKETED),
        )
        if not changed and not is_full and state == self._last_state:
            return None
        self._last_state = state
        cursor, scrollback, _, alternate, *_ = state
        trimmed = self._line_numbers.known_trimmed if alternate else self._line_numbers.trimmed(scrollback, bar.len)
        return Frame(self._columns, self._rows, tuple(changed), cursor, is_full, *state[1:], trimmed)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; the primary screen and its scrollback flow anew."""
        columns, rows = clamp_size(columns, rows)
        if (columns, rows) == (self._columns, self._rows):
            return
        self._callbacks.size = (columns, rows)  # before: the call below reports the size to a child that asked for it
        self._columns, self._rows = columns, rows
        self.trimmed()
        self._set_scrollback_limit()
        check(self._lib.ghostty_terminal_resize(self._terminal, columns, rows, *CELL_PIXELS), "resize")
        self._last_rows = [None] * rows
        self._line_numbers.forget_anchor()

    def recolour(self, foreground: int, background: int, *, dark: bool) -> None:
        """Set the default colours. A child that asked for it (mode 2031) is told whether they are dark."""
        self._colour(foreground, background)
        if dark != self._callbacks.dark:
            self._callbacks.dark = dark
            if self._on(_SCHEME):
                self._callbacks.side_effects.add_reply(b"\x1b[?997;1n" if dark else b"\x1b[?997;2n")

    def scroll(self, delta: int) -> None:
        """Move the viewport: negative is up, into the past."""
        self._scroll(self._lib.GHOSTTY_SCROLL_VIEWPORT_DELTA, max(-(1 << 31), min(delta, 1 << 31)))

    def scroll_to_bottom(self) -> None:
        """Let the viewport follow the output again."""
        self._scroll(self._lib.GHOSTTY_SCROLL_VIEWPORT_BOTTOM)

    def encode_key(self, key: Key) -> bytes:
        """Return what a key sends in the child's present modes."""
        self._check_open()
        return self._encoders.key(key)

    def encode_mouse(self, mouse: Mouse) -> bytes:
        """Return what a mouse event sends; the wheel sends arrow keys where the child wants that instead (1007)."""
        data = b""
        if self._number("MOUSE_TRACKING", "bool"):
            data = self._encoders.mouse(mouse, self._columns, self._rows)
        elif mouse.button in _WHEEL and mouse.action == "press" and self._alternate() and self._on(_WHEEL_KEYS):
            data = self._encoders.key(Key(_WHEEL[mouse.button])) * WHEEL_ROWS
        return data

    def encode_paste(self, text: str) -> bytes:
        """Return what a paste sends."""
        return encode_paste(text, bracketed=self._on(_BRACKETED))

    def encode_focus(self, *, gained: bool) -> bytes:
        """Return what a change of focus sends."""
        return (b"\x1b[I" if gained else b"\x1b[O") if self._on(_FOCUS) else b""

    def lines(self, first: int, count: int) -> tuple[str, ...]:
        """Return plain lines, counted from the oldest row of the scrollback."""
        return tuple(text_of(row) for row in self.styled_rows(first, count))

    def styled_rows(self, first: int, count: int) -> tuple[Row, ...]:
        """Return styled rows by the same count."""
        bar = self._bar()
        total, offset, height = bar.total, bar.offset, bar.len
        first = max(0, first)
        last = min(total, first + max(0, count))
        rows: list[Row] = []
        while first < last:  # the library reads what the viewport shows, so that is moved there and back
            top = min(first, total - height)
            self._scroll(self._lib.GHOSTTY_SCROLL_VIEWPORT_ROW, top)
            self._reader.update()
            page = [row for _, row in self._reader.rows(every=True)]
            rows += page[first - top : min(height, last - top)]
            first = top + height
        if rows:
            self._must_read_all = True  # what was dirty has been read, but not for a frame
            following = offset == total - height
            self._scroll(
                self._lib.GHOSTTY_SCROLL_VIEWPORT_BOTTOM if following else self._lib.GHOSTTY_SCROLL_VIEWPORT_ROW,
                0 if following else offset,
            )
        return tuple(rows)

    def goes_on(self, first: int, count: int) -> tuple[int, ...]:
        """Return those of so many lines that go on in the next."""
        self._check_open()
        return self._line_numbers.goes_on(max(0, first), min(max(0, count), self._bar().total))

    def trimmed(self) -> int:
        """Return how many rows the scrollback has lost at its old end."""
        if self._alternate():  # which has no scrollback; the library's lines are those of the screen that is shown
            return self._line_numbers.known_trimmed
        bar = self._bar()
        return self._line_numbers.trimmed(bar.total - bar.len, bar.len)

    def search(self, text: str, limit: int = 1000) -> tuple[SearchHit, ...]:
        """Find plain text, newest hits first; letters of ASCII in either case."""
        return find(self._library, self._terminal, text, limit)

    def dump(self) -> bytes:
        """Return what `restore` makes this screen of again.

        Empty where the library cannot keep what the child is in the middle of: a C1 byte inside a string (`ESC ^` and
        0x9B), for one. More output leads out of it.
        """
        ffi, lib = self._library
        data, length = ffi.new("uint8_t**"), ffi.new("size_t*")
        if lib.ghostty_snapshot_encode_alloc(self._terminal, ffi.NULL, data, length) != lib.GHOSTTY_SUCCESS:
            return b""
        try:
            return DUMP + bytes(ffi.buffer(data[0], length[0]))
        finally:
            lib.ghostty_free(ffi.NULL, data[0], length[0])

    def close(self) -> None:
        """Release everything; a second call does nothing."""
        if self._handle is not None:
            self._encoders.close()
            self._reader.close()
            self._line_numbers.close()
            self._lib.ghostty_terminal_free(self._handle)
            self._handle = None

    @property
    def _terminal(self) -> Any:  # noqa: ANN401 - as above
        self._check_open()
        return self._handle

    def _check_open(self) -> None:
        if self._handle is None:
            raise ScreenBroken("this screen was closed")

    def _set(self, option: str, value: Any) -> None:  # noqa: ANN401 - as above
        number = getattr(self._lib, f"GHOSTTY_TERMINAL_OPT_{option}")
        check(self._lib.ghostty_terminal_set(self._terminal, number, value), option)

    def _colour(self, foreground: int, background: int) -> None:
        for name, colour in (("FOREGROUND", foreground), ("BACKGROUND", background)):
            value = self._ffi.new("GhosttyColorRgb*", (colour >> 16 & 255, colour >> 8 & 255, colour & 255))
            self._set(f"COLOR_{name}", value)

    def _number(self, data: str, kind: str) -> int:
        value = self._ffi.new(f"{kind}*")
        number = getattr(self._lib, f"GHOSTTY_TERMINAL_DATA_{data}")
        check(self._lib.ghostty_terminal_get(self._terminal, number, value), data)
        return int(value[0])

    def _bar(self) -> Any:  # noqa: ANN401 - as above
        data = self._lib.GHOSTTY_TERMINAL_DATA_SCROLLBAR
        check(self._lib.ghostty_terminal_get(self._terminal, data, self._scrollbar), "rows")
        return self._scrollbar

    def _on(self, mode: int) -> bool:
        self._mode.mode = mode
        check(self._lib.ghostty_terminal_get(self._terminal, self._lib.GHOSTTY_TERMINAL_DATA_MODE, self._mode), "mode")
        return bool(self._mode.value)

    def _alternate(self) -> bool:
        return self._number("ACTIVE_SCREEN", "int") == int(self._lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE)

    def _cursor_now(self) -> Cursor:
        data = self._lib.GHOSTTY_RENDER_STATE_DATA_CURSOR
        check(self._lib.ghostty_render_state_get(self._reader.state, data, self._cursor), "cursor")
        now = self._cursor
        if not now.viewport_has_value:
            return Cursor(0, 0, visible=False)
        return Cursor(now.viewport_x, now.viewport_y, bool(now.visible), _SHAPES[now.visual_style])

    def _scroll(self, tag: int, number: int = 0) -> None:
        to = self._ffi.new("ScrollTwin*")
        to.tag, to.value.number = tag, number
        move = self._ffi.cast(
            "void(*)(GhosttyTerminal, ScrollTwin)", self._ffi.addressof(self._lib, "ghostty_terminal_scroll_viewport")
        )
        move(self._terminal, to[0])

    def _set_scrollback_limit(self) -> None:
        # By default the library keeps 10 kB, some 400 rows; its limit in bytes costs nothing, one in lines does.
        row = max(self._columns, _ROW_CELLS) * _CELL_BYTES + _ROW_BYTES
        self._set("SCROLLBACK_MAX_BYTES", self._ffi.new("size_t*", self._limits.scrollback_rows * row))

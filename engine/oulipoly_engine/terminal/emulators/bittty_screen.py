"""A screen on bittty, in Python alone: slower by far, at home everywhere, and never the end of the process."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from bittty import KeyEvent, KeyModifiers  # type: ignore[import-untyped]  # it ships no py.typed

from oulipoly_engine.terminal.emulators.bittty_board import Machine
from oulipoly_engine.terminal.emulators.bittty_cells import row_of
from oulipoly_engine.terminal.emulators.bittty_dump import read, written
from oulipoly_engine.terminal.protocol.keys import character, paste
from oulipoly_engine.terminal.protocol.limits import HOLD_S, WHEEL_ROWS, bounded
from oulipoly_engine.terminal.protocol.rows import text_of
from oulipoly_engine.terminal.protocol.screen import (
    Cursor,
    Found,
    Frame,
    Happenings,
    Key,
    Mods,
    Mouse,
    Row,
    ScreenBroken,
    ScreenLimits,
    ScreenUnavailable,
)

DUMP = b"bittty 0.3\n"  # what a dump begins with
_SLICE = 2048  # bytes fed at once: what is lost when the library fails at one of them
_MOST_FAILURES = 200  # slices in a row
_BUTTONS = {0: 3, 1: 0, 2: 1, 3: 2, 4: 64, 5: 65}
_WHEEL = (4, 5)
_MODS = ((Mods.SHIFT, "shift"), (Mods.ALT, "meta"), (Mods.CTRL, "ctrl"))
_KEY_MODS = (
    (Mods.SHIFT, KeyModifiers.SHIFT),
    (Mods.ALT, KeyModifiers.ALT),
    (Mods.CTRL, KeyModifiers.CTRL),
    (Mods.SUPER, KeyModifiers.SUPER),
)
_NAMED = {"return": "enter", "print_screen": "print_screen", "backtab": "tab"}


class BitttyScreen:
    """One terminal; fits `Screen`."""

    def __init__(self, limits: ScreenLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        limits = limits or ScreenLimits()
        self._columns, self._rows = bounded(limits.columns, limits.rows)
        self._clock = clock
        self._machine: Machine | None = Machine(self._columns, self._rows, limits, clock)
        self._shown: list[Row | None] = [None] * self._rows
        self._told: tuple[object, ...] = ()
        self._page: Any = None
        self._seen = -1
        self._stale = True
        self._top: tuple[int, int] | None = None  # the viewport's first row, as a line of the history; None: it follows
        self._failures = 0
        self._trimmed = 0
        # A line of the history, the row that it begins in, and the rows that there were: at the last look.
        self._anchor = (0, 0, self._rows)

    @classmethod
    def restore(cls, dump: bytes, limits: ScreenLimits, clock: Callable[[], float] = time.monotonic) -> Self:
        """Return a screen as it was when it was dumped; the size is the dump's.

        Raises ScreenUnavailable for what is no dump of this engine.
        """
        if not dump.startswith(DUMP):
            raise ScreenUnavailable("this is no dump of a bittty screen")
        head, script = read(dump[len(DUMP) :])
        sized = ScreenLimits(
            limits.scrollback_rows, head.columns, head.rows, limits.foreground, limits.background, limits.dark
        )
        screen = cls(sized, clock)
        screen.feed(script)
        board = screen._open.board
        board.cursor.set_position(*head.cursor)
        board.charset.restore(head.charsets)
        screen._open.line.take()
        screen._open.heard.take()
        return screen

    def feed(self, data: bytes) -> None:
        """Take what the child wrote; what the library cannot take is dropped."""
        machine = self._open
        for start in range(0, len(data), _SLICE):
            cleared = machine.cleared
            try:
                machine.board.feed_host_data(data[start : start + _SLICE])
                self._failures = 0
            except Exception as error:  # noqa: BLE001, RUF100 - the library raises whatever it stumbles over
                self._failed(error)
            if machine.cleared != cleared:
                self._top, self._stale = None, True
            if (machine.board.width, machine.board.height) != (self._columns, self._rows):
                machine.board.resize(self._columns, self._rows)  # the child asked for 132 columns: not its to say

    def happenings(self) -> Happenings:
        """Return and forget what the child said beside its picture."""
        machine = self._open
        if replies := machine.line.take():
            machine.heard.reply(replies)
        return machine.heard.take()

    def hold_left(self) -> float:
        """Return the seconds for which the child may still hold the picture."""
        since = self._open.held_since
        return 0.0 if since is None else max(0.0, since + HOLD_S - self._clock())

    def frame(self, *, full: bool = False) -> Frame | None:
        """Return what changed since the last frame."""
        if not full and self.hold_left():
            return None
        board = self._open.board
        page, offset = board.display.page, self._offset()
        every = full or self._stale or page is not self._page or bool(offset)
        dirty = range(self._rows) if every else page.dirty_rows(self._seen)
        self._page, self._seen, self._stale = page, page.observe(), bool(offset)
        whole = full or self._shown[:1] == [None]
        changed = []
        for y in dirty:
            row = row_of(self._cells(y, offset))
            if whole or row != self._shown[y]:
                self._shown[y] = row
                changed.append((y, row))
        alternate = bool(board.blitter.in_alt_screen)
        mouse = board.mouse.capture() != "off" and board.mouse.protocol.name != "OFF"
        beside = (
            self._cursor_now(offset),
            self._history_rows(),
            offset,
            alternate,
            mouse,
            bool(board.modes.bracketed_paste),
        )
        if not changed and not whole and beside == self._told:
            return None
        self._told = beside
        return Frame(self._columns, self._rows, tuple(changed), beside[0], whole, *beside[1:], trimmed=self.trimmed())

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; soft-wrapped lines flow anew."""
        columns, rows = bounded(columns, rows)
        if (columns, rows) == (self._columns, self._rows):
            return
        machine = self._open
        if columns == self._columns:
            # With a new height alone the library cuts rows off at the bottom; with a new width it flows them anew.
            machine.board.resize(columns + 1, rows)
        self.trimmed()
        machine.measure(columns, rows)
        machine.board.resize_from_frontend(columns, rows)
        self._columns, self._rows = columns, rows
        self._settle()  # the same lines have other rows now
        self._shown = [None] * rows
        self._stale = True

    def recolour(self, foreground: int, background: int, *, dark: bool) -> None:
        """Take the colours of what the child leaves at its defaults; whether that is dark it cannot ask here."""
        self._open.recolour(foreground, background)

    def scroll(self, delta: int) -> None:
        """Move the viewport: negative is up, into the past."""
        machine = self._open
        history = machine.history.width(self._columns)
        total = self._history_rows()
        top = max(0, total - self._offset() + delta)
        self._top = history.line_at(top) if top < total else None
        self._stale = True

    def scroll_to_bottom(self) -> None:
        """Let the viewport follow the output again."""
        self._open  # noqa: B018 - raises when closed
        self._stale = self._stale or self._top is not None
        self._top = None

    def encode_key(self, key: Key) -> bytes:
        """Return what a key sends in the child's present modes."""
        board = self._open.board
        name = _NAMED.get(key.name, key.name)
        mods = KeyModifiers(sum(int(theirs) for ours, theirs in _KEY_MODS if key.mods & ours))
        if key.name == "backtab":
            mods |= KeyModifiers.SHIFT
        text = None if name in _KEYS else character(key)
        if text is None and name not in _KEYS:
            return b""
        if text is not None:
            name = text.lower() if len(text) == 1 and len(text.lower()) == 1 else text
            if mods & (KeyModifiers.CTRL | KeyModifiers.ALT):
                text = text if mods & KeyModifiers.ALT and not mods & KeyModifiers.CTRL else None
        return self._sent(lambda: board.display.input_key_event(KeyEvent(name, mods, text=text)))

    def encode_mouse(self, mouse: Mouse) -> bytes:
        """Return what a mouse event sends; the wheel sends arrow keys where the child wants that instead (1007)."""
        board = self._open.board
        mods = {name for mod, name in _MODS if mouse.mods & mod}
        button = _BUTTONS.get(mouse.button, 3)
        sent = self._sent(lambda: board.input_mouse(mouse.x + 1, mouse.y + 1, button, mouse.action, mods))
        if mouse.button in _WHEEL and board.mouse.protocol.name == "OFF":
            return sent * WHEEL_ROWS
        return sent

    def encode_paste(self, text: str) -> bytes:
        """Return what a paste sends."""
        return paste(text, bracketed=bool(self._open.board.modes.bracketed_paste))

    def encode_focus(self, *, gained: bool) -> bytes:
        """Return what a change of focus sends."""
        board = self._open.board
        return self._sent(board.focus_in if gained else board.focus_out)

    def lines(self, first: int, count: int) -> tuple[str, ...]:
        """Return plain lines, counted from the oldest row of the scrollback."""
        return tuple(text_of(row) for row in self.rows_at(first, count))

    def rows_at(self, first: int, count: int) -> tuple[Row, ...]:
        """Return styled rows by the same count."""
        total = self._history_rows()
        last = min(total + self._rows, max(0, first) + max(0, count))
        return tuple(row_of(self._cells_at(line, total)) for line in range(max(0, first), last))

    def goes_on(self, first: int, count: int) -> tuple[int, ...]:
        """Return those of so many lines that go on in the next."""
        total = self._history_rows()
        last = min(total + self._rows, max(0, first) + max(0, count))
        return tuple(line for line in range(max(0, first), last) if self._goes_on(line, total))

    def trimmed(self) -> int:
        """Return how many rows the scrollback has lost at its old end."""
        history = self._open.history
        line, row, total = self._anchor
        gone = history.first > line
        self._trimmed += total if gone else max(0, row - history.width(self._columns).row_for(line))
        self._settle()
        return self._trimmed

    def search(self, text: str, limit: int = 1000) -> tuple[Found, ...]:
        """Find plain text within a line, newest hits first; letters in either case."""
        wanted = text.lower()
        if not wanted or limit < 1:
            return ()
        total = self._history_rows()
        hits: list[Found] = []
        for line in range(total + self._rows - 1, -1, -1):
            cells = self._cells_at(line, total)
            low = "".join(part for _, part in cells).lower()
            if wanted in low:
                hits += _hits(line, cells, wanted)
                if len(hits) >= limit:
                    break
        return tuple(hits[:limit])

    def dump(self) -> bytes:
        """Return what `restore` makes this screen of again."""
        return DUMP + written(self._open, self._columns, self._rows)

    def close(self) -> None:
        """Give everything back; a second time does nothing."""
        if self._machine is not None:
            self._machine.board.detach_display()
            self._machine = None

    @property
    def _open(self) -> Machine:
        if self._machine is None:
            raise ScreenBroken("this screen was closed")
        return self._machine

    def _failed(self, error: Exception) -> None:
        _log.debug("bittty could not take a slice of output", exc_info=error)
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            raise ScreenBroken(f"the terminal emulator fails at everything it is fed: {error!r}") from error
        self._stale = True

    def _sent(self, act: Callable[[], object]) -> bytes:
        machine = self._open
        waiting = machine.line.take()  # answers that nobody has asked for yet are no part of what a key sends
        act()
        sent = machine.line.take()
        machine.line.write_bytes(waiting)
        return sent

    def _history_rows(self) -> int:
        machine = self._open
        return 0 if machine.board.blitter.in_alt_screen else len(machine.history.width(self._columns))

    def _offset(self) -> int:
        machine = self._open
        if self._top is None or machine.board.blitter.in_alt_screen:
            return 0
        history = machine.history.width(self._columns)
        line, within = self._top
        first: int = history.row_for(max(line, machine.history.first))
        return max(0, len(history) - first - within)

    def _settle(self) -> None:
        history = self._open.history
        view = history.width(self._columns)
        line = max(history.first, history.end - 1)
        self._anchor = line, view.row_for(line), len(view) + self._rows

    def _goes_on(self, line: int, total: int) -> bool:
        machine = self._open
        if line >= total:
            return bool(machine.board.display.page.is_line_wrapped(line - total))
        view = machine.history.width(self._columns)
        if line + 1 < total:
            return bool(view.line_at(line)[0] == view.line_at(line + 1)[0])
        return machine.goes_on  # its end is still on the screen

    def _cells(self, y: int, offset: int) -> Sequence[tuple[Any, str]]:
        total = self._history_rows()
        return self._cells_at(total - offset + y, total)

    def _cells_at(self, line: int, total: int) -> Sequence[tuple[Any, str]]:
        machine = self._open
        if line < total:
            cells: Sequence[tuple[Any, str]] = machine.history.width(self._columns)[line]
            return cells
        grid: list[list[tuple[Any, str]]] = machine.board.display.page.grid
        return grid[line - total]

    def _cursor_now(self, offset: int) -> Cursor:
        board = self._open.board
        place = board.display.cursor
        if place is None or place[1] + offset >= self._rows:
            return Cursor(0, 0, visible=False)
        return Cursor(min(place[0], self._columns - 1), place[1] + offset, visible=True, shape=board.cursor.shape)


_log = logging.getLogger(__name__)
_KEYS = {
    *("backspace", "delete", "down", "end", "enter", "escape", "home", "insert", "left", "pagedown", "pageup"),
    *("right", "tab", "up", *(f"f{number}" for number in range(1, 25))),
}


def _hits(line: int, cells: Sequence[tuple[Any, str]], wanted: str) -> list[Found]:
    places = [x for x, (_, part) in enumerate(cells) for _ in part.lower()]  # of each character, its cell
    low = "".join(part for _, part in cells).lower()
    hits = []
    at = low.rfind(wanted)
    while at >= 0:
        last = at + len(wanted)
        end = places[last] if last < len(places) else len(cells)
        hits.append(Found(line, places[at], end))
        at = low.rfind(wanted, 0, at)
    return hits

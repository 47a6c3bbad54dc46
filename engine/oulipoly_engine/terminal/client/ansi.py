"""Draw a terminal's picture on a real terminal, as bytes. Pure.

Nothing of the child's own sequences reaches the real terminal: a second emulator would answer its questions a second
time, and would keep its modes when we leave. What is drawn is the picture, at the pace at which it is asked for.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from oulipoly_engine.core.text.control_characters import replace_hidden, visible_line
from oulipoly_engine.records import replace
from oulipoly_engine.terminal.protocol.remote_screen import RemoteScreen
from oulipoly_engine.terminal.protocol.screen import TRUE_COLOUR, Attr, CellStyle, Colour, Cursor, Row

# The title and the mode of the wheel kept; the alternate screen, a wheel that types no arrows, bracketed paste and
# reports of the focus switched on; at last the question whether the kitty keyboard protocol is known.
ENTER = b"\x1b[22;0t\x1b[?1007s\x1b[?1049h\x1b[?1007l\x1b[?2004h\x1b[?1004h\x1b[2J\x1b[?u"
# Keys told apart, those of other alphabets with their Latin places. The alternate screen has a stack of its own: the
# shell's stays as it is, even if nobody is left to take ours away.
KITTY = b"\x1b[>5u"
_UNKITTY = b"\x1b[<u"
_LEAVE = (
    b"\x1b]8;;\x1b\\\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[0 q"
    b"\x1b[?1049l\x1b[?1007r\x1b[23;0t"
)


def leave(*, kitty: bool) -> bytes:
    """Return the bytes that give the terminal back. kitty: KITTY was written."""
    return _UNKITTY + _LEAVE if kitty else _LEAVE


BELL = b"\a"
_MOUSE = {True: b"\x1b[?1000h\x1b[?1002h\x1b[?1006h", False: b"\x1b[?1000l\x1b[?1002l\x1b[?1006l"}
_BEGIN, _END = b"\x1b[?2026h", b"\x1b[?2026l"
_SHAPES = {"block": 2, "underline": 4, "bar": 6}
_ATTRIBUTES = (
    (Attr.BOLD, "1"),
    (Attr.DIM, "2"),
    (Attr.ITALIC, "3"),
    (Attr.BLINK, "5"),
    (Attr.REVERSE, "7"),
    (Attr.HIDDEN, "8"),
    (Attr.STRIKE, "9"),
)
_PLAIN = CellStyle()


class Painter:
    """Draws one view on one real terminal."""

    def __init__(self, columns: int, rows: int, *, has_colour: bool = True) -> None:
        """Begin with an empty screen. has_colour: false leaves out the child's colours and nothing else."""
        self.columns = columns
        self.rows = rows
        self._sgr = sgr if has_colour else plain_sgr
        self.note = ""  # shown over the last row while it is not empty
        self._mouse = False
        self._shape = ""

    def paint(self, view: RemoteScreen, changed: Iterable[int], *, clears: bool) -> bytes:
        """Return the bytes that draw the changed rows and the cursor; clears: erase the screen first."""
        parts = [_BEGIN, b"\x1b[?25l"]
        if clears:
            parts.append(b"\x1b[0m\x1b[2J")
        if view.mouse != self._mouse:
            self._mouse = view.mouse
            parts.append(_MOUSE[view.mouse])
        for y in changed:
            if y < min(self.rows, len(view.rows)):
                parts.append(self._row(y, view.rows[y]))
        if self.note:
            text = _cut(f" {visible_line(self.note)} ", self.columns)
            parts.append(f"\x1b[{self.rows};1H\x1b[0;7m{text}\x1b[0m".encode("utf-8", "replace"))
        parts += [self._cursor(view.cursor), _END]
        return b"".join(parts)

    def clear_note(self, view: RemoteScreen) -> bytes:
        """Return the bytes that show what the note covered."""
        self.note = ""
        wipe = f"\x1b[{self.rows};1H\x1b[0m\x1b[2K".encode()
        return wipe + self.paint(view, (self.rows - 1,), clears=False)

    def _row(self, y: int, row: Row) -> bytes:
        parts = [f"\x1b[{y + 1};1H\x1b[0m"]
        left = self.columns
        link = None
        for run in row:
            if left <= 0:
                break
            text = run.text if run.width <= left else _cut(run.text, left)
            if run.style.link != link:
                link = run.style.link
                parts.append(f"\x1b]8;;{_safe(link)}\x1b\\")
            parts.append(f"{self._sgr(run.style)}{text}")
            left -= run.width
        if link:
            parts.append("\x1b]8;;\x1b\\")
        if left > 0:
            parts.append("\x1b[0m\x1b[K")
        return "".join(parts).encode("utf-8", "replace")

    def _cursor(self, cursor: Cursor) -> bytes:
        if not cursor.visible or cursor.x >= self.columns or cursor.y >= self.rows:
            return b""
        shape = ""
        if cursor.shape != self._shape:
            self._shape = cursor.shape
            shape = f"\x1b[{_SHAPES.get(cursor.shape, 0)} q"
        return f"{shape}\x1b[{cursor.y + 1};{cursor.x + 1}H\x1b[?25h".encode()


@lru_cache(maxsize=4096)
def sgr(style: CellStyle) -> str:
    """Return the sequence that sets a look, whatever was set before."""
    if style == _PLAIN:
        return "\x1b[0m"
    words = ["0", *(word for attr, word in _ATTRIBUTES if style.attrs & attr)]
    if style.attrs & Attr.UNDERLINE:
        words.append("4:3" if style.attrs & Attr.CURLY else "4")
    words += _colour(style.foreground, 30) + _colour(style.background, 40)
    return f"\x1b[{';'.join(words)}m"


@lru_cache(maxsize=4096)
def plain_sgr(style: CellStyle) -> str:
    """Return the sequence that sets a look without its colours: bold, underlined and reversed stay."""
    return sgr(replace(style, foreground=None, background=None))


def _colour(colour: Colour, base: int) -> list[str]:
    if colour is None:
        return []
    if colour & TRUE_COLOUR:
        return [f"{base + 8};2;{colour >> 16 & 255};{colour >> 8 & 255};{colour & 255}"]
    if colour < 8:
        return [str(base + colour)]
    return [str(base + 52 + colour) if colour < 16 else f"{base + 8};5;{colour}"]


def _cut(text: str, cells: int) -> str:
    """Return as much of a text as fits into so many cells."""
    for index, character in enumerate(text):
        cells -= _width(character)
        if cells < 0:
            return text[:index]
    return text


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _safe(text: str | None) -> str:
    """Return a link or a title that cannot end its own sequence early."""
    return replace_hidden(text or "", lambda _: "")


def title(text: str) -> bytes:
    """Return the bytes that set the window's title."""
    return f"\x1b]2;{_safe(text)}\x1b\\".encode("utf-8", "replace")

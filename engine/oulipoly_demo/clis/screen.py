"""The interactive mode's live area: a bordered box that is drawn over itself. `frame` is pure, `Painter` writes."""

from __future__ import annotations

import contextlib
import os
import signal
import termios
import tty
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

_NARROWEST = 12
_MOST_ENTRY_ROWS = 6
_BORDER, _FAINT, _ACCENT, _PLAIN = "\x1b[36m", "\x1b[2m", "\x1b[33m", "\x1b[0m"
_STDIN, _STDOUT = 0, 1
SPINNER = "·✢✳✶✻✽"


class View(NamedTuple):
    """What the live area shows."""

    entry: str = ""
    tail: str = ""  # the answer's last, unfinished line
    busy: str = ""  # e.g. "Thinking… 2s"; empty: waiting for the user
    hint: str = ""
    status: str = ""
    columns: int = 80
    colour: bool = True


class Frame(NamedTuple):
    """Rows of the live area and where the cursor stands in it."""

    rows: tuple[str, ...]
    cursor_row: int
    cursor_column: int  # 0-based cells


def frame(view: View) -> Frame:
    """Lay the live area out; no row is wider than the terminal."""
    width = max(view.columns, _NARROWEST)
    inner = width - 6  # "│ > " before and " │" after the text
    entry = wrap(view.entry, inner)[-_MOST_ENTRY_ROWS:]
    above = wrap(view.tail, width)[-3:] if view.tail else []
    busy = [_paint(cut(view.busy, width), _ACCENT, view)] if view.busy else []
    edge = "─" * (width - 2)
    box = [_paint(f"╭{edge}╮", _BORDER, view)]
    for index, row in enumerate(entry):
        mark = ">" if index == 0 else " "
        padding = " " * (inner - cells(row))
        side = _paint("│", _BORDER, view)
        box.append(f"{side} {mark} {row}{padding} {side}")
    box.append(_paint(f"╰{edge}╯", _BORDER, view))
    below = [_paint(cut(text, width), _FAINT, view) for text in (view.status, view.hint) if text]
    rows = (*above, *busy, *box, *below)
    return Frame(rows, len(above) + len(busy) + len(entry), 4 + cells(entry[-1]))


def cells(text: str) -> int:
    """Return how many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def cut(text: str, width: int) -> str:
    """Shorten a text to `width` columns, with an ellipsis where something is missing."""
    if cells(text) <= width:
        return text
    return wrap(text, width - 1)[0] + "…"


def wrap(text: str, width: int) -> list[str]:
    """Break a text into rows of at most `width` columns; there is always one row."""
    rows = []
    for line in text.split("\n"):
        row, used = "", 0
        for character in line:
            cell = _cell(character)
            if used + cell > width:
                rows.append(row)
                row, used = "", 0
            row += character
            used += cell
        rows.append(row)
    return rows


def _cell(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _paint(text: str, colour: str, view: View) -> str:
    return f"{colour}{text}{_PLAIN}" if view.colour else text


class Painter:
    """Draws frames over one another and lets finished lines scroll away above them."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._drawn: Frame | None = None

    def draw(self, picture: Frame, finished: tuple[str, ...] = ()) -> None:
        """Replace the last frame by `picture`, with `finished` lines above it for good."""
        if picture == self._drawn and not finished:
            return
        self._write(self._erasure() + "".join(f"{line}\r\n" for line in finished) + self._placed(picture))

    def redraw(self, picture: Frame, history: tuple[str, ...]) -> None:
        """Clear the screen and draw anew: after a resize nobody knows where the terminal moved our rows."""
        self._drawn = None
        self._write("\x1b[2J\x1b[H" + "".join(f"{line}\r\n" for line in history) + self._placed(picture))

    def finish(self) -> None:
        """Take the live area away."""
        self._write(self._erasure())

    def _placed(self, picture: Frame) -> str:
        self._drawn = picture
        up = len(picture.rows) - 1 - picture.cursor_row
        back = f"\x1b[{up}A" if up else ""
        return "\r\n".join(picture.rows) + f"{back}\r\x1b[{picture.cursor_column}C"

    def _erasure(self) -> str:
        if self._drawn is None:
            return "\r"
        up = self._drawn.cursor_row
        self._drawn = None
        return (f"\x1b[{up}A" if up else "") + "\r\x1b[J"

    def _write(self, text: str) -> None:
        view = memoryview(text.encode("utf-8", "replace"))
        while view:
            view = view[os.write(self._descriptor, view) :]


@contextlib.contextmanager
def raw_terminal() -> Iterator[int]:
    """Take the terminal over and give it back whatever happens; yields what signals make readable."""
    before = termios.tcgetattr(_STDIN)
    wake, sleep = os.pipe()
    os.set_blocking(sleep, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(sleep, warn_on_full_buffer=False)
    caught = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)
    for number in caught:
        # The number arrives through the pipe; a handler must stand there all the same, or Python would not notice it.
        signal.signal(number, lambda *_: None)
    try:
        tty.setraw(_STDIN)
        os.write(_STDOUT, b"\x1b[?2004h")
        yield wake
    finally:
        with contextlib.suppress(OSError, termios.error):  # the terminal may be gone
            os.write(_STDOUT, b"\x1b[?2004l")
            termios.tcsetattr(_STDIN, termios.TCSADRAIN, before)
        signal.set_wakeup_fd(-1)

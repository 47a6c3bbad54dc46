"""The screen of a terminal that no emulator draws: a few sentences in place of what the program prints."""

from __future__ import annotations

import textwrap

from oulipoly_engine.terminal.protocol.limits import clamp_size
from oulipoly_engine.terminal.protocol.messages import NO_EMULATOR
from oulipoly_engine.terminal.protocol.screen import (
    CellStyle,
    Cursor,
    Frame,
    Key,
    Mouse,
    Row,
    Run,
    ScreenLimits,
    SearchHit,
    SideEffects,
)

_NO_CURSOR = Cursor(0, 0, visible=False)
_STYLE = CellStyle()


class NoticeScreen:
    """A text on an otherwise empty screen; fits `Screen`. What the program prints is not looked at."""

    name = NO_EMULATOR

    def __init__(self, text: str, limits: ScreenLimits) -> None:
        """Show a text; its lines are wrapped at the screen's width."""
        self._text = text
        self._columns, self._rows = clamp_size(limits.columns, limits.rows)
        self._is_sent = False

    def feed(self, data: bytes) -> None:
        """Ignore what the program prints: clients that ask for it get it as it is."""

    def take_side_effects(self) -> SideEffects:
        """Return that nothing happened."""
        return SideEffects()

    def frame(self, *, full: bool = False) -> Frame | None:
        """Return the text once for each size."""
        if self._is_sent and not full:
            return None
        self._is_sent = True
        rows = tuple(enumerate(self._lines()))
        return Frame(self._columns, self._rows, rows, _NO_CURSOR, True, 0, 0, alternate=False, mouse=False)

    def hold_left(self) -> float:
        """Return that nothing holds the picture."""
        return 0.0

    def resize(self, columns: int, rows: int) -> None:
        """Wrap the text anew."""
        self._columns, self._rows = clamp_size(columns, rows)
        self._is_sent = False

    def recolour(self, foreground: int, background: int, *, dark: bool) -> None:
        """Do nothing: the program cannot ask for the colours."""

    def scroll(self, delta: int) -> None:
        """Do nothing: there is no scrollback."""

    def scroll_to_bottom(self) -> None:
        """Do nothing: there is no scrollback."""

    def encode_key(self, key: Key) -> bytes:
        """Return nothing: nobody sees what a key would do."""
        return b""

    def encode_mouse(self, mouse: Mouse) -> bytes:
        """Return nothing."""
        return b""

    def encode_paste(self, text: str) -> bytes:
        """Return nothing."""
        return b""

    def encode_focus(self, *, gained: bool) -> bytes:
        """Return nothing."""
        return b""

    def lines(self, first: int, count: int) -> tuple[str, ...]:
        """Return plain lines of the text."""
        return tuple("".join(run.text for run in row) for row in self.styled_rows(first, count))

    def styled_rows(self, first: int, count: int) -> tuple[Row, ...]:
        """Return lines of the text."""
        first = max(0, first)
        return self._lines()[first : first + max(0, count)]

    def goes_on(self, first: int, count: int) -> tuple[int, ...]:
        """Return that every line ends."""
        return ()

    def trimmed(self) -> int:
        """Return that no row is lost."""
        return 0

    def search(self, text: str, limit: int = 1000) -> tuple[SearchHit, ...]:
        """Find nothing."""
        return ()

    def dump(self) -> bytes:
        """Return nothing: the last dump of an emulator is worth more."""
        return b""

    def close(self) -> None:
        """Do nothing."""

    def _lines(self) -> tuple[Row, ...]:
        width = self._columns - 2
        lines = (
            [line for part in self._text.split("\n") for line in textwrap.wrap(part, width) or [""]] if width else []
        )
        rows = [(Run(f" {line}", _STYLE, len(line) + 1),) if line else () for line in ["", *lines]]
        return (*rows, *[()] * self._rows)[: self._rows]

"""A terminal's picture at the client: rows decoded from the host's messages. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from oulipoly_engine.terminal.protocol.messages import Picture, RowsAnswer, WireRow, WireStyle
from oulipoly_engine.terminal.protocol.screen import CellStyle, Cursor, Row, Run

_UNKNOWN = CellStyle()


class RemoteScreen:
    """The rows that a client shows."""

    def __init__(self) -> None:
        self.columns = self.height = 0
        self.rows: list[Row] = []
        self.cursor = Cursor(0, 0, visible=False)
        self.scrollback = self.offset = 0
        self.alternate = self.mouse = False
        self._styles: dict[int, CellStyle] = {}

    def apply(self, picture: Picture) -> tuple[int, ...]:
        """Apply a picture and return the numbers of the rows that changed: all of them when it is full."""
        self._add_styles(picture.styles, resets_styles=picture.resets_styles)
        self.columns, self.height = picture.columns, picture.rows
        if picture.full or len(self.rows) != picture.rows:
            self.rows = [()] * picture.rows
        for y, row in self._decode(picture.changed):
            if y < len(self.rows):
                self.rows[y] = row
        x, y, visible, shape = picture.cursor
        self.cursor = Cursor(x, y, visible, shape)
        self.scrollback, self.offset = picture.scrollback, picture.offset
        self.alternate, self.mouse = picture.alternate, picture.mouse
        return tuple(range(len(self.rows))) if picture.full else tuple(y for y, _ in picture.changed)

    def answered_rows(self, answer: RowsAnswer) -> tuple[tuple[int, Row], ...]:
        """Return the rows of an answer with their lines, counted from the oldest."""
        self._add_styles(answer.styles, resets_styles=answer.resets_styles)
        return tuple(self._decode(answer.rows))

    def text(self) -> list[str]:
        """Return the rows as plain text."""
        return ["".join(run.text for run in row) for row in self.rows]

    def last_lines(self) -> tuple[str, ...]:
        """Return what the program leaves on its screen, as text; nothing where it had a screen of its own."""
        lines = [] if self.alternate else [line.rstrip() for line in self.text()]
        while lines and not lines[-1]:
            lines.pop()
        return tuple(lines)

    def _add_styles(self, styles: Iterable[WireStyle], *, resets_styles: bool) -> None:
        if resets_styles:
            self._styles.clear()
        for number, foreground, background, attrs, link in styles:
            self._styles[number] = CellStyle(foreground, background, attrs, link)

    def _decode(self, rows: Iterable[WireRow]) -> list[tuple[int, Row]]:
        style = self._styles.get
        return [
            (y, tuple(Run(text, style(number, _UNKNOWN), width) for text, number, width in runs)) for y, runs in rows
        ]

"""The viewport as it is sent to clients: rows in wire form, each style sent once with its number. Pure.

For each client it is known which rows it has not been sent yet. That set never grows beyond the viewport, so a slow
client is behind by one full picture at most.
"""

from __future__ import annotations

from collections.abc import Iterable

from oulipoly_engine.terminal.protocol.messages import Picture, WireRow, WireStyle
from oulipoly_engine.terminal.protocol.screen import CellStyle, Frame, Row

STYLES_KEPT = 16_384  # before numbering begins afresh; a gradient over a whole screen has 4,800


class StyleNumbers:
    """The numbers of styles, the same for all clients."""

    def __init__(self) -> None:
        self.generation = 0
        self.styles: list[WireStyle] = []  # in the order of their numbers
        self._numbers: dict[CellStyle, int] = {}

    def encode(self, y: int, row: Row) -> WireRow:
        """Return a row in wire form; a new style gets a number."""
        return y, tuple((run.text, self._number(run.style), run.width) for run in row)

    def reset_if_full(self) -> bool:
        """Forget every number if there are too many. Returns whether it did; rows in wire form are void then."""
        if len(self.styles) < STYLES_KEPT:
            return False
        self.generation += 1
        self.styles.clear()
        self._numbers.clear()
        return True

    def _number(self, style: CellStyle) -> int:
        number = self._numbers.get(style)
        if number is None:
            number = self._numbers[style] = len(self.styles)
            self.styles.append((number, style.foreground, style.background, int(style.attrs), style.link))
        return number


class UnsentRows:
    """What one client has not been sent yet."""

    def __init__(self) -> None:
        self.rows: set[int] = set()
        self.is_full = True
        self.has_moved = True  # the cursor, or anything but the rows
        self._generation = -1
        self._styles = 0
        self._number = 0

    def has_any(self) -> bool:
        """Return whether there is anything to send."""
        return self.is_full or self.has_moved or bool(self.rows)

    def styles_for(self, style_numbers: StyleNumbers) -> tuple[tuple[WireStyle, ...], bool]:
        """Return the styles that this client has not been sent, and whether their numbers start again at 0."""
        resets_styles = self._generation != style_numbers.generation
        styles = tuple(style_numbers.styles[0 if resets_styles else self._styles :])
        self._generation, self._styles = style_numbers.generation, len(style_numbers.styles)
        return styles, resets_styles

    def next_number(self) -> int:
        """Return the number of the next picture."""
        self._number += 1
        return self._number


class Viewport:
    """The last complete picture."""

    def __init__(self) -> None:
        self.style_numbers = StyleNumbers()
        self._rows: list[Row] = []
        self._wire: list[WireRow | None] = []
        self._frame: Frame | None = None

    @property
    def frame(self) -> Frame | None:
        """Return the last frame; `changed` of it is not all that is shown."""
        return self._frame

    @property
    def is_known(self) -> bool:
        """Return whether there has been any picture."""
        return self._frame is not None

    @property
    def trimmed(self) -> int:
        """Return how many rows the scrollback had lost when the last frame was made."""
        return 0 if self._frame is None else self._frame.trimmed

    def forget(self) -> None:
        """Treat the next frame as the first, because the size has changed."""
        self._frame = None

    def add_frame(self, frame: Frame, unsent_rows: Iterable[UnsentRows]) -> None:
        """Add what changed to the picture, and to the unsent rows of every client."""
        if frame.full or len(self._rows) != frame.rows:
            self._rows = [()] * frame.rows
            self._wire = [None] * frame.rows
        for y, row in frame.changed:
            self._rows[y] = row
            self._wire[y] = None
        self._frame = frame
        for unsent in unsent_rows:
            unsent.has_moved = True
            if frame.full:
                unsent.is_full = True
            elif not unsent.is_full:
                unsent.rows.update(y for y, _ in frame.changed)

    def next_picture(self, unsent: UnsentRows) -> Picture | None:
        """Return a picture of what a client has not been sent; None before the first frame."""
        frame = self._frame
        if frame is None:
            return None
        self._reset_styles_if_full()
        full = unsent.is_full
        changed = tuple(self._wire_row(y) for y in (range(len(self._rows)) if full else sorted(unsent.rows)))
        unsent.rows.clear()
        unsent.is_full = unsent.has_moved = False
        return self._picture(unsent, frame, changed, full=full)

    def scrollback_picture(self, unsent: UnsentRows, frame: Frame, rows: Iterable[Row]) -> Picture:
        """Return a picture of rows that one client alone sees. frame: everything but the rows."""
        self._reset_styles_if_full()
        return self._picture(
            unsent, frame, tuple(self.style_numbers.encode(y, row) for y, row in enumerate(rows)), full=True
        )

    def _reset_styles_if_full(self) -> None:
        if self.style_numbers.reset_if_full():
            self._wire = [None] * len(self._rows)

    def _picture(self, unsent: UnsentRows, frame: Frame, changed: tuple[WireRow, ...], *, full: bool) -> Picture:
        styles, resets_styles = unsent.styles_for(self.style_numbers)
        cursor = frame.cursor
        return Picture(
            number=unsent.next_number(),
            columns=frame.columns,
            rows=frame.rows,
            full=full,
            styles=styles,
            changed=changed,
            cursor=(cursor.x, cursor.y, cursor.visible, cursor.shape),
            scrollback=frame.scrollback,
            offset=frame.offset,
            alternate=frame.alternate,
            mouse=frame.mouse,
            resets_styles=resets_styles,
        )

    def _wire_row(self, y: int) -> WireRow:
        row = self._wire[y]
        if row is None:
            row = self._wire[y] = self.style_numbers.encode(y, self._rows[y])
        return row

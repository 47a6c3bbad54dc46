"""Which lines go on in the next one, and how many the scrollback has lost."""

from __future__ import annotations

from typing import Any

from oulipoly_engine.terminal.emulators.ghostty.ffi import Library, check, new_struct


class LineNumbers:
    """The lines of a terminal, counted from the oldest that is kept."""

    def __init__(self, library: Library, terminal: Any) -> None:  # noqa: ANN401 - cffi's values have no types
        self._ffi, self._lib = library
        self._terminal = terminal
        # By address and a twin's signature, because cffi passes no unions by value (scripts/make-ghostty-abi).
        self._grid_reference = self._function(
            "ghostty_terminal_grid_ref", "GhosttyTerminal, PointTwin, GhosttyGridRef*"
        )
        self._track = self._function(
            "ghostty_terminal_grid_ref_track", "GhosttyTerminal, PointTwin, GhosttyTrackedGridRef*"
        )
        self._move = self._function("ghostty_tracked_grid_ref_set", "GhosttyTrackedGridRef, GhosttyTerminal, PointTwin")
        self._point = self._ffi.new("PointTwin*")
        self._point.tag = self._lib.GHOSTTY_POINT_TAG_SCREEN
        self._place = self._ffi.new("GhosttyPointCoordinate*")
        self._anchor = self._ffi.new("GhosttyTrackedGridRef*")
        self._anchored: tuple[int, int] | None = None  # the line that it stood in, and the rows that there were
        self._is_resized = True
        self.known_trimmed = 0  # at the last look

    def goes_on(self, first: int, count: int) -> tuple[int, ...]:
        """Return the lines that the terminal has broken because they were full: each goes on in the next one."""
        reference = new_struct(self._ffi, "GhosttyGridRef")
        row, is_wrapped = self._ffi.new("GhosttyRow*"), self._ffi.new("bool*")
        continued = []
        for line in range(first, first + count):
            if self._grid_reference(self._terminal, self._at(line), reference) != self._lib.GHOSTTY_SUCCESS:
                break
            check(self._lib.ghostty_grid_ref_row(reference, row), "row")
            check(self._lib.ghostty_row_get(row[0], self._lib.GHOSTTY_ROW_DATA_WRAP, is_wrapped), "wrap")
            if is_wrapped[0]:
                continued.append(line)
        return tuple(continued)

    def trimmed(self, scrollback: int, rows: int) -> int:
        """Return how many lines have been trimmed so far, as seen from the primary screen.

        The library does not count them. It follows a place, though: the newest row of the scrollback moves only when
        older ones go. If it has gone itself, so has everything that could be seen when it was looked at last.
        """
        if self._anchored is not None and not self._is_resized:
            shift = self._shift(*self._anchored, scrollback)
            if not shift and self._anchored == (scrollback - 1, scrollback + rows):
                return self.known_trimmed  # as nearly always
            self.known_trimmed += shift
        line = max(0, scrollback - 1)
        if self._anchored is None:
            check(self._track(self._terminal, self._at(line), self._anchor), "following a row")
        else:
            check(self._move(self._anchor[0], self._terminal, self._at(line)), "following another row")
        self._anchored, self._is_resized = (line, scrollback + rows), False
        return self.known_trimmed

    def forget_anchor(self) -> None:
        """Forget where the last row was: lines were wrapped again."""
        self._is_resized = True

    def close(self) -> None:
        """Release everything; to be called before the terminal is released."""
        if self._anchored is not None:
            self._lib.ghostty_tracked_grid_ref_free(self._anchor[0])
            self._anchored = None

    def _shift(self, line: int, total: int, scrollback: int) -> int:
        tag = self._lib.GHOSTTY_POINT_TAG_SCREEN
        if self._lib.ghostty_tracked_grid_ref_point(self._anchor[0], tag, self._place) != self._lib.GHOSTTY_SUCCESS:
            return total
        now = int(self._place.y)
        if now == 0 and line > 0:
            # It is moved to the first row also when it was erased with all others, and may have gone on since.
            return total if scrollback else line + 1
        return max(0, line - now)

    def _at(self, line: int) -> Any:  # noqa: ANN401 - as above
        self._point.value.y = line
        return self._point[0]

    def _function(self, name: str, signature: str) -> Any:  # noqa: ANN401 - as above
        return self._ffi.cast(f"GhosttyResult(*)({signature})", self._ffi.addressof(self._lib, name))

"""One line on a terminal's stderr while several things are waited for; nothing where stderr is no terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from oulipoly_engine.cli import diagnostics


class Progress:
    """Counts what is done; the line is wiped at the end."""

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._is_shown = diagnostics.is_terminal() and total > 0

    def __enter__(self) -> Self:
        """Show the line."""
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipe the line."""
        if self._is_shown:
            diagnostics.write_bytes(b"\r\x1b[K")

    def step(self, _result: object = None) -> None:
        """Count one more as done."""
        self._done += 1
        self._draw()

    def _draw(self) -> None:
        if self._is_shown:
            diagnostics.write_bytes(f"\r\x1b[K{self._what} {self._done}/{self._total} …".encode())

"""Waiting for several things at once: one line on a terminal's stderr, and a signal that ends what was started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self

from oulipoly_engine.facade import diagnostics
from oulipoly_engine.facade.base.own_process import interruptible


class Progress:
    """Counts what is done; the line is wiped at the end.

    Within the block INT, TERM, HUP and QUIT raise Interrupted, so that scripts which run in threads are stopped.
    """

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._guarded = ExitStack()
        self._is_shown = diagnostics.is_terminal() and total > 0

    def __enter__(self) -> Self:
        """Show the line, and let signals interrupt."""
        self._guard = self._guarded.enter_context(interruptible())
        self._guard.arm()
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipe the line."""
        self._guard.disarm()
        self._guarded.close()
        if self._is_shown:
            diagnostics.show_progress("")

    def step(self, _result: object = None) -> None:
        """Count one more as done."""
        self._done += 1
        self._draw()

    def _draw(self) -> None:
        if self._is_shown:
            diagnostics.show_progress(f"{self._what} {self._done}/{self._total} …")


@contextmanager
def show_quota_progress(total: int) -> Iterator[Callable[[object], None]]:
    """Count the accounts whose quota is read."""
    with Progress("reading quota", total) as progress:
        yield progress.step

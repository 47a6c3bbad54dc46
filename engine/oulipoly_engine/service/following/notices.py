"""Which transcript is waited for by whom: the follower of all folders tells those that show one of them.

So an append to a shown session is noticed once, whoever looks at it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Notices:
    """Passes notices on between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[Callable[[], None], ...]] = {}
        self._covers: Callable[[str], bool] | None = None

    def covers(self, path: str) -> bool:
        """Tell whether somebody tells of a file as soon as it is written."""
        covers = self._covers
        return covers is not None and covers(path)

    def cover(self, covers: Callable[[str], bool] | None) -> None:
        """Say of which files will be told from now on, None for none; all that wait look again."""
        with self._lock:
            self._covers = covers
            for told in self._waiting.values():
                for tell in told:
                    tell()

    def join(self, path: str, tell: Callable[[], None]) -> None:
        """Be told of a file by whichever thread. tell: returns at once."""
        with self._lock:
            self._waiting[path] = (*self._waiting.get(path, ()), tell)

    def leave(self, path: str, tell: Callable[[], None]) -> None:
        """Be told no more, once this has returned."""
        with self._lock:
            left = tuple(one for one in self._waiting.pop(path, ()) if one != tell)
            if left:
                self._waiting[path] = left

    def tell(self, path: str) -> None:
        """Say that something has happened to a file."""
        if path in self._waiting:
            with self._lock:
                for tell in self._waiting.get(path, ()):
                    tell()

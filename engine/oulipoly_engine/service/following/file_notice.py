"""Sleep until one file is written: Linux tells (inotify); elsewhere nobody does, and the file must be looked at often.

Not watchfiles: it looks every few milliseconds whether anything was told, which costs more than a file's own `stat`.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.service.following.folder_watch import is_remote

_MODIFIED, _ATTRIBUTES, _DELETED, _MOVED = 0x2, 0x4, 0x400, 0x800
_LOOK_MS = 500  # what is written through a mapping, or by another machine after all, is told by nobody
_CHUNK = 1 << 16


class FileNotice:
    """Tells one thread that a file may have changed; `interrupt` may be called by any."""

    def __init__(self, path: Path) -> None:
        self._path = os.fsencode(path)
        self._told = self._watch_of = -1  # the kernel's queue, and which watch of it is the file's
        self._woken, self._waker = os.pipe()
        if sys.platform == "linux" and not is_remote(str(path.parent)):
            self._begin()

    def wait(self) -> None:
        """Return when the file may have changed, after half a second at most; at once where nobody tells."""
        if not self._is_watched():
            return
        waiting = select.poll()
        waiting.register(self._told, select.POLLIN)
        waiting.register(self._woken, select.POLLIN)
        if any(descriptor == self._told for descriptor, _ in waiting.poll(_LOOK_MS)):
            with suppress(OSError):
                os.read(self._told, _CHUNK)

    def interrupt(self) -> None:
        """End the wait, and every later one at once."""
        with suppress(OSError):
            os.write(self._waker, b"!")

    def close(self) -> None:
        """Let go of it; nobody may be waiting."""
        for descriptor in (self._told, self._woken, self._waker):
            if descriptor >= 0:
                with suppress(OSError):
                    os.close(descriptor)
        self._told = self._woken = self._waker = -1

    def _begin(self) -> None:
        import ctypes  # noqa: PLC0415 - 5 ms, only who watches a file needs it

        with suppress(OSError, AttributeError):  # a C library without inotify
            library = ctypes.CDLL(None)
            self._told = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)  # -1: too many are open
            self._add: Callable[[int, bytes, int], int] = library.inotify_add_watch

    def _is_watched(self) -> bool:
        """Watch what has the path's name now; False: nothing has, or it is new and must be looked at first."""
        if self._told < 0:
            return False
        before = self._watch_of
        self._watch_of = self._add(self._told, self._path, _MODIFIED | _ATTRIBUTES | _DELETED | _MOVED)
        return self._watch_of >= 0 and self._watch_of == before

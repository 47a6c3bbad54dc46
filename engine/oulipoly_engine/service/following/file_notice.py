"""Sleep until one file is written: whoever watches all transcripts tells, else Linux does (inotify).

Elsewhere nobody tells at once, and the file must be looked at often: its `stat` costs less than watchfiles, which looks
every few milliseconds whether anything was told.
"""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.service.following.folder_events import open_queue
from oulipoly_engine.service.following.folder_watch import is_remote
from oulipoly_engine.service.following.notices import Notices

_MODIFIED, _ATTRIBUTES, _DELETED, _MOVED = 0x2, 0x4, 0x400, 0x800
_LOOK_MS = 500  # what is written through a mapping, or by another machine after all, is told by nobody
_CHUNK = 1 << 16


class FileNotice:
    """Tells one thread that a file may have changed; `interrupt` may be called by any."""

    def __init__(self, path: Path, notices: Notices) -> None:
        self._text = os.path.abspath(path)  # noqa: PTH100 - the form in which all transcripts are known
        self._path = os.fsencode(path)
        self._notices = notices
        self._told = self._watch_of = -1  # the kernel's queue, and which watch of it is the file's
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        self._is_interrupted = self._is_covered = False
        self._can_watch = sys.platform == "linux" and not is_remote(str(path.parent))
        notices.join(self._text, self._wake)

    def wait(self) -> None:
        """Return when the file may have changed, after half a second at most; at once where nobody tells."""
        before, self._is_covered = self._is_covered, self._notices.covers(self._text)
        if self._is_covered:
            self._let_go()
            if before:
                self._sleep(self._woken)
        elif self._is_watched():
            self._sleep(self._woken, self._told)

    def interrupt(self) -> None:
        """End the wait, and every later one at once."""
        self._is_interrupted = True
        self._wake()

    def close(self) -> None:
        """Let go of it; nobody may be waiting."""
        self._notices.leave(self._text, self._wake)
        self._let_go()
        for descriptor in (self._woken, self._waker):
            if descriptor >= 0:
                os.close(descriptor)
        self._woken = self._waker = -1

    def _wake(self) -> None:
        with suppress(OSError):  # so often that the pipe is full
            os.write(self._waker, b"!")

    def _sleep(self, *descriptors: int) -> None:
        if self._is_interrupted:
            return
        waiting = select.poll()
        for descriptor in descriptors:
            waiting.register(descriptor, select.POLLIN)
        for descriptor, _ in waiting.poll(_LOOK_MS):
            with suppress(OSError):
                os.read(descriptor, _CHUNK)

    def _let_go(self) -> None:
        if self._told >= 0:
            os.close(self._told)
        self._told = self._watch_of = -1

    def _is_watched(self) -> bool:
        """Watch what has the path's name now; False: nothing has, or it is new and must be looked at first."""
        if self._told < 0 and self._can_watch:
            try:
                self._told, self._add = open_queue()
            except OSError:
                self._can_watch = False
        if self._told < 0:
            return False
        before = self._watch_of
        self._watch_of = self._add(self._told, self._path, _MODIFIED | _ATTRIBUTES | _DELETED | _MOVED)
        return self._watch_of >= 0 and self._watch_of == before

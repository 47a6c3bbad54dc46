"""Sleep until one file is written: whoever watches all transcripts tells, else Linux does.

Elsewhere nobody tells at once, and the file must be looked at often: its `stat` costs less than watchfiles, which looks
every few milliseconds whether anything was told.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.service.following.folder_events import KernelEvents
from oulipoly_engine.service.following.folder_watch import is_remote
from oulipoly_engine.service.following.notices import Notices

_LOOK_S = 0.5  # what is written through a mapping, or by another machine after all, is told by nobody


class FileNotice:
    """Tells one thread that a file may have changed; `interrupt` may be called by any."""

    def __init__(self, path: Path, notices: Notices) -> None:
        self._path = os.path.abspath(path)  # noqa: PTH100 - the form in which all transcripts are known
        self._notices = notices
        self._told = threading.Event()
        self._is_interrupted = self._is_covered = False
        self._own: KernelEvents | None = None  # where nobody else tells
        self._can_watch = sys.platform == "linux" and not is_remote(str(path.parent))
        notices.join(self._path, self._told.set)

    def wait(self) -> None:
        """Return when the file may have changed, after half a second at most; at once where nobody tells."""
        is_covered = self._notices.covers(self._path)
        if is_covered != self._is_covered:  # what came in between must be looked at
            self._is_covered = is_covered
            self._let_go()
        elif self._is_interrupted:
            return
        elif is_covered or self._own is not None:
            self._told.wait(_LOOK_S)
            self._told.clear()
        elif self._can_watch:
            self._watch()

    def interrupt(self) -> None:
        """End the wait, and every later one at once."""
        self._is_interrupted = True
        self._told.set()

    def close(self) -> None:
        """Let go of it; nobody may be waiting."""
        self._notices.leave(self._path, self._told.set)
        self._let_go()

    def _watch(self) -> None:
        """Watch the file's folder, so that one in its place is told of too."""
        with suppress(OSError):
            self._own = KernelEvents(lambda path: self._told.set() if path == self._path else None, is_gathering=False)
        if self._own is None or not self._own.add(os.path.dirname(self._path)):  # noqa: PTH120 - text
            self._can_watch = False
            self._let_go()

    def _let_go(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            own.close()

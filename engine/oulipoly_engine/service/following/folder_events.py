"""Tell what happens in folders, by the kernel's events: Linux' own (inotify), elsewhere through watchfiles.

watchfiles looks every few milliseconds whether anything was told, which costs more than a thread that the kernel wakes,
and tells a pause later.
"""

from __future__ import annotations

import os
import select
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol

_MODIFIED, _ATTRIBUTES, _MOVED_FROM, _MOVED_TO, _CREATED, _DELETED = 0x2, 0x4, 0x40, 0x80, 0x100, 0x200
_ONLY_FOLDERS, _OVERFLOWN, _IGNORED = 0x1000000, 0x4000, 0x8000
_MASK = _MODIFIED | _ATTRIBUTES | _MOVED_FROM | _MOVED_TO | _CREATED | _DELETED | _ONLY_FOLDERS
_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_CHUNK = 1 << 16
_GATHER_S = 0.01  # from the first event on: a CLI writes several lines in a row
_STEP_MS, _DEBOUNCE_MS = 10, 50  # of watchfiles: 12 ms from append to event at 0.8 % of a core; 1 ms would take 3 %
_QUIET_STEP_MS, _QUIET_AFTER_S = 50, 10.0  # a fifth of that, where nothing has happened for a while
_CLOSING_PATIENCE_S = 2.0


class FolderEvents(Protocol):
    """What tells of changes in folders."""

    is_prompt: bool  # `told` is called as soon as something has happened, even while nobody waits

    def add(self, folder: str) -> bool:
        """Watch a folder, without those below it; False: the kernel watches no more of them."""

    def wait(self, timeout_s: float, stopped: threading.Event) -> set[str]:
        """Return the paths of what has changed. Raises OSError where events were lost."""

    def interrupt(self) -> None:
        """Let a wait look whether it was stopped."""

    def close(self) -> None:
        """End it; nobody may be waiting."""


def folder_events(folders: Sequence[str], told: Callable[[str], None]) -> FolderEvents:
    """Begin to watch some folders; told: called with each path, in another thread, where that is prompt.

    Raises OSError, RuntimeError or ImportError where it is impossible.
    """
    return KernelEvents(told) if sys.platform == "linux" else LibraryEvents(folders)


class KernelEvents:
    """Events of Linux, taken by a thread of its own."""

    is_prompt = True

    def __init__(self, told: Callable[[str], None], *, is_gathering: bool = True) -> None:
        """Begin with no folder. Raises OSError where too many are open, or the C library has none.

        is_gathering: for somebody who waits; without it each path is only told.
        """
        import ctypes  # noqa: PLC0415 - 5 ms, only who watches needs it

        try:
            library = ctypes.CDLL(None)
            self._add: Callable[[int, bytes, int], int] = library.inotify_add_watch
            self._queue: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except AttributeError as error:
            raise OSError(0, "the C library has no inotify") from error
        if self._queue < 0:
            raise OSError(0, "too many queues are open")
        self._is_gathering = is_gathering
        self._told = told
        self._folders: dict[int, str] = {}
        self._arrived = threading.Condition()
        self._paths: set[str] = set()
        self._is_lost = False
        self._woken, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._run, name="folder-events", daemon=True)
        self._thread.start()

    def add(self, folder: str) -> bool:
        """Watch a folder, without those below it; False: the kernel watches no more of them."""
        watch = self._add(self._queue, os.fsencode(folder), _MASK)
        if watch >= 0:
            self._folders[watch] = folder  # also of one that was moved here
            return True
        try:
            os.stat(folder)  # noqa: PTH116 - text
        except OSError:
            return True  # gone, or closed to us: nothing to watch
        return False

    def wait(self, timeout_s: float, stopped: threading.Event) -> set[str]:
        """Return the paths of what has changed. Raises OSError where events were lost."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._paths or self._is_lost or stopped.is_set(), timeout_s)
            if not (self._paths or self._is_lost):
                return set()
        stopped.wait(_GATHER_S)
        with self._arrived:
            if self._is_lost:
                raise OSError(0, "events were lost")
            found, self._paths = self._paths, set()
            return found

    def interrupt(self) -> None:
        """Let a wait look whether it was stopped."""
        with self._arrived:
            self._arrived.notify_all()

    def close(self) -> None:
        """End it; nobody may be waiting."""
        os.write(self._waker, b"!")
        self._thread.join(_CLOSING_PATIENCE_S)
        for descriptor in (self._queue, self._woken, self._waker):
            os.close(descriptor)

    def _run(self) -> None:
        waiting = select.poll()
        waiting.register(self._queue, select.POLLIN)
        waiting.register(self._woken, select.POLLIN)
        while all(descriptor == self._queue for descriptor, _ in waiting.poll()):
            with suppress(BlockingIOError):
                found = set(self._events(os.read(self._queue, _CHUNK)))
                for path in found:
                    self._told(path)
                if self._is_gathering:
                    with self._arrived:
                        self._paths |= found
                        self._arrived.notify_all()

    def _events(self, data: bytes) -> Iterator[str]:
        at = 0
        while at < len(data):
            watch, mask, _, length = _HEAD.unpack_from(data, at)
            name = data[at + _HEAD.size : at + _HEAD.size + length].rstrip(b"\0")
            at += _HEAD.size + length
            if mask & _OVERFLOWN:
                self._is_lost = True
            elif mask & _IGNORED:
                self._folders.pop(watch, None)
            elif name and (folder := self._folders.get(watch)) is not None:
                yield f"{folder}{os.sep}{os.fsdecode(name)}"


class LibraryEvents:
    """Events by watchfiles, which watches all below some folders."""

    is_prompt = False

    def __init__(self, folders: Sequence[str]) -> None:
        """Watch some folders. Raises OSError, RuntimeError or ImportError where it is impossible."""
        from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 - 60 ms, only who follows needs it

        self._notify = RustNotify(list(folders), False, False, 0, True, True)
        self._busy_at = time.monotonic()

    def add(self, folder: str) -> bool:
        """Do nothing."""
        return True

    def wait(self, timeout_s: float, stopped: threading.Event) -> set[str]:
        """Return the paths of what has changed. Raises OSError where that fails."""
        step = _STEP_MS if time.monotonic() - self._busy_at < _QUIET_AFTER_S else _QUIET_STEP_MS
        try:
            told: object = self._notify.watch(_DEBOUNCE_MS, step, max(1, round(timeout_s * 1000)), stopped)
        except RuntimeError as error:
            raise OSError(0, str(error)) from error
        if not isinstance(told, set):
            return set()
        self._busy_at = time.monotonic()
        return {path for _, path in told}

    def interrupt(self) -> None:
        """Do nothing: a wait looks by itself every few milliseconds."""

    def close(self) -> None:
        """End its thread."""
        self._notify.close()

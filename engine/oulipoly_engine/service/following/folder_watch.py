"""Notice which transcripts change, by the kernel's events where there are any, else by looking at what was busy lately.

Events alone are not trusted: a file made at once in a new folder may be missed, so such folders are looked into, soon
and again a little later, and a walk of everything finds what no event told of.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from heapq import nlargest

from oulipoly_engine.adapters.transcript_file import find_status
from oulipoly_engine.records import Record
from oulipoly_engine.service.following.folder_events import FolderEvents, folder_events
from oulipoly_engine.service.following.notices import Notices

WALK_EVERY_S = 30.0  # 10,000 files take 40 ms
_LOOK_AGAIN_S = (0.15, 0.6, 2.0)  # after a folder was made: it may have been filled before anybody watched it
_ROOTS_EVERY_S = 1.0  # a root that is made, or made anew
_POLL_S, _POLL_FOLDERS_EVERY_S, _POLL_WALK_EVERY_S, _HOT_FILES = 0.25, 2.0, 15.0, 64
_SETTLED_NS = 2_000_000_000  # a change that is older than this and came without an event was missed
# Where one machine's events do not tell of another's writes.
_REMOTE = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs", "lustre", "drvfs", "vboxsf", "prl_fs")


class Root(Record):
    """A folder of transcripts."""

    folder: str  # absolute
    prefix: str  # of a transcript's name, which ends in .jsonl

    def is_transcript(self, name: str) -> bool:
        """Tell whether a file of that name is one."""
        return name.endswith(".jsonl") and name.startswith(self.prefix)


class _Mark(Record):
    size: int
    mtime_ns: int
    inode: int


class FolderWatch:
    """Knows every transcript below some roots, and tells which of them have changed. For one thread."""

    def __init__(
        self,
        roots: Sequence[Root],
        stopped: threading.Event,
        *,
        walk_every_s: float = WALK_EVERY_S,
        notices: Notices | None = None,
    ) -> None:
        """notices: are told of each event at once, where the kernel does so."""
        self.is_polling = False
        self.walks = 0
        self._roots = tuple(roots)
        self._stopped = stopped
        self._walk_every_s = walk_every_s
        self._notices = notices or Notices()
        self._events: FolderEvents | None = None
        self._seen: tuple[tuple[int, int] | None, ...] = ()  # device and inode of each root
        self._files: dict[str, _Mark] = {}
        self._folders: dict[str, Root] = {}
        self._folder_times: dict[str, int] = {}
        self._hot: list[str] = []
        self._again: list[tuple[float, str]] = []  # when to look into a new folder once more
        now = time.monotonic()
        self._walk_at = self._roots_at = self._folders_at = now

    def changes(self, timeout_s: float) -> set[str]:
        """Wait for changes and return the transcripts that are new, grown or rewritten; at the first call all."""
        changed: set[str] = set()
        if time.monotonic() >= self._roots_at:
            changed |= self._look_at_roots()
        if not changed:
            changed |= self._wait(timeout_s)
        now = time.monotonic()
        due = [folder for at, folder in self._again if at <= now]
        self._again = [(at, folder) for at, folder in self._again if at > now]
        for folder in dict.fromkeys(due):
            changed |= self._look_into(folder)
        if now >= self._walk_at:
            changed |= self._find_missed()
        return changed

    def stat_of(self, path: str) -> tuple[int, int]:
        """Return a transcript's size and the nanosecond of its last change; 0 for an unknown one."""
        mark = self._files.get(path)
        return (0, 0) if mark is None else (mark.size, mark.mtime_ns)

    def interrupt(self) -> None:
        """Let a wait look whether it was stopped; for any thread."""
        events = self._events
        if events is not None:
            events.interrupt()

    def close(self) -> None:
        """Let go of the kernel's watches."""
        self._notices.cover(None)
        events, self._events = self._events, None
        if events is not None:
            events.close()

    def _look_at_roots(self) -> set[str]:
        self._roots_at = time.monotonic() + _ROOTS_EVERY_S
        seen = tuple(_identity(root.folder) for root in self._roots)
        if seen == self._seen:
            return set()
        self._seen = seen
        self._begin()
        return self._walk()

    def _begin(self) -> None:
        """Watch the roots that there are, from before they are walked."""
        self.close()
        folders = [root.folder for root, seen in zip(self._roots, self._seen, strict=True) if seen is not None]
        if not folders:
            self.is_polling = False
            return
        try:
            self._events = None if any(map(is_remote, folders)) else folder_events(folders, self._notices.tell)
        except (OSError, RuntimeError, ImportError):  # no watches left, no descriptors left, no watchfiles
            self._events = None
        self.is_polling = self._events is None
        if self._events is not None and self._events.is_prompt:
            self._notices.cover(lambda path: path in self._files)

    def _wait(self, timeout_s: float) -> set[str]:
        ends = [self._walk_at, self._roots_at, *(at for at, _ in self._again)]
        patience = max(0.0, min(timeout_s, min(ends) - time.monotonic()))
        if self._events is None:
            self._stopped.wait(min(patience, _POLL_S))
            return self._poll() if self.is_polling else set()
        try:
            told = self._events.wait(patience, self._stopped)
        except OSError:
            self._seen = ()  # begin again
            return set()
        changed: set[str] = set()
        for path in told:
            changed |= self._look_at_path(path)
        return changed

    def _look_at_path(self, path: str) -> set[str]:
        folder, _, name = path.rpartition(os.sep)
        root = self._folders.get(folder)
        if root is None:
            outermost = self._unknown_folder(folder)
            return set() if outermost is None else self._look_at_new(outermost)
        if root.is_transcript(name):
            return self._look_at_file(path)
        # The kernel tells of a known folder when it goes and another one comes, which is not watched yet.
        is_new = path not in self._folders or (self._events is not None and self._events.is_prompt)
        return self._look_at_new(path) if is_new and _is_folder(path) else set()

    def _unknown_folder(self, folder: str) -> str | None:
        """Return the outermost folder on the way to a path that is not known yet; None if a link is on that way."""
        found = None
        while folder not in self._folders:
            if not _is_folder(folder):
                return None
            found = folder
            folder, _, _ = folder.rpartition(os.sep)
            if not folder:
                return None
        return found

    def _look_at_new(self, folder: str) -> set[str]:
        now = time.monotonic()
        self._again += ((now + later, folder) for later in _LOOK_AGAIN_S)
        return self._look_into(folder)

    def _look_into(self, folder: str, *, is_deep: bool = True) -> set[str]:
        root = self._folders.get(folder) or self._folders.get(folder.rpartition(os.sep)[0])
        if root is None:
            return set()
        return self._compare(dict(self._walk_folder(folder, root, is_deep=is_deep)))

    def _look_at_file(self, path: str) -> set[str]:
        mark = _mark(path)
        if mark is None:
            self._files.pop(path, None)
            return set()
        return self._compare({path: mark})

    def _compare(self, files: dict[str, _Mark]) -> set[str]:
        known = self._files
        changed = {path for path, mark in files.items() if known.get(path) != mark}
        known.update(files)
        return changed

    def _find_missed(self) -> set[str]:
        """Walk everything; where events should have told and did not, watch anew."""
        changed = self._walk()
        settled = time.time_ns() - _SETTLED_NS
        if self._events is not None and any(self._files[path].mtime_ns < settled for path in changed):
            self._begin()
            changed |= self._walk()  # what came in between
        return changed

    def _walk(self) -> set[str]:
        self.walks += 1
        self._walk_at = time.monotonic() + (_POLL_WALK_EVERY_S if self.is_polling else self._walk_every_s)
        before, self._folders, files = self._folders, {}, {}
        for root in self._roots:
            for path, mark in self._walk_folder(root.folder, root):
                files[path] = mark
            if self._stopped.is_set():
                self._folders |= before
                return set()
        known, self._files = self._files, files
        return {path for path, mark in files.items() if known.get(path) != mark}

    def _walk_folder(self, folder: str, root: Root, *, is_deep: bool = True) -> Iterator[tuple[str, _Mark]]:
        """Yield the transcripts below a folder; links to folders are not followed, unreadable ones left out.

        is_deep: look into known folders too.
        """
        waiting = [folder]
        while waiting and not self._stopped.is_set():
            folder = waiting.pop()
            with suppress(OSError), os.scandir(folder) as entries:
                if self._events is not None and not self._events.add(folder):
                    self._watch_no_more()
                self._folders[folder] = root
                for entry in entries:
                    with suppress(OSError):  # gone since
                        if root.is_transcript(entry.name):
                            status = entry.stat(follow_symlinks=False)
                            if stat.S_ISREG(status.st_mode):
                                yield entry.path, _Mark(status.st_size, status.st_mtime_ns, status.st_ino)
                        elif entry.is_dir(follow_symlinks=False) and (is_deep or entry.path not in self._folders):
                            waiting.append(entry.path)

    def _watch_no_more(self) -> None:
        """Look at files instead: the kernel watches no more folders."""
        self.close()
        self.is_polling = True

    def _poll(self) -> set[str]:
        """Look at the files that were busy lately, and now and then for new ones."""
        changed: set[str] = set()
        for path in self._hot:
            changed |= self._look_at_file(path)
        now = time.monotonic()
        if now >= self._folders_at:
            self._folders_at = now + _POLL_FOLDERS_EVERY_S
            for folder in tuple(self._folders):
                changed_at = _read_mtime_ns(folder)
                if self._folder_times.get(folder) != changed_at:
                    self._folder_times[folder] = changed_at
                    changed |= self._look_into(folder, is_deep=False)
            self._hot = nlargest(_HOT_FILES, self._files, key=lambda path: self._files[path].mtime_ns)
        return changed


def is_remote(folder: str) -> bool:
    """Tell whether a folder lies on another machine's disk; Linux alone says so in a file."""
    with suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:  # noqa: PTH123
        best, kind, real = "", "", os.path.realpath(folder) + os.sep
        for line in mounts:
            left, _, right = line.partition(" - ")
            point = left.split()[4].replace("\\040", " ")
            if real.startswith(point.rstrip(os.sep) + os.sep) and len(point) >= len(best):
                best, kind = point, right.split()[0]
        return kind.startswith(_REMOTE)
    return False


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        status = os.stat(folder)  # noqa: PTH116 - text
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _mark(path: str) -> _Mark | None:
    try:
        status = find_status(path)
    except OSError:
        return None
    return None if status is None else _Mark(status.st_size, status.st_mtime_ns, status.st_ino)


def _read_mtime_ns(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - text
    except OSError:
        return 0


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False

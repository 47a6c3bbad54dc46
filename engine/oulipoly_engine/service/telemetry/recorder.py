"""Keeps telemetry in a file beside the state file; nothing of it is ever sent.

The outbox is the buffer. What has waited long enough, or is enough, is appended to the file by whoever ends a run or a
turn. A process that is killed between writing and `advance` leaves lines that the next one knows by their ids.
"""

from __future__ import annotations

import errno
import fcntl
import hmac
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from oulipoly_engine.core.outbox.telemetry import describe
from oulipoly_engine.core.outbox.topics import OutboxEvent
from oulipoly_engine.private_files import keep_first, open_private
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.outbox import events

READER = "telemetry"
MOST_BYTES = 1 << 20  # of a file; the one before it is kept, and no other
_MOST_WAITING = 100  # events
_LONGEST_WAIT_MS = 30_000
_PAGE = 500
_SALT_BYTES = 32
_HASH_CHARACTERS = 16


class Telemetry:
    """The telemetry of one state file."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.file = store.path.with_name("telemetry.jsonl")
        self.older_file = self.file.with_suffix(".1.jsonl")
        self._salt_file = self.file.with_suffix(".salt")

    def settle(self, now: datetime, *, is_on: bool) -> None:
        """Be told of what happens, or no more, as the setting says; keep what has waited long enough."""
        if is_on != events.is_registered(self._store, READER):
            if is_on:
                events.register(self._store, READER)
            else:
                events.unregister(self._store, READER)
        self.flush(now)

    def flush(self, now: datetime, *, is_all: bool = False) -> None:
        """Keep what waits, once it is due. is_all: it is. A disk that takes nothing costs the events, no run."""
        waiting = events.read_after(self._store, READER, _MOST_WAITING)
        if not waiting:
            return
        is_due = len(waiting) == _MOST_WAITING or now.timestamp() * 1000 - waiting[0].at >= _LONGEST_WAIT_MS
        with suppress(OSError):
            while (is_due or is_all) and self._keep_page():
                pass

    def _keep_page(self) -> bool:
        """Keep the next events that wait, and return whether there were any; another process may be about it."""
        with self._hold() as descriptor:
            if descriptor is None:
                return False
            waiting = events.read_after(self._store, READER, _PAGE)
            if waiting:
                self._append(descriptor, waiting)
                events.advance(self._store, READER, waiting[-1].id)
            return bool(waiting)

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield all that is kept, oldest first; a line that cannot be read is left out."""
        for path in (self.older_file, self.file):
            for line in _read_lines(path):
                with suppress(ValueError):
                    record = json.loads(line)
                    if isinstance(record, dict):
                        yield record

    def clear(self) -> int:
        """Remove all that is kept and all that waits, and return how many events were kept."""
        count = sum(1 for _ in self.read())
        with self._hold():
            while waiting := events.read_after(self._store, READER, _PAGE):
                events.advance(self._store, READER, waiting[-1].id)
            for path in (self.older_file, self.file, self._salt_file):
                path.unlink(missing_ok=True)
        return count

    @contextmanager
    def _hold(self) -> Iterator[int | None]:
        """Hold the file, and lend its descriptor; None: another process holds it."""
        descriptor = open_private(self.file, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            yield None
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _append(self, descriptor: int, waiting: tuple[OutboxEvent, ...]) -> None:
        salt = self._read_salt()

        def hash_id(text: str) -> str:
            return hmac.digest(salt, text.encode("utf-8", "replace"), "sha256").hex()[:_HASH_CHARACTERS] if text else ""

        last = self._find_last()
        records = [describe(event, hash_id) for event in waiting]
        lines = [json.dumps(record, ensure_ascii=False) for record in records if _place_of(record) > last]
        size = os.fstat(descriptor).st_size
        is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"  # its writer was killed, or the disk was full
        data = ("\n" * is_torn + "".join(f"{line}\n" for line in lines)).encode()
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if size + len(data) > MOST_BYTES:
            self.file.replace(self.older_file)

    def _read_salt(self) -> bytes:
        if not self._salt_file.exists():
            keep_first(self._salt_file, os.urandom(_SALT_BYTES))
        return self._salt_file.read_bytes()

    def _find_last(self) -> tuple[str, int]:
        """Return when the last event that is kept has happened, and its id."""
        lines = _read_lines(self.file) or _read_lines(self.older_file)
        for line in reversed(lines):
            with suppress(ValueError, KeyError, TypeError):
                return _place_of(json.loads(line))
        return "", 0


def _place_of(record: dict[str, Any]) -> tuple[str, int]:
    return str(record["at"]), int(record["id"])


def _read_lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError:
        return []

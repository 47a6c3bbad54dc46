"""Make entries of what was said in live sessions where nobody has done so: by hosts of earlier releases, for example.

The time of a file says when somebody has looked last, so that nearly always one question to the state file is all.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions import live_origin

MARK = "live.looked"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SAME_S = 10.0  # a change that is so little older than the last look may have been stored after it


def enter_live(store: Store, folder: Path, *, afresh: bool = False) -> int:
    """Make the entries that are missing and return how many are new.

    folder: of the file that tells the last look. afresh: look at every session, whatever that says.
    """
    mark, now = folder / MARK, time.time()
    changed = live_origin.changed_since(store, _EPOCH if afresh else _read_last_look(mark, now))
    if not changed and mark.exists():
        return 0
    new = 0
    if changed:
        from oulipoly_engine.store.live import live_entries  # noqa: PLC0415 - 15 ms, only where something has happened

        new = sum(live_entries.enter(store, session_id) for session_id in changed)
    with suppress(OSError):  # we look at more the next time
        make_folder(folder)
        write_private(mark, b"")
        os.utime(mark, (now, now))
    return new


def _read_last_look(mark: Path, now: float) -> datetime:
    try:
        looked = mark.stat().st_mtime
    except OSError:
        return _EPOCH
    return datetime.fromtimestamp(looked - _SAME_S, UTC) if looked <= now else _EPOCH  # a clock that was set back

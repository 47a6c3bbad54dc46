"""Whether a CLI has a session open right now, by the marks that it leaves itself. Reads only.

claude 2.1.197 and newer keep `sessions/<pid>.json` beside `projects/` while they run; killed, they leave it behind, so
the process and the instant of its start are looked at too. codex locks `thread-writer-locks/<id>.lock` (seen 2026-11).
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account, StorageType
from oulipoly_engine.core.accounts.clis.adapters import CLIS_BY_STORAGE
from oulipoly_engine.errors import SessionBusy
from oulipoly_engine.process.liveness import is_alive, start_ticks
from oulipoly_engine.regular_files import read_regular


def open_elsewhere(storage_type: StorageType, root: Path, session_id: str) -> str | None:
    """Return who has a session open, in words; None when nobody is known to.

    root: claude's `projects` folder or codex' `sessions` folder.
    """
    if storage_type is StorageType.CLAUDE_CODE:
        pid = next((pid for pid, state in claude_sessions(root) if state.get("sessionId") == session_id), None)
        return None if pid is None else f"{CLIS_BY_STORAGE[storage_type]}, process {pid}"
    if storage_type is StorageType.CODEX_SESSION and _is_locked(_codex_lock(root, session_id)):
        return CLIS_BY_STORAGE[storage_type]
    return None


def refuse_open(account: Account | None, session_id: str, transcript: str | None) -> None:
    """Raise SessionBusy for a session that its CLI has open: two would write it."""
    storage = None if account is None else account.storage
    if storage is None or transcript is None:
        return
    roots = (folder for folder in Path(transcript).parents if folder.name in ("projects", "sessions"))
    for root in roots:
        owner = open_elsewhere(storage.storage_type, root, session_id)
        if owner is not None:
            raise SessionBusy(f"session {session_id} is open in {owner}: end it there first")


def claude_sessions(projects: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield (process id, its state) of every claude that runs in an account's home."""
    for path in sorted((projects.parent / "sessions").glob("*.json")):
        with suppress(OSError, ValueError, RecursionError):
            state = json.loads(read_regular(path))
            pid = state.get("pid") if isinstance(state, dict) else None
            if isinstance(pid, int) and pid > 0 and is_alive(pid) and _is_same(pid, state.get("procStart")):
                yield pid, state


def _is_same(pid: int, told: object) -> bool:
    """Tell whether a process is the one that wrote its start down; where the system tells none, believe it."""
    ticks = start_ticks(pid)
    return ticks is None or told is None or str(told) == str(ticks)


def _codex_lock(sessions: Path, session_id: str) -> Path:
    return sessions.parent / "thread-writer-locks" / f"{session_id}.lock"


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False

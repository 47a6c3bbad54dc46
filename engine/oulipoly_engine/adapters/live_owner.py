"""Whether a CLI is at work on a session right now, by the marks that it leaves itself.

Claude Code (2.1.197 and later) keeps `sessions/<pid>.json` in its configuration folder while it runs, and leaves it
behind when it is killed, so the process and its start are checked. Codex (0.169) holds a lock on
`thread-writer-locks/<thread id>.lock` in its home. Older ones leave no mark. Seen 2026-11.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.regular_files import read_regular

_START = 19  # of the words behind the command's name in /proc/<pid>/stat: field 22, the start in ticks


def claude_owner(transcript: Path, session_id: str) -> int | None:
    """Return the process that has a session open, None when no living one says so."""
    for mark in _marks(transcript):
        try:
            told = json.loads(read_regular(mark))
        except (OSError, ValueError, RecursionError):
            continue  # being written, or another program's
        if isinstance(told, dict) and told.get("sessionId") == session_id and _lives(told):
            return int(told["pid"])
    return None


@contextmanager
def codex_writer(transcript: Path, session_id: str) -> Iterator[bool]:
    """Hold a thread's writer lock for the block, if its Codex has such locks; yields False when another holds it."""
    home = codex_home(transcript)
    path = None if home is None else home / "thread-writer-locks" / f"{session_id}.lock"
    try:
        descriptor = -1 if path is None else os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        descriptor = -1  # never opened by a Codex that locks
    if descriptor < 0:
        yield True
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def codex_home(transcript: Path) -> Path | None:
    """Return the home that a rollout lies in, None when it lies in none."""
    names = ("sessions", "archived_sessions")
    return next((folder.parent for folder in transcript.parents if folder.name in names), None)


def _marks(transcript: Path) -> list[Path]:
    folder = next((one.parent for one in transcript.parents if one.name == "projects"), None)
    if folder is None:
        return []
    try:
        return sorted((folder / "sessions").glob("*.json"))
    except OSError:
        return []


def _lives(told: dict[str, object]) -> bool:
    pid, start = told.get("pid"), told.get("procStart")
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return True  # no /proc on this system: the number alone has to do
    return start is None or len(words) <= _START or str(start) == words[_START]

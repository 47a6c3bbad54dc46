"""The sessions that a claude has open in a terminal, by the mark that it keeps of each while it runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.accounts.session_ids import is_session_id
from oulipoly_engine.core.runs.capture import read_last_words
from oulipoly_engine.service.sessions.owner import claude_sessions


def list_open(root: Path, leader: int, seen: Sequence[str]) -> tuple[str, ...]:
    """Return the sessions seen so far and those that are open now, in order: `/clear` begins another one.

    root: claude's `projects` folder. leader: the process that leads the terminal's session.
    """
    found = list(seen)
    for pid, state in claude_sessions(root):
        name = state.get("sessionId")
        if isinstance(name, str) and is_session_id(name) and name not in found[-1:] and _is_in(pid, leader):
            found.append(name)
    return tuple(found)


def hints(seen: Sequence[str], tail: bytes) -> tuple[str, ...]:
    """Return the ids that a run may have left, the surest first. tail: the last that it printed."""
    told = read_last_words(tail)
    return tuple(dict.fromkeys([*([] if told is None else [told]), *reversed(seen)]))


def _is_in(pid: int, leader: int) -> bool:
    with suppress(OSError):
        return os.getsid(pid) == leader
    return False

"""The log of an agent: lines of ours and what its own runtime writes, in one file that does not grow for ever."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from oulipoly_engine.private_files import make_folder, open_private

_LONGEST = 4 << 20  # bytes; then the older half goes


def find_log(root: Path) -> Path:
    """Return the log of the agent whose tree has this root: beside the trees of all agents."""
    return root.parent.parent / "logs" / "agents" / f"{root.name}.log"


def write_line(path: Path, text: str, now: datetime) -> None:
    """Append a line with its time, without secrets that are known as such."""
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 8 ms, lists of agents need none of it

    line = "; ".join(text.splitlines())
    write_log(path, f"[{now.isoformat(timespec='seconds')}] {redact(line)}\n")


def write_log(path: Path, text: str) -> None:
    """Append a text to a log; a full disk hinders nothing."""
    with suppress(OSError):
        make_folder(path.parent)
        with os.fdopen(open_private(path, os.O_RDWR | os.O_APPEND), "r+b", buffering=0) as file:
            file.write(text.encode("utf-8", "replace"))
            if file.tell() > _LONGEST:
                file.seek(-_LONGEST // 2, os.SEEK_END)
                kept = file.read().partition(b"\n")[2]
                file.truncate(0)
                file.write(kept)

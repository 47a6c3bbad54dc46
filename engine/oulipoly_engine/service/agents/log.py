"""The log of an agent: lines of ours and what its own runtime writes, in one file that does not grow for ever."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.private_files import make_folder, open_private

_LONGEST = 4 << 20  # bytes; then the older half goes


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

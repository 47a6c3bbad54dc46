"""The result files, `invocations/<uuid>.result`: what a wrapper that lost our stdout can still read."""

from __future__ import annotations

import os
from pathlib import Path


def write(folder: Path, uuid: str, line: str) -> None:
    """Write one result line to its file, whole or not at all. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{uuid}.result"
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(line + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise

"""How much of the disk the files below a folder take."""

from __future__ import annotations

import os
from pathlib import Path

_BLOCK = 512  # bytes, of `st_blocks`


def is_beyond(folder: Path, most: int) -> bool:
    """Tell whether the files below a folder take more of the disk; links are not followed."""
    size = 0
    left = [str(folder)]
    while left and size <= most:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                    size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
        except OSError:  # it was removed meanwhile, or is closed to us
            continue
    return size > most

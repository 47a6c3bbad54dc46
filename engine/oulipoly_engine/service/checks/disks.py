"""Look how much room is left on the file systems that are written to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.checks.disks import SeenDisk


def look_at_disks(folders: Iterable[Path]) -> Iterator[SeenDisk]:
    """Yield how much room is left, each file system once. folders: one that is missing counts by what is above it."""
    seen = set()
    for folder in folders:
        place = _find_nearest(folder)
        with suppress(OSError):
            device = place.stat().st_dev
            if device not in seen:
                seen.add(device)
                usage = shutil.disk_usage(place)
                yield SeenDisk(str(place), usage.free, usage.total)


def _find_nearest(path: Path) -> Path:
    """Return a path, or the first above it that is there."""
    return next((folder for folder in (path, *path.parents) if os.path.exists(folder)), Path("/"))  # noqa: PTH110 - raises nothing

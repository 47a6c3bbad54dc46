"""The lock file of installed packages, read."""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.core.packages.lock import FILE, Lock, read_lock
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.regular_files import read_regular

_MOST = 16 << 20  # bytes


def load_lock(folder: Path) -> Lock:
    """Return what is installed; where nothing ever was, that costs one look for a file. Raises ConfigInvalid.

    folder: `Paths.packages`.
    """
    path = folder / FILE
    if not os.path.lexists(path):
        return Lock()
    try:
        data = read_regular(path, _MOST)
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be read: {error.strerror or error}: check its rights") from error
    return read_lock(data, str(path))

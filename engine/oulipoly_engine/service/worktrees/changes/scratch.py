"""Files for one call of git: patches, lists of paths, an index that is not the repository's."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder of ours alone for the block."""
    folder = Path(tempfile.mkdtemp(prefix="agent-runner-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)

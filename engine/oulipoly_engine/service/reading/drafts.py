"""A private copy of a session's canonical lines for the user's editor, gone when it is done with."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.records import Record
from oulipoly_engine.service.transcripts.atomic_file import new_file

_PREFIX = "edit-"


class Draft(Record):
    """A file that may be edited, in a folder of its own: editors leave backups beside what they write."""

    path: Path
    written_sha256: str  # of what it held at first

    @property
    def is_as_it_was(self) -> bool:
        """Tell whether the editor has left every byte as it was. Raises RunnerError where the file is gone."""
        try:
            return sha256(self.path.read_bytes()).hexdigest() == self.written_sha256
        except OSError as error:
            raise RunnerError(f"the edited file {self.path} cannot be read: {error.strerror or error}") from error

    def close(self) -> None:
        """Remove file and folder."""
        shutil.rmtree(self.path.parent, ignore_errors=True)


def begin(root: Path, name: str, blocks: Iterable[bytes]) -> Draft:
    """Write a draft below a folder of ours; only the user may read it. Raises RunnerError where that fails.

    What a killed app has left there is removed.
    """
    told = sha256()
    try:
        make_folder(root)
        _sweep(root)
        own = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=root))
        try:
            with new_file(own / name) as file:
                for block in blocks:
                    told.update(block)
                    file.write(block)
        except BaseException:
            shutil.rmtree(own, ignore_errors=True)
            raise
    except OSError as error:
        raise RunnerError(f"no copy to edit can be written in {root}: {error.strerror or error}") from error
    return Draft(own / name, told.hexdigest())


def _sweep(root: Path) -> None:
    for folder in root.glob(f"{_PREFIX}*-*"):
        owner = folder.name.split("-")[1]
        if owner.isdecimal() and not is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)

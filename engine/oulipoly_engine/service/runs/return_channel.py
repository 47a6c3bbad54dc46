"""The return channel of one run: a file to which its programs append receipts of what they hand back to its caller.

Contract: section 14. It is made before the CLI starts, read once when that has ended, and deleted once its receipts are
kept. Few runs return anything, so what reads receipts is imported only where there are some.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from oulipoly_engine import variables
from oulipoly_engine.errors import ArtifactError
from oulipoly_engine.paths import Paths
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.core.artifacts.receipts import ReturnedArtifact


class Returned(Record):
    """What a run has handed back: receipts that the artifact store bears out, or why they are refused."""

    receipts: tuple[ReturnedArtifact, ...] = ()
    refusal: str | None = None  # a sentence; there are no receipts then
    loss: str | None = None  # why nobody knows whether there were any: no failure of the run, but to be told


NOTHING = Returned()


class ReturnChannel:
    """The channel of one run."""

    def __init__(self, paths: Paths, uuid: str) -> None:
        self._path = paths.results / f"{uuid}.returns"
        self._store = paths.artifacts
        self._uuid = uuid
        self._is_made = False

    @property
    def variables(self) -> dict[str, str]:
        """Return what tells a child of it."""
        return {variables.RETURN_CHANNEL: str(self._path), variables.ARTIFACT_STORE: str(self._store)}

    @contextmanager
    def lend(self, note: Callable[[str], None]) -> Iterator[None]:
        """Keep the file while the block runs. note: is told where none can be made; then nothing can be returned."""
        try:
            make_folder(self._path.parent)
            os.close(open_private(self._path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW))
            self._is_made = True
        except OSError as error:
            note(f"Warning: this run can return nothing: cannot make {self._path}: {error.strerror or error}")
        try:
            yield
        finally:
            self.delete()

    @cached_property
    def returned(self) -> Returned:
        """Return what was handed back by the first time that this is asked; what comes later is too late."""
        try:
            found = os.lstat(self._path)
        except OSError:
            if not self._is_made:  # that was told; nobody can have returned anything
                return NOTHING
            return Returned(loss="the return channel was removed while it ran, with all that was in it")
        if found.st_size == 0 and stat.S_ISREG(found.st_mode):
            return NOTHING
        from oulipoly_engine.service.artifacts.returned import read_receipts  # noqa: PLC0415 - 20 ms

        try:
            return Returned(read_receipts(self._path, self._uuid, self._store))
        except ArtifactError as error:
            return Returned(refusal=error.message)

    def delete(self) -> None:
        """Delete the file."""
        with suppress(OSError):
            self._path.unlink()

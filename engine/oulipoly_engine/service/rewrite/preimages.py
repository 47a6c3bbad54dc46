"""Replaced transcripts as they were, kept for an undo; and the names that a replacement's files have meanwhile."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import zlib
from pathlib import Path

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.records import Record
from oulipoly_engine.service.sessions.journal import drop_files, translate_errors, write

_DAMAGED = (OSError, EOFError, ValueError, zlib.error)  # what a gzip file that is not whole raises when it is read
_LEVEL = 6  # of compression: a 50 MB transcript takes a second


class Preimages(Record):
    """Transcripts as they were before a replacement, each kept once, compressed, under the hash of its bytes."""

    folder: Path

    def path(self, file_sha256: str) -> Path:
        """Return where a preimage lies."""
        return self.folder / file_sha256[:2] / f"{file_sha256}.gz"

    def keep(self, data: bytes) -> str:
        """Keep a transcript and return its hash; one that is kept already is written anew if it is damaged."""
        digest = hashlib.sha256(data).hexdigest()
        path = self.path(digest)
        if not self._is_whole(digest):
            with translate_errors(path):
                make_folder(path.parent)
            write(path, gzip.compress(data, _LEVEL, mtime=0))
        return digest

    def read(self, file_sha256: str) -> bytes:
        """Return a kept transcript. Raises RunnerError when it is gone or damaged."""
        path = self.path(file_sha256)
        try:
            data = gzip.decompress(path.read_bytes())
        except _DAMAGED as error:
            raise RunnerError(f"the kept transcript {path} cannot be read: {error}") from error
        if hashlib.sha256(data).hexdigest() != file_sha256:
            raise RunnerError(f"the kept transcript {path} is not what was put there; it is left untouched")
        return data

    def _is_whole(self, file_sha256: str) -> bool:
        try:
            data = gzip.decompress(self.path(file_sha256).read_bytes())
        except _DAMAGED:
            return False
        return hashlib.sha256(data).hexdigest() == file_sha256

    def has(self, file_sha256: str) -> bool:
        """Return whether a transcript is still kept."""
        return self.path(file_sha256).exists()

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of every kept transcript, compressed, by its hash. Raises OSError."""
        return {path.name.removesuffix(".gz"): path.stat().st_size for path in self.folder.glob("*/*.gz")}

    def drop_unfinished(self) -> None:
        """Remove what was cut off while it was kept; the caller holds the folder of journals alone."""
        drop_files(self.folder.glob("*/.*.gz.*.tmp"))

    def drop(self, file_sha256: str) -> None:
        """Forget a transcript that nobody needs."""
        with contextlib.suppress(OSError):
            self.path(file_sha256).unlink(missing_ok=True)


def beside(path: Path, operation_uuid: str) -> Path:
    """Return the temporary file of a replacement, next to its transcript; no CLI takes it for one."""
    return path.with_name(f".{path.name}.{operation_uuid}.tmp")


def aside_of(path: Path, operation_uuid: str) -> Path:
    """Return the second name of the transcript that a replacement replaces, next to it."""
    return path.with_name(f".{path.name}.{operation_uuid}.old.tmp")

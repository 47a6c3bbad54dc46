"""Replaced transcripts as they were, kept for an undo; and the names that a replacement's files have meanwhile."""

from __future__ import annotations

import contextlib
from pathlib import Path

from oulipoly_engine.blobs.blobs import BlobDamaged, Blobs, Form
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.service.sessions.journal import translate_errors

_FORM = Form(".gz", window_bits=31, level=6)  # a 50 MB transcript takes a second


class Preimages:
    """Transcripts as they were before a replacement, each kept once, compressed, under the hash of its bytes."""

    def __init__(self, folder: Path) -> None:
        self._blobs = Blobs(folder, _FORM)

    def keep(self, data: bytes) -> str:
        """Keep a transcript and return its hash; one that is kept already is written anew if it is damaged."""
        with translate_errors(self._blobs.folder):
            try:
                digest = self._blobs.add(data, checks=True)
                self._blobs.settle()
            finally:
                self._blobs.abandon()
        return digest

    def read(self, file_sha256: str) -> bytes:
        """Return a kept transcript. Raises RunnerError when it is gone or damaged."""
        try:
            return self._blobs.read(file_sha256)
        except BlobDamaged as error:
            message = f"the kept transcript {self._blobs.path(file_sha256)} cannot be read, and is left alone: {error}"
            raise RunnerError(message) from error

    def has(self, file_sha256: str) -> bool:
        """Return whether a transcript is still kept."""
        return self._blobs.path(file_sha256).exists()

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of every kept transcript, compressed, by its hash. Raises OSError."""
        return {file_sha256: path.stat().st_size for file_sha256, path in self._blobs.files()}

    def drop_unfinished(self) -> None:
        """Remove what was cut off while it was kept."""
        self._blobs.collect(lambda _: True)

    def drop(self, file_sha256: str) -> None:
        """Forget a transcript that nobody needs."""
        with contextlib.suppress(OSError):
            self._blobs.remove(file_sha256)


def beside(path: Path, operation_uuid: str) -> Path:
    """Return the temporary file of a replacement, next to its transcript; no CLI takes it for one."""
    return path.with_name(f".{path.name}.{operation_uuid}.tmp")


def aside_of(path: Path, operation_uuid: str) -> Path:
    """Return the second name of the transcript that a replacement replaces, next to it."""
    return path.with_name(f".{path.name}.{operation_uuid}.old.tmp")

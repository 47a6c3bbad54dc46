"""What a one-shot is asked and answers, in a private file until somebody looks: then it becomes entries.

A file is the prompt as one line of JSON, and the bytes of the answer as they were passed on: a runner that is killed
has left what was said by then. Secrets are hidden as it is entered: that would cost every run 20 modules.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.records import Record

_FOLDER = "unread"  # beside the result files
_MOST_BYTES = 4 << 20  # of an answer
_CUT = "\n[the rest of the answer was not kept]"


class SavedPrompt(Record):
    """The first line of a file."""

    prompt: str
    may_be_told: bool  # its CLI may tell the id of its session by the end
    may_be_found: bool  # a turn script may find its session, behind the end too


class RunText:
    """The file of one run. A disk that takes nothing costs the text, never the run."""

    def __init__(self, folder: Path, uuid: str) -> None:
        """Name the file. folder: that of the result files."""
        self._path = folder / _FOLDER / uuid
        self._descriptor: int | None = None
        self._left = _MOST_BYTES

    @contextmanager
    def lend(self, prompt: str, *, may_be_told: bool, may_be_found: bool) -> Iterator[None]:
        """Write the prompt, and take the answer while the block runs. The flags: as `SavedPrompt` has them."""
        head = json.dumps({"prompt": prompt, "may_be_told": may_be_told, "may_be_found": may_be_found})
        try:
            with suppress(OSError):
                make_folder(self._path.parent)
                self._descriptor = open_private(self._path, os.O_WRONLY | os.O_EXCL)
                self._write(f"{head}\n".encode())
            yield
        finally:
            self._close()

    def add(self, data: bytes | memoryview) -> None:
        """Append bytes of the answer, up to a limit."""
        if self._descriptor is None or not self._left:
            return
        kept = data[: self._left]
        self._left -= len(kept)
        try:
            self._write(kept)
            if not self._left:
                self._write(_CUT.encode())
        except OSError:
            self._close()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, data: bytes | memoryview) -> None:
        while data and self._descriptor is not None:
            data = data[os.write(self._descriptor, data) :]


def list_files(folder: Path) -> tuple[Path, ...]:
    """Return the files that wait to be entered, named by their runs. folder: that of the result files."""
    try:
        return tuple(sorted((folder / _FOLDER).iterdir()))
    except OSError:
        return ()


def read_prompt(path: Path) -> SavedPrompt | None:
    """Return what a run was asked; None where its runner was killed as it began. Raises OSError."""
    with path.open("rb") as file:
        head = file.readline()
    try:
        return SavedPrompt(**json.loads(head))
    except (ValueError, TypeError):
        return None


def read_answer(path: Path) -> str:
    """Return what of a run's answer was passed on; empty also where that is no text. Raises OSError."""
    _, _, answer = path.read_bytes().partition(b"\n")
    return "" if b"\0" in answer else answer.decode("utf-8", "replace")

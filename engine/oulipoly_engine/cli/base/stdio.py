"""Our standard streams: what was piped in, and what holds their places where they were closed before we started."""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from oulipoly_engine.errors import PromptMissing

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST_TEXT = 64 << 20  # bytes; no model takes a prompt of that length
_PATIENCE_S = 3.0
_STREAMS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def hold_places() -> None:
    """Open the null device, for reading, in the place of each standard stream that is closed.

    Otherwise the next file that we open takes that number, and what is meant for stdout is written into a transcript.
    Writing to the null device fails as writing to the closed stream would.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # takes the lowest number that is free: this one
            os.set_inheritable(number, True)


def is_piped() -> bool:
    """Return whether somebody may have given us something: stdin is there and is not a terminal."""
    return sys.stdin is not None and not sys.stdin.isatty()


def choose_input() -> BinaryIO:
    """Return what was piped in, to be read once; nothing where stdin is closed or a terminal."""
    return sys.stdin.buffer if is_piped() else io.BytesIO()


def read_piped_text() -> str:
    """Return what was piped in as text. Raises as `read_text`."""
    return read_text(choose_input())


def read_patiently(tell: Callable[[str], None]) -> str:
    """Return the message that was piped in; where nothing comes for some seconds, that is told. Raises as `read_text`.

    A message is text: bytes that are not UTF-8 are replaced.
    """
    if is_piped() and not select.select([sys.stdin], [], [], _PATIENCE_S)[0]:
        tell("waiting for the end of what is piped in; `< /dev/null` gives nothing")
    return read_piped_text().encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def open_file(path: Path) -> BinaryIO:
    """Open a file that an argument names: a regular one, or a stream that our caller has opened for us.

    A shell's `<(command)` is the latter. Raises OSError.
    """
    if str(path).startswith(_STREAMS):
        return path.open("rb")
    from oulipoly_engine.regular_files import open_regular  # noqa: PLC0415 - only where a file is named

    return open_regular(path)


def read_prompt(path: Path) -> str:
    """Return a prompt file's text. Raises PromptMissing."""
    try:
        with open_file(path) as file:
            return read_text(file)
    except OSError as error:
        raise PromptMissing(f"the prompt file {path} cannot be read: {error.strerror or error}") from error


def read_text(file: BinaryIO) -> str:
    """Return all of a file as text; bytes that are not UTF-8 come out again as they went in. Raises PromptMissing."""
    found = file.read(_LONGEST_TEXT + 1)
    if len(found) > _LONGEST_TEXT:
        message = f"the prompt has more than {_LONGEST_TEXT >> 20} MB: name the file in the prompt, for the CLI to read"
        raise PromptMissing(message)
    return found.decode("utf-8", "surrogateescape")

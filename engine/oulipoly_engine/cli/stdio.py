"""Our standard streams: what was piped in, and what holds their places where they were closed before we started."""

from __future__ import annotations

import io
import os
import sys
from typing import BinaryIO


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
    """Return whether somebody may have given us something: stdin is there and is no terminal."""
    return sys.stdin is not None and not sys.stdin.isatty()


def choose_input() -> BinaryIO:
    """Return what was piped in, to be read once; nothing where stdin is closed or a terminal."""
    return sys.stdin.buffer if is_piped() else io.BytesIO()


def read_piped_text() -> str:
    """Return what was piped in as text; bytes that are no UTF-8 come out again as they went in."""
    return choose_input().read().decode("utf-8", "surrogateescape")

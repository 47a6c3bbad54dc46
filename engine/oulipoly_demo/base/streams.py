"""The demo CLI's own standard streams: bytes out at once, and a prompt from a stdin that may or may not be one."""

from __future__ import annotations

import os
import select
import sys

_SILENCE_S = 3.0  # how long Claude waits for a piped prompt (2.1.197)
_STDIN, _STDOUT, _STDERR = 0, 1, 2


def out(raw: bytes) -> None:
    """Write to stdout without delay."""
    _write(_STDOUT, raw)


def say(text: str) -> None:
    """Write a line to stdout."""
    out(f"{text}\n".encode("utf-8", "replace"))


def complain(text: str) -> None:
    """Write a line to stderr."""
    _write(_STDERR, f"{text}\n".encode("utf-8", "replace"))


def is_terminal() -> bool:
    """Tell whether somebody sits at both ends."""
    return os.isatty(_STDIN) and os.isatty(_STDOUT)


def has_piped_input() -> bool:
    """Tell whether stdin is open and no terminal."""
    return sys.stdin is not None and not os.isatty(_STDIN)


def read_all() -> str:
    """Read stdin to its end, however long that takes."""
    pieces = []
    while piece := os.read(_STDIN, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces).decode("utf-8", "replace")


def read_unless_silent() -> str | None:
    """Read stdin to its end, or return None when nothing at all comes for three seconds."""
    ready, _, _ = select.select([_STDIN], [], [], _SILENCE_S)
    return read_all() if ready else None


def _write(descriptor: int, raw: bytes) -> None:
    view = memoryview(raw)
    while view:
        view = view[os.write(descriptor, view) :]

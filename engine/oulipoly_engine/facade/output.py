"""The only writer of stdout: data and the child's bytes, unchanged."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys

from oulipoly_engine.errors import OutputFailed

STDOUT = 1
_WIDE = 1 << 20  # bytes; Linux's default limit for a pipe of an unprivileged user


def widen() -> None:
    """Give stdout room for a megabyte if it is a pipe: every switch to its reader costs more than the copying."""
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(STDOUT, fcntl.F_SETPIPE_SZ, _WIDE)


def write_bytes(data: bytes | memoryview) -> None:
    """Write bytes to stdout at once, past every buffer.

    Raises BrokenPipeError when nobody reads any more, OutputFailed when they cannot be written (a full disk).
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(STDOUT, view) :]
        except BlockingIOError:  # somebody left our stdout non-blocking
            os.set_blocking(STDOUT, True)
        except BrokenPipeError:
            raise
        except OSError as error:
            message = f"cannot write to stdout: {error.strerror or error}"
            raise OutputFailed(message) from error


def write_line(text: str) -> None:
    """Write one line of text."""
    write_bytes((text + "\n").encode("utf-8", "backslashreplace"))


def write_json(document: object, *, pretty: bool = True) -> None:
    """Write one JSON document and a newline."""
    separators = None if pretty else (",", ":")
    write_line(json.dumps(document, ensure_ascii=False, indent=2 if pretty else None, separators=separators))


def abandon() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at exit cannot fail on a broken pipe."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, STDOUT)
    os.close(nothing)
    sys.stdout = None

"""The only writer of stdout.

A CLI's bytes, and files that are asked for as they are, go through `write_bytes` and stay exact. Everything else is
text, and is made harmless to a terminal here, whoever made it: names, ids, notes and paths come from outside.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterable

from oulipoly_engine.core.text.control_characters import escape_json, visible_line, visible_text
from oulipoly_engine.errors import OutputFailed
from oulipoly_engine.facade import diagnostics

STDOUT = 1
_DIGITS = 5  # of a width that can be meant
_WIDE = 1 << 20  # bytes; Linux's default limit for a pipe of an unprivileged user


def widen() -> None:
    """Give stdout room for a megabyte if it is a pipe: every switch to its reader costs more than the copying."""
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(STDOUT, fcntl.F_SETPIPE_SZ, _WIDE)


def take_stdout() -> Callable[[bytes], None]:
    """Return what writes to our stdout; whatever else is written there from now on, by children too, goes to stderr."""
    descriptor = os.dup(STDOUT)
    os.dup2(2, STDOUT)

    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    return write


def write_bytes(data: bytes | memoryview) -> None:
    """Write the bytes of a CLI or of a file to stdout at once, past every buffer.

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
            raise OutputFailed(f"cannot write to stdout: {error.strerror or error}") from error


def write_line(text: str) -> None:
    """Write one line of text; a newline inside is shown as a sign, for it is not ours."""
    write_lines((text,))


def write_lines(lines: Iterable[str], *, end: str = "\n") -> None:
    """Write lines of text, all at once."""
    write_bytes("".join(visible_line(line) + end for line in lines).encode("utf-8"))


def write_block(text: str) -> None:
    """Write a text that holds its own newlines, because whoever made it has laid it out or it is prose."""
    write_bytes(visible_text(text).encode("utf-8"))


def write_diff(lines: Iterable[str]) -> None:
    """Write the lines of a diff, in colours where a person sees them and has not asked for none (NO_COLOR)."""
    shown = [visible_line(line) for line in lines]
    if "NO_COLOR" not in os.environ and is_terminal():
        colours = {"+": "32", "-": "31", "@": "36"}
        shown = [f"\x1b[{colours[line[0]]}m{line}\x1b[0m" if line[:1] in colours else line for line in shown]
    write_bytes("".join(f"{line}\n" for line in shown).encode("utf-8"))


def write_json(document: object, *, pretty: bool = True) -> None:
    """Write one JSON document and a newline. No error comes in its place any more: warnings need not wait for one."""
    diagnostics.release_warnings()
    separators = None if pretty else (",", ":")
    text = json.dumps(document, ensure_ascii=False, indent=2 if pretty else None, separators=separators)
    write_bytes((escape_json(text) + "\n").encode("utf-8"))


def is_terminal() -> bool:
    """Return whether stdout is shown to a person."""
    return os.isatty(STDOUT)


def columns() -> int:
    """Return how wide a line of ours may be: what COLUMNS says, else the terminal on stdout, else 80."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and len(told) <= _DIGITS and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(STDOUT).columns or 80
    except OSError:
        return 80


def abandon() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at exit cannot fail on a broken pipe."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, STDOUT)
    os.close(nothing)
    sys.stdout = None

"""The only writer of stderr, and the owner of exit codes.

A CLI's bytes go through `write_bytes` and stay exact. Everything else is text, and is made harmless to a terminal here.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import sys
from collections.abc import Sequence

from oulipoly_engine.core.text.control_characters import escape_json, visible_line, visible_text
from oulipoly_engine.errors import RunnerError

STDERR = 2
_MARKER = "OULIPOLY_"
_WARNING = "Warning: "

_held: list[str] | None = None  # warnings that an error may have to carry; None: they are written at once


def write_bytes(data: bytes | memoryview) -> None:
    """Write the bytes of a CLI to stderr at once; when nobody reads it any more, they are lost and nothing fails."""
    view = memoryview(data)
    with contextlib.suppress(OSError):
        while view:
            view = view[os.write(STDERR, view) :]


def note(text: str) -> None:
    """Write a line of text, without the secrets in it and with local times; a marker stays exact: programs read it.

    Of several lines, the others are indented, so that nothing in a message passes for a message.
    """
    if _held is not None and text.startswith(_WARNING):
        _held.append(text)
        return
    shown = text if text.startswith(_MARKER) else _with_local_times(_redact(text))
    lines = map(visible_line, shown.split("\n"))
    write_bytes(("\n  ".join(lines) + "\n").encode("utf-8"))


def hold_warnings() -> None:
    """Keep warnings back until it is known whether an error comes: as JSON it is alone on stderr, and carries them."""
    global _held
    _held = []


def release_warnings() -> None:
    """Write the warnings that were kept back, and from now on each at once."""
    for text in _take_held():
        note(text)


def _take_held() -> list[str]:
    global _held
    held = _held or []
    _held = None
    return held


def write_block(text: str) -> None:
    """Write a text as it is laid out."""
    write_bytes(visible_text(text).encode("utf-8"))


def ring() -> None:
    """Ring the terminal's bell, where stderr is one."""
    if is_terminal():
        write_bytes(b"\a")


def show_progress(text: str) -> None:
    """Show a text in place of the line that the cursor is in; nothing wipes it."""
    write_bytes(f"\r\x1b[K{visible_line(text)}".encode())


def fail(error: RunnerError) -> int:
    """Say what went wrong as `Error: ...` and return the exit code."""
    note(f"Error: {_redact(error.message)}")
    return error.exit_code


def fail_json(error: RunnerError) -> int:
    """Say what went wrong as one JSON line, `{"error": {"code", "message", ...}}`, and return the exit code.

    Warnings that were kept back are its `warnings`.
    """
    more = {name: _redact(value) if isinstance(value, str) else value for name, value in error.extra.items()}
    if held := _take_held():
        more["warnings"] = [_redact(text.removeprefix(_WARNING)) for text in held]
    document = {"error": {"code": error.slug, "message": _redact(error.message), **more}}
    write_bytes((escape_json(json.dumps(document, ensure_ascii=False)) + "\n").encode("utf-8"))
    return error.exit_code


def fail_as_asked(error: RunnerError, arguments: Sequence[str]) -> int:
    """Say what went wrong as JSON where that is asked for, else as text."""
    return fail_json(error) if is_json_asked(arguments) else fail(error)


def is_json_asked(arguments: Sequence[str]) -> bool:
    """Tell whether `--json`, or `--mode json`, is among the arguments before a `--`."""
    words = tuple(itertools.takewhile(lambda word: word != "--", arguments))
    return "--json" in words or "--mode=json" in words or ("--mode", "json") in itertools.pairwise(words)


def _redact(text: str) -> str:
    """Take secrets out of a message: many repeat what was typed, or what stands in the configuration."""
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, most note markers alone

    return redact(text)


def _with_local_times(text: str) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415 - as above

    from oulipoly_engine.core.text.quantities import local  # noqa: PLC0415 - as above

    return local(text, datetime.now(UTC))


def is_terminal() -> bool:
    """Return whether stderr is shown to a person."""
    return os.isatty(STDERR)


def take_stderr() -> None:
    """Have what Python itself writes to stderr, tracebacks and warnings, written here too."""
    sys.stderr = _Stderr()


class _Stderr(io.TextIOBase):
    def write(self, text: str, /) -> int:
        write_block(text)
        return len(text)

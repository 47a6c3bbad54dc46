"""The only writer of stderr, and the owner of exit codes."""

from __future__ import annotations

import contextlib
import json
import os

from oulipoly_engine.errors import RunnerError

STDERR = 2


def write_bytes(data: bytes | memoryview) -> None:
    """Write bytes to stderr at once; when nobody reads it any more, they are lost and nothing fails."""
    view = memoryview(data)
    with contextlib.suppress(OSError):
        while view:
            view = view[os.write(STDERR, view) :]


def note(text: str) -> None:
    """Write one line of text."""
    write_bytes((text + "\n").encode("utf-8", "backslashreplace"))


def fail(error: RunnerError) -> int:
    """Say what went wrong as `Error: ...` and return the exit code."""
    note(f"Error: {_redact(error.message)}")
    return error.exit_code


def fail_json(error: RunnerError) -> int:
    """Say what went wrong as one JSON line, `{"error": {"code", "message", ...}}`, and return the exit code."""
    document = {"error": {"code": error.slug, "message": _redact(error.message), **error.extra}}
    note(json.dumps(document, ensure_ascii=False))
    return error.exit_code


def _redact(text: str) -> str:
    """Take secrets out of a message: many repeat what was typed, or what stands in the configuration."""
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, only failures need it

    return redact(text)


def is_terminal() -> bool:
    """Return whether stderr is shown to a person."""
    return os.isatty(STDERR)

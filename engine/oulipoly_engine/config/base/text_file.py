"""The text of one configuration file, or the problem that keeps it from being read."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.config.base.problem import Level, Problem
from oulipoly_engine.regular_files import read_regular


def read_text(path: Path, raw: bytes | None = None) -> str | Problem | None:
    """Return a file's text, a problem where it cannot be read, None where there is no file.

    raw: what was read of it already.
    """
    try:
        return (read_regular(path) if raw is None else raw).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return Problem(Level.ERROR, path, line, "", "the file is not UTF-8 text", "save it as UTF-8")
    except OSError as error:
        message = f"the file cannot be read: {error.strerror}"
        return Problem(Level.ERROR, path, None, "", message, "put a readable text file in its place, or remove it")

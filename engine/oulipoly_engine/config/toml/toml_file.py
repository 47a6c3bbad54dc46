"""Read one TOML file into plain values, with the lines of its keys; what cannot be read becomes a problem."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.config.problem import Fault, KeyPath, Level, Problem
from oulipoly_engine.records import Record, field

_AT_LINE = re.compile(r" ?\(at line (\d+), column (\d+)\)$")
_AT_END = re.compile(r" ?\(at end of document\)$")


class TomlFile(Record):
    """A file's values, or why there are none."""

    path: Path
    data: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    exists: bool = True
    failure: Problem | None = None

    def problems(self, faults: Iterable[Fault], *, in_tables: bool = False) -> tuple[Problem, ...]:
        """Give faults their file and lines.

        in_tables: the file is a table of tables, so the first name is shown in brackets.
        """
        found = tuple(faults)
        if not found:
            return ()
        from oulipoly_engine.config.toml import toml_lines  # noqa: PLC0415 - 3 ms, only a fault needs its line

        lines = toml_lines.index(self.text)
        return tuple(
            Problem(
                fault.level,
                self.path,
                toml_lines.line_of(lines, fault.path),
                render_key(fault.path, in_tables=in_tables),
                fault.message,
                fault.fix,
            )
            for fault in found
        )


def read(path: Path, raw: bytes | None = None) -> TomlFile:
    """Read a file; a missing one is empty, not a failure. raw: what was read of it already."""
    try:
        text = (path.read_bytes() if raw is None else raw).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return TomlFile(path, exists=False)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return _make_failure(path, line, "the file is not UTF-8 text", "save it as UTF-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return _make_failure(path, None, f"the file cannot be read: {reason}", "make it a readable file, or remove it")
    return parse(path, text)


def parse(path: Path, text: str) -> TomlFile:
    """Parse a text as the file at `path`."""
    try:
        return TomlFile(path, tomllib.loads(text), text)
    except tomllib.TOMLDecodeError as error:
        line, message = _place(str(error), text)
        return _make_failure(path, line, f"the file is not valid TOML: {message}", "correct the text there")
    except RecursionError:
        return _make_failure(path, None, "lists or tables are nested too deeply", "flatten them")


def render_key(path: KeyPath, *, in_tables: bool = False) -> str:
    """Show a key as people write it: `[claude].args#2`, `[[providers]]#1.name`; numbers from 1."""
    parts: list[str] = []
    for position, part in enumerate(path):
        follower = path[position + 1] if position + 1 < len(path) else None
        if isinstance(part, int):
            parts.append(f"#{part + 1}")
        elif position == 0 and in_tables:
            parts.append(f"[{part}]")
        elif position == 0 and part in ("providers", "inputs") and isinstance(follower, int):
            parts.append(f"[[{part}]]")
        else:
            parts.append(f".{part}" if position else part)
    return "".join(parts)


def _place(message: str, text: str) -> tuple[int | None, str]:
    """Take the place out of tomllib's message (Python 3.11 has it nowhere else)."""
    if found := _AT_LINE.search(message):
        return int(found[1]), f"{message[: found.start()]} at column {found[2]}"
    if found := _AT_END.search(message):
        return text.rstrip("\n").count("\n") + 1, f"{message[: found.start()]} at the end of the file"
    return None, message


def _make_failure(path: Path, line: int | None, message: str, fix: str) -> TomlFile:
    return TomlFile(path, failure=Problem(Level.ERROR, path, line, "", message, fix))

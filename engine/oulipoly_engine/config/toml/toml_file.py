"""Read one TOML file into plain values, with the lines of its keys; what cannot be read becomes a problem."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.config.base import text_file
from oulipoly_engine.config.base.problem import Fault, KeyPath, Level, Problem
from oulipoly_engine.records import Record, field

_AT_LINE = re.compile(r" ?\(at line (\d+), column (\d+)\)$")
_MOST_VALUES, _MOST_PARTS = 20_000, 64  # of a file; of a key, tables and lists around it included
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1  # TOML 1.0: an integer beyond 64 bits is an error
_TOO_DEEP = f"a key has more than {_MOST_PARTS} parts, or its value is nested as deeply"
_TOO_LONG = "a number has more than 64 bits"
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_MANY_PARTS = re.compile(rf"(?:^|[\[{{,])[ \t]*+(?:{_PART}[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}", re.MULTILINE)
_MANY_DIGITS = re.compile(r"[0-9_]{4300}")
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

        lines = toml_lines.index("" if self.path.suffix == ".json" else self.text)
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


def read(path: Path, raw: bytes | None = None, parser: Callable[[Path, str], TomlFile] | None = None) -> TomlFile:
    """Read a file; a missing one is empty, not a failure. raw: what was read of it already; parser: None: `parse`."""
    match text_file.read_text(path, raw):
        case None:
            return TomlFile(path, exists=False)
        case str(text):
            return (parser or parse)(path, text)
        case problem:
            return TomlFile(path, failure=problem)


def parse(path: Path, text: str) -> TomlFile:
    """Parse a text as the file at `path`."""
    if (found := _MANY_PARTS.search(text)) is not None:  # tomllib takes the square of their number
        return _make_failure(path, _line_at(text, found.start()), _TOO_DEEP, "flatten it")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, message = _place(str(error), text)
        return _make_failure(path, line, f"the file is not valid TOML: {message}", "correct the text there")
    except RecursionError:
        return _make_failure(path, None, "lists or tables are nested too deeply", "flatten them")
    except ValueError:  # all that is left: more digits than Python reads (sys.set_int_max_str_digits)
        found = _MANY_DIGITS.search(text)
        line = None if found is None else _line_at(text, found.start())
        return _make_failure(path, line, _TOO_LONG, "correct it")
    failure = _find_excess(path, data, text)
    return TomlFile(path, data, text) if failure is None else TomlFile(path, failure=failure)


def _find_excess(path: Path, data: Mapping[str, Any], text: str) -> Problem | None:
    """Say what of a file's values is more than what comes after them can bear; None: nothing."""
    waiting: list[tuple[KeyPath, Any]] = [((), data)]
    count = 0
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, int) and not _LEAST <= value <= _MOST:
            fault = Fault(place, _TOO_LONG, "correct it")
            return TomlFile(path, data, text).problems([fault])[0]
        if not isinstance(value, dict | list):
            continue
        count += len(value)
        if count > _MOST_VALUES:
            message = f"the file has more than {_MOST_VALUES} values"
            return _make_failure(path, None, message, "remove what is not needed").failure
        if len(place) == _MOST_PARTS:
            from oulipoly_engine.config.toml import toml_lines  # noqa: PLC0415 - as above

            line = toml_lines.line_of(toml_lines.index(text), place)
            return _make_failure(path, line, _TOO_DEEP, "flatten it").failure
        waiting += (
            ((*place, part), item)
            for part, item in (value.items() if isinstance(value, dict) else enumerate(value))
            if isinstance(item, int | dict | list)
        )
    return None


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


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

"""Templates of a status line: `{next:opus} {worst} {attention_mark}` filled in from a table of values. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from oulipoly_engine.core.text.columns import fit, width

DEFAULT = "{worst} {reset_mark} {model} → {next} {attention_mark}"
_TEXT = "attention_text"  # what the mark is about; the default line has it where there is room
_LEAST = 20  # cells that say something of it
_PLACE = re.compile(r"\{\{|\}\}|\{([a-z_]+(?::[^{}]*)?)\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return a template with its placeholders filled in, on one line, spaces drawn together.

    One that is not known stays as it is written, so that a slip of the pen is seen; `{{` and `}}` stand for braces.
    """

    def put(match: re.Match[str]) -> str:
        name = match[1]
        return match[0][0] if name is None else values.get(name, match[0])

    return " ".join("".join(part if part.isprintable() else " " for part in _PLACE.sub(put, template)).split())


def fill_default(values: Mapping[str, str], cells: int) -> str:
    """Return the line of `DEFAULT`, behind it what the mark is about where so many cells have room for that."""
    line = fill(DEFAULT, values)
    room = cells - width(line) - 1
    text = fill(f"{{{_TEXT}}}", values)
    return f"{line} {fit(text, room)}" if text and room >= _LEAST else line


def strangers(template: str, values: Mapping[str, str]) -> tuple[str, ...]:
    """Return the placeholders of a template that mean nothing."""
    names = (match[1] for match in _PLACE.finditer(template) if match[1] is not None)
    return tuple(dict.fromkeys(name for name in names if name not in values))

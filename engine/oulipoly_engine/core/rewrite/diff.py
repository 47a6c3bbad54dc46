"""What a replacement changes, turn by turn: as a diff to read and as values to work with. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from oulipoly_engine.core.rewrite.steps import Kind, Step
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.transcripts.canonical import Chunk


def diff(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the lines of a unified diff, one file an entry; turns that stay as they are are left out."""
    for step in steps:
        if step.kind is Kind.KEPT:
            continue
        name = f"{step.role} {step.entry_id}"
        before = _lines(step.old.content) if step.old is not None else []
        after = _lines(step.new.content) if step.new is not None else []
        yield f"--- {_side(name, step.old.timestamp if step.old is not None else None)}"
        yield f"+++ {_side(name, step.new.timestamp if step.new is not None else None)}"
        yield from (line for place, line in enumerate(difflib.unified_diff(before, after, lineterm="")) if place >= 2)


def documents(steps: Sequence[Step]) -> list[dict[str, object]]:
    """Return the changes as JSON values; turns that stay as they are are left out."""
    return [
        {
            "change": step.kind.value,
            "turn_id": step.entry_id,
            "role": step.role,
            "input_line": step.new.line if step.new is not None and step.new.line else None,
            "old": None if step.old is None else _state(step.old.timestamp, step.old.content),
            "new": None if step.new is None else _state(step.new.timestamp, step.new.content),
        }
        for step in steps
        if step.kind is not Kind.KEPT
    ]


def _side(name: str, timestamp: str | None) -> str:
    return "/dev/null" if timestamp is None else f"{visible_line(name)}\t{visible_line(timestamp)}"


def _state(timestamp: str, content: Sequence[Chunk]) -> dict[str, object]:
    return {"timestamp": timestamp, "content": [{"type": chunk.type, "text": chunk.text} for chunk in content]}


def _lines(content: Sequence[Chunk]) -> list[str]:
    lines: list[str] = []
    for chunk in content:
        if chunk.type != "text" or chunk.text is None:
            lines.append(f"[{chunk.type}]")
        lines += [] if chunk.text is None else chunk.text.split("\n")
    return lines

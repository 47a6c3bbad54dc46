"""Diffs as lines: what is added and removed, in tones and by its sign. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oulipoly_engine.core.live.events import FileChange
from oulipoly_engine.core.text.control_characters import visible_line, visible_text
from oulipoly_tui.view.transcript.markdown import bar
from oulipoly_tui.view.transcript.spans import Line, Tone

_KINDS = {"add": "new file", "delete": "deleted file", "update": "changed file"}


def diff_lines(diff: str, width: int) -> Iterator[Line]:
    """Yield the lines of a unified diff."""
    for line in visible_text(diff).rstrip("\n").split("\n"):
        yield from bar(line, width, "dim", _tone(line))


def change_lines(changes: Sequence[FileChange], width: int) -> Iterator[Line]:
    """Yield what is done to each file, with its diff."""
    for one in changes:
        yield ((visible_line(one.path), "strong"), (f"  {_KINDS.get(one.kind, visible_line(one.kind))}", "dim"))
        if one.diff:
            yield from diff_lines(one.diff, width)


def summary(changes: Sequence[FileChange]) -> str:
    """Return which files are changed, and by how much, in a line."""
    lines = [line for one in changes for line in one.diff.split("\n")]
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    names = ", ".join(visible_line(one.path) for one in changes[:3])
    more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""  # noqa: PLR2004, RUF100 - those that are named
    return f"{names}{more}" + (f"  +{added} -{removed}" if added or removed else "")


def _tone(line: str) -> Tone:
    if line.startswith(("+++", "---", "diff ", "index ")):
        return "dim"
    if line.startswith("@@"):
        return "accent"
    return "good" if line.startswith("+") else "bad" if line.startswith("-") else ""

"""What going back to a message does to files, as rows and lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from oulipoly_engine.core.text.columns import plain
from oulipoly_tui.view.transcript.spans import Line, Row, Tone

if TYPE_CHECKING:
    from oulipoly_engine.facade.worktrees.turn_files import FilePlan, Restored

_TONES: Mapping[str, Tone] = {"changes": "warn", "goes": "bad", "comes": "good"}


def part_rows(plan: FilePlan) -> list[Row]:
    """Return what can go back to the message; of files how many."""
    changes = plan.preview.changes
    counts = {"change": len(changes.changing), "go": len(changes.going), "come": len(changes.coming)}
    files = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "as they are"
    texts = {"chat": "Chat", "both": f"Chat and files: {files}", "files": f"Files alone: {files}"}
    return [Row(key, ((text, ""),)) for key, text in texts.items()]


def file_lines(plan: FilePlan) -> list[Line]:
    """Return which files change, go and come, and which are in no snapshot."""
    from oulipoly_engine.facade.worktrees.turn_files import plan_lines  # noqa: PLC0415 - git, for who goes back

    lines = [_paint(line) for line in plan_lines(plan)]
    return [*lines, (("What is there now is kept first.", "dim"),)]


def restored_lines(done: Restored) -> list[Line]:
    """Return that files are back, and the command that leads back."""
    return [
        (("The files are as they were at that message. This leads back:", ""),),
        ((plain(done.way_back), "accent"),),
        (("copied to the clipboard", "dim"),),
    ]


def _paint(line: str) -> Line:
    word, _, rest = line.partition(" ")
    return ((word, _TONES[word]), (f" {rest}", "")) if word in _TONES else ((line, "dim"),)

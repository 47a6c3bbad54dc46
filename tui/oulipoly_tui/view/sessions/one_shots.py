"""The log of one-shots: what was asked, what came. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from oulipoly_engine.core.runs.recovery import fix_of
from oulipoly_engine.records import Record
from oulipoly_tui.view.transcript.spans import Line, cut

_MOST_LINES = 2000  # of one answer; a flood is cut at its front
_MOST_NOTES = 200  # lines that are kept of what stands beside it
_SHOWN_NOTES = 20  # of a failure: what a CLI says last is why it gave up
_CATEGORY = re.compile(r"^\[diagnostics: (\w+)\]$")
_ANSWERED = re.compile(r"^\[routing\] (.+) answered$")  # as the one-shot's process ends
_OURS = ("[routing] ", "[diagnostics] ")  # codex writes all that it does beside its answer, which nobody asked for


class OneShot(Record, frozen=False):
    """One prompt and what came of it so far."""

    number: int
    model: str
    prompt: str
    text: str = ""
    notes: str = ""  # what the runner and the CLI said beside the answer
    exit_code: int | None = None  # None: it runs
    failure: str | None = None

    @property
    def is_running(self) -> bool:
        """Tell whether it has not ended."""
        return self.exit_code is None

    def hear(self, text: str, *, is_note: bool) -> None:
        """Take what it printed."""
        if is_note:
            self.notes = _end_of(self.notes + text, _MOST_NOTES)
        else:
            self.text = _end_of(self.text + text, _MOST_LINES)


def _end_of(text: str, lines: int) -> str:
    return text if text.count("\n") <= lines else "\n".join(text.split("\n")[-lines:])


def log_lines(shots: Sequence[OneShot]) -> tuple[Line, ...]:
    """Return all of them, the newest last."""
    return tuple(line for shot in shots for line in _lines(shot))


def format_ending(shot: OneShot) -> tuple[Line, ...]:
    """Return how one ended: what was said beside the answer as far as it matters, who answered or the way out."""
    notes = _notes(shot)
    if shot.failure is not None:
        return (((f"✗ {shot.failure}", "bad"),),)
    return tuple(_format_success(notes) if shot.exit_code == 0 else _format_failure(notes, shot.exit_code))


def _lines(shot: OneShot) -> Iterator[Line]:
    yield (("» ", "accent"), (shot.model, "strong"), (f"  {cut(' '.join(shot.prompt.split()), 80)}", "dim"))
    for text in shot.text.rstrip("\n").split("\n") if shot.text else ():
        yield ((text.expandtabs(4), ""),)
    if shot.is_running and shot.failure is None:
        notes = _notes(shot)
        yield (("… runs", "accent"), (f"  {notes[-1].strip()}" if notes else "", "dim"))
    else:
        yield from format_ending(shot)
    yield ()


def _notes(shot: OneShot) -> list[str]:
    return [line for text in shot.notes.split("\n") if (line := text.rstrip())]


def _format_success(notes: Sequence[str]) -> Iterator[Line]:
    """Say who answered, and before it who refused."""
    answered = [found[1] for text in notes if (found := _ANSWERED.match(text))]
    yield from (((text, "dim"),) for text in notes if text.startswith(_OURS) and not _ANSWERED.match(text))
    yield (("✓ done" + (f" by {answered[-1]}" if answered else ""), "good"),)


def _format_failure(notes: Sequence[str], exit_code: int | None) -> Iterator[Line]:
    """Say what the CLI and the runner said of it, what kind of failure it is, and the way out."""
    categories = [found[1] for text in notes if (found := _CATEGORY.match(text))]
    said = [text for text in notes if not _CATEGORY.match(text)]
    yield from (((text.expandtabs(4), "dim"),) for text in said[-_SHOWN_NOTES:])
    kind = f": {categories[-1]}" if categories else ""
    yield ((f"✗ ended with exit code {exit_code}{kind}", "bad"),)
    if categories:
        yield ((f"  → {fix_of(categories[-1])}", "good"),)

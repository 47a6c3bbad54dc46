"""The log of one-shots: what was asked, what came. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oulipoly_tui.view.spans import Line, cut

_MOST_LINES = 2000  # of one answer; a flood is cut at its front


@dataclass(slots=True)
class OneShot:
    """One prompt and what came of it so far."""

    number: int
    model: str
    prompt: str
    text: str = ""
    notes: str = ""
    exit_code: int | None = None  # None: it runs
    failure: str | None = None

    @property
    def is_running(self) -> bool:
        """Tell whether it has not ended."""
        return self.exit_code is None

    def hear(self, text: str, *, is_note: bool) -> None:
        """Take what it printed."""
        if is_note:
            self.notes = text.strip().rpartition("\n")[2]
            return
        self.text += text
        if self.text.count("\n") > _MOST_LINES:
            self.text = "\n".join(self.text.split("\n")[-_MOST_LINES:])


def log_lines(shots: Sequence[OneShot]) -> tuple[Line, ...]:
    """Return all of them, the newest last."""
    return tuple(line for shot in shots for line in _lines(shot))


def _lines(shot: OneShot) -> Iterator[Line]:
    yield (("» ", "accent"), (shot.model, "strong"), (f"  {cut(' '.join(shot.prompt.split()), 80)}", "dim"))
    for text in shot.text.rstrip("\n").split("\n") if shot.text else ():
        yield ((text.expandtabs(4), ""),)
    if shot.failure is not None:
        yield ((f"✗ {shot.failure}", "bad"),)
    elif shot.is_running:
        yield (("… runs", "accent"), (f"  {shot.notes}" if shot.notes else "", "dim"))
    elif shot.exit_code == 0:
        yield (("✓ done", "good"),)
    else:
        yield ((f"✗ ended with exit code {shot.exit_code}", "bad"), (f"  {shot.notes}", "dim"))
    yield ()

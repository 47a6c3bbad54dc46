"""Less garbage, and its whole collections made while nobody waits for a key.

Python makes one whenever enough has come to be since the last, in the middle of a key if that is when: it walks every
object that is not frozen, tens of thousands of a transcript's cells among them, for tens of milliseconds.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from time import monotonic

from textual.strip import Strip

_LATEST = 100  # middle collections, of some 7,000 objects each, after which a whole one waits for no pause
_WORTH = 10  # middle collections from which on a pause is used: Python's own measure
_PAUSE_S = 1.0


class QuietCollector:
    """Collects in the pauses between keys."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()

    def begin(self) -> None:
        """Put Python's own whole collections off."""
        self._before = gc.get_threshold()
        gc.set_threshold(*self._before[:2], _LATEST)

    def end(self) -> None:
        """Let Python decide again."""
        gc.set_threshold(*self._before)

    def look(self, typed_at: float) -> bool:
        """Collect if it is worth it and nobody is typing; return whether that was done. typed_at: monotonic seconds."""
        is_due = gc.get_count()[2] >= _WORTH and monotonic() - typed_at >= _PAUSE_S
        if is_due:
            gc.collect()
        return is_due


def let_strips_go() -> None:
    """Keep a row that is drawn uncut from holding itself.

    Textual notes in each strip how it was cut, for one that was not cut the strip itself: each row that ever was on the
    screen, with its dozen of caches, would wait for a whole collection.
    """
    divide = Strip.divide
    if getattr(divide, "lets_go", False):
        return

    def divide_and_let_go(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
        wanted = [cut for cut in cuts if cut <= strip.cell_length]
        return [strip] if wanted == [strip.cell_length] else divide(strip, wanted)

    setattr(divide_and_let_go, "lets_go", True)  # noqa: B010 - a function's own mark
    setattr(Strip, "divide", divide_and_let_go)  # noqa: B010 - a method of theirs

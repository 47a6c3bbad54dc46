"""Which window of a new reading continues which earlier one. Pure.

The contract knows windows by their place alone, but vendors hide them, swap them and send the weekly one in the slot of
the short one (field reports in the contract, section 3.4): so labels decide first, and the place last.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

_SAME_RESET = timedelta(seconds=90)  # one vendor recomputes the reset from "seconds left" at each call


class Identified(Protocol):
    """What a window is recognised by; `core.windows.Window` and `core.readings.ParsedWindow` both fit."""

    @property
    def position(self) -> int:
        """Return its place in the script's answer."""

    @property
    def resets_at(self) -> datetime:
        """Return its reset."""

    @property
    def label(self) -> str | None:
        """Return its name, where it has one."""


def match_windows(old: Sequence[Identified], new: Sequence[Identified]) -> tuple[int | None, ...]:
    """Tell, for each window of a new reading, which index of `old` it continues; None: it is new.

    Equal labels match first, then (where one side has no label) the same place with the same reset, the same reset,
    and last the same place. Different labels never match, and no old window is continued twice.
    """
    matched: list[int | None] = [None] * len(new)
    for claims in (_same_label, _same_place_and_reset, _same_reset, _same_place):
        for index, window in enumerate(new):
            if matched[index] is None:
                free = (place for place in range(len(old)) if place not in matched)
                matched[index] = next((place for place in free if claims(old[place], window)), None)
    return tuple(matched)


def _same_label(old: Identified, new: Identified) -> bool:
    return old.label is not None and old.label == new.label


def _lack_labels(old: Identified, new: Identified) -> bool:
    return old.label is None or new.label is None


def _same_reset(old: Identified, new: Identified) -> bool:
    return _lack_labels(old, new) and abs(old.resets_at - new.resets_at) <= _SAME_RESET


def _same_place(old: Identified, new: Identified) -> bool:
    return _lack_labels(old, new) and old.position == new.position


def _same_place_and_reset(old: Identified, new: Identified) -> bool:
    return _same_place(old, new) and _same_reset(old, new)

"""The pieces in which a live session's answer comes. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from oulipoly_demo.base import answers, turn
from oulipoly_demo.base.conversation import Turn
from oulipoly_demo.base.directives import Directives
from oulipoly_demo.base.options import Style

_BLOCK = 1 << 16


def pieces_of(asked: Directives, turns: tuple[Turn, ...]) -> Iterable[str]:
    """Return the answer to the last of `turns`: in many small pieces, in big ones, or in a few."""
    flood = next((int(step.amount) for step in asked.steps if step.kind == "flood"), 0)
    if flood:
        return (f"{number} " for number in range(flood))
    if asked.big_bytes:
        whole = answers.big(asked.big_bytes)
        return (whole[start : start + _BLOCK] for start in range(0, len(whole), _BLOCK))
    return answers.chunks(turn.compose(asked, turns, Style()))


def is_flood(asked: Directives) -> bool:
    """Tell whether the answer comes without pauses."""
    return any(step.kind == "flood" for step in asked.steps)

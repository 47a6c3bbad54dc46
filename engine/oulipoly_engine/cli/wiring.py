"""How warnings about the configuration are shown."""

from __future__ import annotations

from typing import TypeVar

from oulipoly_engine.cli import diagnostics
from oulipoly_engine.config.problem import Loaded

T = TypeVar("T")

_SHOWN_WARNINGS = 5


def told(loaded: Loaded[T]) -> T:
    """Show the warnings that came with a value, and return it."""
    for problem in loaded.problems[:_SHOWN_WARNINGS]:
        diagnostics.note(f"Warning: {problem.text}")
    if len(loaded.problems) > _SHOWN_WARNINGS:
        diagnostics.note(f"Warning: {len(loaded.problems) - _SHOWN_WARNINGS} more: run `agents config check`")
    return loaded.value

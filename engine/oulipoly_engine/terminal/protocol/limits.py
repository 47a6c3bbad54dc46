"""Bounds that hold for every screen. Pure."""

from __future__ import annotations

HOLD_S = 0.15  # how long a child may hold its picture (mode 2026): it may die inside, and tmux and kitty cap it alike
WHEEL_ROWS = 3  # arrow keys that a turn of the wheel sends where the child takes them for it
_LEAST_COLUMNS, _LEAST_ROWS, _MOST = 2, 1, 2000


def clamp_size(columns: int, rows: int) -> tuple[int, int]:
    """Return a size that a screen can have."""
    return max(_LEAST_COLUMNS, min(columns, _MOST)), max(_LEAST_ROWS, min(rows, _MOST))

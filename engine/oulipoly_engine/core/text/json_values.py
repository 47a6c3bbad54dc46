"""Values out of foreign JSON, whatever their types are. Pure."""

from __future__ import annotations

MOST_TOKENS = 1 << 50  # a greater count is damage, and sums of such counts would not fit SQLite's integers


def text_of(value: object) -> str:
    """Return a text, or none if it is something else."""
    return value if isinstance(value, str) else ""


def count_of(value: object) -> int:
    """Return a token count; what is none counts as 0."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < MOST_TOKENS else 0

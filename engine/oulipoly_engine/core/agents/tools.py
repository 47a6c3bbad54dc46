"""Which programs an agent may run, and how a line becomes the words of one. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

from oulipoly_engine.errors import ToolUnknown

_PARTS = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^\s\"']+)|(\s+)|([\"'])")


def check_tool(name: str, declared: Collection[str]) -> None:
    """Refuse what is not one of an agent's tools, by its exact name. Raises ToolUnknown, which lists them."""
    if name not in declared or "/" in name:
        listed = ", ".join(sorted(declared)) or "(none)"
        raise ToolUnknown(f"{name[:80]!r} is not a tool of this agent; it declares: {listed}")


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a line: parted by blanks outside quotes, the quotes dropped; an open quote is a letter."""
    words: list[str] = []
    current: str | None = None
    for double, single, plain, blank, lone in _PARTS.findall(text):
        if not blank:
            current = (current or "") + (double or single or plain or lone)
        elif current is not None:
            words.append(current)
            current = None
    return tuple(words) if current is None else (*words, current)

"""An entry's stored body as text. Pure."""

from __future__ import annotations

import json

from oulipoly_engine.records import Record

_PLAIN = "text"


class Passage(Record):
    """One chunk of a body."""

    kind: str  # text, tool_result, ...
    text: str

    @property
    def is_plain(self) -> bool:
        """Return whether it is what somebody said, rather than what a tool gave."""
        return self.kind == _PLAIN


def passages(body: str | None) -> tuple[Passage, ...]:
    """Return the chunks of a body that carry text; none for a missing or damaged one."""
    if body is None:
        return ()
    try:
        chunks = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    items = chunks if isinstance(chunks, list) else [chunks]
    return tuple(
        Passage(str(item.get("type", _PLAIN)), item["text"])
        for item in items
        if isinstance(item, dict) and isinstance(item.get("text"), str) and item["text"]
    )


def text_of(body: str | None) -> str:
    """Return everything that a body says, its chunks on lines of their own."""
    return "\n".join(passage.text for passage in passages(body))


def extract_text(body: str | None) -> str:
    """Return what somebody said in it, without what tools gave."""
    return "\n".join(passage.text for passage in passages(body) if passage.is_plain)

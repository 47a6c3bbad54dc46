"""An entry's stored body as text. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oulipoly_engine.records import Record

_PLAIN = "text"
_CONTEXT = "context"
PREFACE = "What follows was said before, in another session or process."  # begins what we say before a first message
PREFACE_END = "\n</session>\n\n"


class Passage(Record):
    """One chunk of a body."""

    kind: str  # text, tool_result, ...
    text: str

    @property
    def is_plain(self) -> bool:
        """Return whether it is what somebody said, rather than what a tool gave."""
        return self.kind == _PLAIN


class Kept(Record):
    """Which entries before a compaction are still sent behind its summary; none where nothing is set."""

    first: str = ""  # all from this one on: a summary of ours
    role: str = ""  # all of a role: codex
    ids: tuple[str, ...] = ()  # these: Claude Code


def passages(body: str | None) -> tuple[Passage, ...]:
    """Return the chunks of a body that carry text; none for a missing or damaged one."""
    return tuple(
        passage
        for item in _chunks(body)
        if isinstance(item.get("text"), str) and item["text"]
        for passage in _split_preface(Passage(str(item.get("type", _PLAIN)), item["text"]))
    )


def _split_preface(passage: Passage) -> Iterator[Passage]:
    """Yield what we have said of another session apart from the message behind it: nobody has typed it."""
    end = passage.text.rfind(PREFACE_END) + len(PREFACE_END) if passage.text.startswith(PREFACE) else 0
    if end > len(PREFACE_END):
        yield Passage(_CONTEXT, passage.text[:end])
        passage = Passage(passage.kind, passage.text[end:])
    if passage.text:
        yield passage


def chunk_kinds(body: str | None) -> tuple[str, ...]:
    """Return the kinds of the chunks of a body, each once, those without text too."""
    return tuple(dict.fromkeys(str(item.get("type", _PLAIN)) for item in _chunks(body)))


def _chunks(body: str | None) -> list[dict[str, Any]]:
    try:
        chunks = [] if body is None else json.loads(body)
    except (ValueError, RecursionError):
        return []
    items = chunks if isinstance(chunks, list) else [chunks]
    return [item for item in items if isinstance(item, dict)]


def find_first_kept(body: str | None) -> str:
    """Return the first entry that a compaction does not hide; empty: its CLI has made it, and does not tell."""
    return next((str(item["first_kept"]) for item in _chunks(body) if item.get("first_kept")), "")


def find_kept(body: str | None) -> Kept | None:
    """Return what a compaction keeps of what lies before it; None: it does not tell, so that may be all."""
    first_kept = find_first_kept(body)
    if first_kept:
        return Kept(first_kept)
    kept = next((item["kept"] for item in _chunks(body) if "kept" in item), None)
    if isinstance(kept, str):
        return Kept(role=kept)
    return Kept(ids=tuple(map(str, kept))) if isinstance(kept, list) else None


def text_of(body: str | None) -> str:
    """Return everything that a body says, its chunks on lines of their own."""
    return "\n".join(passage.text for passage in passages(body))


def extract_text(body: str | None) -> str:
    """Return what somebody said in it, without what tools gave."""
    return "\n".join(passage.text for passage in passages(body) if passage.is_plain)

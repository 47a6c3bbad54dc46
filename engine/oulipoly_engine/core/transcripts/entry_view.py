"""Entries as text to read: who spoke and when, the words wrapped, what tools gave in a line. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from oulipoly_engine.core.text.columns import fit, plain, wrap
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.entry_text import Passage, chunk_kinds, passages

_INDENT = "    "
_NO_TEXT = "(no text is stored of it: a tool's call, thinking or an image)"


def format_heading(position: int, role: str, at: datetime, marks: tuple[str, ...]) -> str:
    """Return the line above an entry. at: in the zone to show; position: from 1."""
    extra = f"  ({', '.join(marks)})" if marks else ""
    return f"#{position}  {plain(role)}  {at:%Y-%m-%d %H:%M:%S}{extra}"


def body_lines(body: str | None, columns: int, *, raw: bool) -> Iterator[str]:
    """Yield an entry's text, indented. raw: with the secrets in it."""
    found = passages(body)
    if not found:
        yield _INDENT + _NO_TEXT
    for passage in found:
        if passage.is_plain:
            text = passage.text if raw else redact(passage.text)
            yield from ((_INDENT + line).rstrip() for line in wrap(text, max(20, columns - len(_INDENT))))
        else:
            yield _INDENT + summary(passage, columns - len(_INDENT), raw=raw)


def summary(passage: Passage, columns: int, *, raw: bool) -> str:
    """Return what a tool gave on one line: its type, how much it is, and how it begins."""
    lines = passage.text.count("\n") + 1
    size = f"{len(passage.text)} characters" if lines == 1 else f"{lines} lines, {len(passage.text)} characters"
    head = passage.text[:2_000]
    begins = plain(head if raw else redact(head))
    return fit(f"[{plain(passage.kind)}: {size}] {begins}", max(20, columns))


def preview(body: str | None, columns: int) -> str:
    """Return how an entry begins, on one line without secrets: what was said in it, else what a tool was given."""
    chunks = passages(body)
    chosen = next((passage for passage in chunks if passage.is_plain), next(iter(chunks), None))
    if chosen is None:
        return fit(" ".join(f"[{plain(kind)}]" for kind in chunk_kinds(body)) or "(no text)", columns)
    begins = fit(plain(redact(chosen.text[:2_000].strip())), columns)
    return begins if chosen.is_plain else fit(f"[{plain(chosen.kind)}] {begins}", columns)

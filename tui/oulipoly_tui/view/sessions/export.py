"""The export screen's lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.transcripts.dialogue import Kind
from oulipoly_tui.view.transcript.markdown import markdown, printable
from oulipoly_tui.view.transcript.spans import Line, Span

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.values import ExportOptions

LOSSLESS = "canonical-jsonl"  # the format that an import takes
FORMATS = ("markdown", "html", LOSSLESS)
_FOR = {
    "markdown": "for people",
    "html": "for people, one file",
    LOSSLESS: "whole, to be edited and imported again",
}


def option_lines(wish: ExportOptions) -> tuple[Line, ...]:
    """Return the options with their keys."""
    is_whole = wish.format == LOSSLESS
    return (
        _option("ctrl+o", "format", f"{wish.format} ({_FOR[wish.format]})"),
        _option(
            "ctrl+r",
            "secrets",
            "left in: this form is whole" if is_whole else _word(wish.redacting, "taken out", "LEFT IN"),
        ),
        _option(
            "ctrl+t",
            "tools",
            "all" if is_whole else _word(wish.tools, "calls and results", "only that they were called"),
        ),
        _option("ctrl+k", "thinking", "all" if is_whole else _word(wish.thinking, "shown", "left out")),
    )


def preview_lines(found: Any, width: int) -> tuple[Line, ...]:  # noqa: ANN401 - a Preview, a text, or a RunnerError
    """Return the beginning of what would be written, or why it cannot be."""
    if isinstance(found, str):
        return tuple(((printable(line), ""),) for line in found.split("\n"))
    message = getattr(found, "message", None)
    if message is not None:
        return (((str(message), "warn"),),)
    return tuple(_entries(found, width))


def _entries(found: Any, width: int) -> Iterator[Line]:  # noqa: ANN401 - a Preview
    secrets = "not looked for" if found.secrets is None else str(found.secrets)
    yield ((f"from {found.origin.value}; secrets taken out so far: {secrets}", "dim"),)
    for entry in found.entries:
        if not entry.continues:
            yield ()
            yield ((f"▌ {entry.role}", "heading"), (f"  {printable(entry.at)}", "dim"))
        for part in entry.parts:
            if part.kind is Kind.TEXT:
                yield from (written.line for written in markdown(part.text, width))
            else:
                text = printable(" ".join(part.text[:200].split()))
                yield ((f"  {part.kind.value} {printable(part.label)}  {text}", "dim"),)
    if found.has_more:
        yield ()
        yield (("… and more", "dim"),)


def _option(key: str, name: str, text: str) -> Line:
    spans: tuple[Span, ...] = ((f"{key:<8}", "key"), (f"{name:<10}", "dim"), (text, "strong"))
    return spans


def _word(holds: bool, yes: str, no: str) -> str:  # noqa: FBT001, RUF100 - a word for each
    return yes if holds else no

"""Images of agents as lines. What images say is hostile. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.core.text.columns import size_text
from oulipoly_tui.view.agents.agents import shown
from oulipoly_tui.view.transcript.spans import Line, Row, Span, Tone, cells, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.core.images.info import ImageInfo

_DIGEST = 14  # columns, all of these
_SIZE = 9
_NAME_LEAST = 24
_SIGNS: dict[str, Tone] = {"+": "good", "-": "bad", "~": "accent"}
EMPTY: tuple[Line, ...] = (
    (("No images yet.", "strong"),),
    (),
    (("agents image build PATH -t NAME", "accent"), (" builds one of an Agentfile or its folder, ", "")),
    (("agents image pull REF", "accent"), (" gets one.", "")),
    (("r", "key"), (" runs an agent all the same, ", ""), ("v", "key"), (" shows the agents.", "")),
)


def image_rows(images: Sequence[ImageInfo], width: int) -> tuple[Row, ...]:
    """Return a row an image, which is its reference's."""
    return tuple(Row(each.ref, _line(each, width)) for each in images)


def image_lines(image: ImageInfo, tags: Sequence[str]) -> tuple[Line, ...]:
    """Return what a list knows of an image. tags: that mean the same."""
    rows = [
        ("says", image.description),
        ("digest", image.digest),
        ("tags", ", ".join(tags)),
        ("kind", image.media_type),
        ("source", image.source),
        *((f"label {key}", value) for key, value in sorted(image.annotations.items()) if value != image.description),
    ]
    return tuple(((f"{shown(name)}  ", "dim"), (shown(text), "")) for name, text in rows if text)


def change_spans(lines: Sequence[str]) -> tuple[Line, ...]:
    """Return what an update changes, a tone a sign."""
    return tuple(((line, _SIGNS.get(line.strip()[:1], "")),) for line in lines)


def part_lines(parts: Sequence[tuple[str, str, str]]) -> tuple[Line, ...]:
    """Return the parts of an agent's image, each with what it says and where it stands."""
    width = max((cells(shown(name)) for name, _, _ in parts), default=0)
    return tuple(
        ((f"{fit_text(shown(name), width)}  ", "dim"), (shown(says), ""), (f"  {shown(where)}", "dim"))
        for name, says, where in parts
    )


def _line(image: ImageInfo, width: int) -> Line:
    columns: list[Span] = [
        (fit_text(size_text(image.size), _SIZE, right=True), ""),
        (fit_text(f"  {image.digest.partition(':')[2]}", _DIGEST), "dim"),
    ]
    while columns and width - sum(cells(text) for text, _ in columns) < _NAME_LEAST:
        columns.pop()
    room = width - sum(cells(text) for text, _ in columns) - 2
    return ((" ", ""), (fit_text(shown(image.ref), max(1, min(48, room))), ""), *columns)

"""What a replacement would change, turn by turn. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.core.rewrite.steps import Kind, Step
from oulipoly_engine.core.text.columns import plain
from oulipoly_tui.view.transcript.markdown import printable
from oulipoly_tui.view.transcript.spans import Line, Tone

if TYPE_CHECKING:
    from oulipoly_engine.core.transcripts.canonical import Chunk
    from oulipoly_engine.facade.sessions.types import Plan

_WORDS: dict[Kind, tuple[str, Tone]] = {
    Kind.CHANGED: ("changed", "warn"),
    Kind.ADDED: ("added", "good"),
    Kind.REMOVED: ("removed", "bad"),
}
_AROUND = 2  # lines that stay, above and below a change
_MOST_LINES = 400  # of an entry


def summary(plan: Plan) -> tuple[Line, ...]:
    """Return what the whole of it comes to, and what a person should know before going on."""
    told = ", ".join(f"{plan.count(kind)} {kind.value}" for kind in Kind)
    lines: list[Line] = [
        (("turns: ", "dim"), (told, "strong")),
        (("file:  ", "dim"), (plain(str(plan.target.path)), "")),
        (("bytes: ", "dim"), (f"{plan.size_bytes:,} → {plan.new_size_bytes:,}", "")),
        (
            ("now:   ", "dim"),
            (f"sha256 {plan.preimage_sha256[:16]}… is checked again before anything is written", "dim"),
        ),
    ]
    lines += [(("! ", "warn"), (plain(note), "warn")) for note in plan.notes]
    return tuple(lines)


def diff_lines(steps: Sequence[Step]) -> tuple[Line, ...]:
    """Return every turn that does not stay as it is, with the lines that go and come."""
    found: list[Line] = []
    for number, step in enumerate(steps, 1):
        if step.kind is not Kind.KEPT:
            found += ((), *_step(number, step))
    return tuple(found) or (((), (("nothing would change: the turns are as they are", "dim"),)))


def _step(number: int, step: Step) -> Iterator[Line]:
    word, tone = _WORDS[step.kind]
    yield (
        (f"turn {number}  ", "heading"),
        (f"{plain(step.role)}  ", ""),
        (word, tone),
        (f"  {_place(step.entry_id)}", "dim"),
    )
    before = [] if step.old is None else _texts(step.old.content)
    after = [] if step.new is None else _texts(step.new.content)
    if step.old is not None and step.new is not None and step.old.timestamp != step.new.timestamp:
        yield (("- at ", "bad"), (plain(step.old.timestamp), "bad"))
        yield (("+ at ", "good"), (plain(step.new.timestamp), "good"))
    lines = difflib.unified_diff(before, after, lineterm="", n=_AROUND)
    for place, line in enumerate(lines):
        if place < 2:  # the names of two files
            continue
        if place > _MOST_LINES:
            yield (("  … more of this turn is left out here", "dim"),)
            return
        yield _line(line)


def _place(entry_id: str) -> str:
    """Return the beginning of an entry's id, or the line, where its CLI gives none and the id is its file and line."""
    line = entry_id.rpartition(":")[2]
    return f"line {line}" if "/" in entry_id and line.isdecimal() else plain(entry_id)[:8]


def _line(line: str) -> Line:
    text = printable(line[1:])
    match line[:1]:
        case "-":
            return ((f"- {text}", "bad"),)
        case "+":
            return ((f"+ {text}", "good"),)
        case "@":
            return (("  ⋯", "dim"),)
        case _:
            return ((f"  {text}", "dim"),)


def _texts(content: Sequence[Chunk]) -> list[str]:
    lines: list[str] = []
    for chunk in content:
        if chunk.type != "text":
            lines.append(f"[{chunk.type}]")
        lines += (chunk.text or "").split("\n") if chunk.text is not None else []
    return lines

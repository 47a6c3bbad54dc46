"""Entries of a transcript as lines: what was said, a model's words as Markdown, the rest folded to a line each. Pure.

Texts come from outside and are hostile: they are only ever shown, sign by sign.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.text.quantities import moment
from oulipoly_engine.core.transcripts.dialogue import Entry, Kind, Part
from oulipoly_engine.records import Record
from oulipoly_tui.view.transcript.markdown import bar, code_blocks, markdown, typed
from oulipoly_tui.view.transcript.spans import Line, Span, Tone, cut

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import Damage, PlacedEntry, Provenance

HEADING = -1  # the part number of the line above an entry
SIDE_CHAIN = -2  # of a sub-agent session's entry: all of it
_INDENT = "  "
_BEGINNING = 400  # characters of a part, in which its first line is looked for
_GONE = ", whose file is gone: what was open of it can still be read"
_NAMES = {
    Kind.THINKING: "thinking",
    Kind.CALL: "call",
    Kind.RESULT: "result",
    Kind.CONTEXT: "context",
    Kind.SUMMARY: "compacted here: a summary of everything before",
}


class Target(Record):
    """What a transcript pane is to show."""

    chain_id: str
    account: str
    session_id: str
    path: str | None
    title: str
    entry_id: str = ""  # where to begin; empty: at the end
    at: str = ""  # its instant
    side: str = ""  # the name of a sub-agent's own file, where `path` is one

    @property
    def key(self) -> str:
        """Return what tells two apart."""
        return f"{self.account}\n{self.session_id}\n{self.side}"


class TranscriptLine(Record):
    """One line, and what of the turn it belongs to."""

    line: Line
    part: int = HEADING
    block: int = -1  # a code block's number in its part


class Folds(Record):
    """What is unfolded."""

    opened: Collection[tuple[int, int]] = ()  # (place, part); with `all` those that are folded
    is_all: bool = False
    is_side: bool = False  # a sub-agent session is shown by itself

    def is_open(self, place: int, part: int) -> bool:
        """Tell whether a part is shown whole."""
        return ((place, part) in self.opened) is not self.is_all


def entry_lines(placed: PlacedEntry, width: int, folds: Folds) -> tuple[TranscriptLine, ...]:
    """Return the lines of one place; none where there is nothing to show."""
    entry = placed.entry
    if entry is None or not any(part.text.strip() or part.kind is not Kind.TEXT for part in entry.parts):
        return ()
    width = max(12, width)
    if entry.is_sidechain and not folds.is_side:
        if not folds.is_open(placed.place, SIDE_CHAIN):
            return (TranscriptLine(_side_line(entry, width), SIDE_CHAIN),)
        head = TranscriptLine((("┆▾ sub-agent session", "dim"),), SIDE_CHAIN)
        inner = _entry_lines(placed.place, entry, width - 2, folds)
        return (head, *(TranscriptLine((("┆ ", "dim"), *one.line), one.part, one.block) for one in inner))
    return tuple(_entry_lines(placed.place, entry, width, folds))


def foldable(placed: PlacedEntry, part: int) -> bool:
    """Tell whether a part can be folded."""
    if part == SIDE_CHAIN:
        return True
    return placed.entry is not None and 0 <= part < len(placed.entry.parts) and placed.entry.parts[part].kind in _NAMES


def says(entry: Entry | None) -> bool:
    """Tell whether somebody says something in it, so that it counts as a turn to go to."""
    return entry is not None and any(part.kind is Kind.TEXT and part.text.strip() for part in entry.parts)


def is_users(entry: Entry | None) -> bool:
    """Tell whether a person says something in it."""
    return entry is not None and entry.role == "user" and not entry.is_sidechain and says(entry)


def part_with(entry: Entry | None, text: str) -> int | None:
    """Return the first part that holds a text; any case."""
    wanted = text.casefold()
    parts = () if entry is None else entry.parts
    return next((number for number, part in enumerate(parts) if wanted in f"{part.label} {part.text}".casefold()), None)


def mark_matches(line: Line, pattern: re.Pattern[str] | None) -> Line:
    """Return a line with what fits a pattern set apart."""
    if pattern is None:
        return line
    found: list[Span] = []
    for text, tone in line:
        at = 0
        for match in pattern.finditer(text):
            found += [(text[at : match.start()], tone), (match[0], "accent")]
            at = match.end()
        found.append((text[at:], tone))
    return tuple(span for span in found if span[0])


def message_text(entry: Entry) -> str:
    """Return what is copied of an entry: what was said, or everything where nothing was."""
    texts = [part.text for part in entry.parts if part.kind is Kind.TEXT]
    return "\n\n".join(texts or [part.text for part in entry.parts if part.text])


def code_of(entry: Entry, part: int, block: int) -> str | None:
    """Return a code block: the one of a line, else the entry's first."""
    if 0 <= part < len(entry.parts) and block >= 0:
        found = code_blocks(entry.parts[part].text)
        if block < len(found):
            return found[block]
    return next((code for one in entry.parts if one.kind is Kind.TEXT for code in code_blocks(one.text)), None)


def damage_text(damage: Damage) -> str:
    """Say which lines of a file cannot be read; empty: all can."""
    if damage.lines < 2:
        return f"line {damage.first:,} unreadable" if damage.lines else ""
    return f"{damage.lines:,} lines unreadable, first {damage.first:,}"


def provenance_lines(entry: Entry | None, found: Provenance, target: Target) -> tuple[Line, ...]:
    """Return where an entry comes from, a line each."""
    rows = [
        ("read from", f"{found.origin.value}{_GONE if found.is_gone else ''}"),
        ("file", found.place),
        *((("damage", damage),) if (damage := damage_text(found.damage)) else ()),
        ("line", "?" if found.line is None else f"{found.line:,}"),
        ("bytes", "?" if found.byte_start is None else f"{found.byte_start:,} to {found.byte_end:,}"),
        ("sha256", found.sha256),
        ("account", target.account),
        ("session", target.session_id),
        ("id", target.chain_id or "?"),
    ]
    if entry is not None:
        rows += [
            ("turn", entry.entry_id or "?"),
            ("role", entry.role),
            ("at", entry.at or "?"),
            ("model", entry.model or "?"),
        ]
    return tuple(((f"{name:<10}", "dim"), (plain(text), "")) for name, text in rows)


def _entry_lines(place: int, entry: Entry, width: int, folds: Folds) -> Iterator[TranscriptLine]:
    if any(part.kind in (Kind.TEXT, Kind.IMAGE, Kind.SUMMARY) for part in entry.parts):
        yield TranscriptLine(())
        yield TranscriptLine(_format_heading(entry, width))
    for number, part in enumerate(entry.parts):
        yield from _part_lines(place, number, part, width, folds, is_users=entry.role == "user")


def _format_heading(entry: Entry, width: int) -> Line:
    is_user = entry.role == "user"
    name: Span = ("▌ you", "good") if is_user else ("▌ assistant", "accent")
    asides = [
        _moment(entry.at),
        "" if entry.model is None else plain(entry.model),
        "sub-agent session" if entry.is_sidechain else "",
    ]
    told = "  ".join(text for text in asides if text)
    return (name, (cut(f"  {told}", max(0, width - len(name[0]))), "dim"))


def _part_lines(
    place: int, number: int, part: Part, width: int, folds: Folds, *, is_users: bool
) -> Iterator[TranscriptLine]:
    if part.kind is Kind.TEXT and is_users:
        for line in typed(part.text.strip("\n"), width - len(_INDENT)):
            yield TranscriptLine(((_INDENT, ""), *line), number)
    elif part.kind is Kind.TEXT:
        for written in markdown(part.text.strip("\n"), width - len(_INDENT)):
            yield TranscriptLine(((_INDENT, ""), *written.line), number, written.block)
    elif part.kind is Kind.IMAGE:
        yield TranscriptLine(
            ((_INDENT, ""), (f"[image {plain(part.label)} {plain(part.text)}]".replace(" ]", "]"), "dim")), number
        )
    else:
        is_open = folds.is_open(place, number)
        yield TranscriptLine(_fold_line(part, width, is_open=is_open), number)
        if is_open:
            inside = bar(part.text.rstrip("\n"), width - 4, "dim", "")
            yield from (TranscriptLine((("    ", ""), *line), number) for line in inside)


def _fold_line(part: Part, width: int, *, is_open: bool) -> Line:
    mark = "▾ " if is_open else "▸ "
    tone: Tone = "bad" if part.is_error else "dim"
    name = _NAMES[part.kind]
    if part.kind is Kind.CALL and part.label:
        name = plain(part.label)
    if part.is_error:
        name += " (error)"
    name_tone: Tone = "strong" if part.kind in (Kind.CALL, Kind.SUMMARY) else tone
    lines = part.text.count("\n") + 1 if part.text.strip() else 0
    size = "" if lines < 2 else f" ({lines:,} lines)"
    room = width - len(_INDENT) - len(mark) - len(name) - len(size) - 2
    begins = "" if is_open else cut(_first_words(part.text), max(0, room))
    return ((_INDENT + mark, "dim"), (name, name_tone), (f"  {begins}" if begins else "", tone), (size, "dim"))


def _side_line(entry: Entry, width: int) -> Line:
    words = next((_first_words(part.text) for part in entry.parts if part.text.strip()), "")
    head = f"┆▸ sub-agent session  {entry.role}: "
    return ((head, "dim"), (cut(words, max(0, width - len(head))), "dim"))


def _first_words(text: str) -> str:
    return plain(" ".join(text[:_BEGINNING].split()))


def _moment(at: str) -> str:
    try:
        return moment(from_text(at))
    except (ValueError, OverflowError):
        return plain(at[:30])

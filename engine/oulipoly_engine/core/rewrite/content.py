"""Bring the content of one native message to the wanted chunks, touching nothing but the texts that differ. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord, refuse
from oulipoly_engine.core.text.json_splice import Path, elements, to_json, with_values
from oulipoly_engine.core.transcripts.canonical import Chunk, chunks
from oulipoly_engine.records import Record

TEXT = "text"
_TEXT_KEYS = ("text", "content")  # where a block keeps what an export shows, in the order in which it looks


class Place(Record):
    """Where a native message keeps its content."""

    path: Path  # inside the line's object
    value: object  # what stands there: a text, an object, or a list of both

    @property
    def items(self) -> list[Any]:
        """Return the blocks, one if it is not a list."""
        return self.value if isinstance(self.value, list) else [self.value]


def changes(
    text: str, place: Place, wanted: ReplacementRecord, block: Callable[[str], Mapping[str, object]]
) -> dict[Path, str]:
    """Return the values to put into a line so that an export of it gives the wanted content.

    text: the line; block: makes a native block of a text.
    Raises ReplacementInvalid, naming the input line, for what cannot be expressed without loss.
    """
    if not wanted.content:
        refuse(wanted.line, f"turn {wanted.entry_id} would be left without content: leave its line out to remove it")
    old = [chunks([item]) for item in place.items]
    if not isinstance(place.value, list):
        return _of_single(place, old[0], wanted, block)
    if not all(len(found) == 1 for found in old):
        refuse(wanted.line, f"the transcript's turn {wanted.entry_id} holds blocks that an export does not show")
    shown = [found[0] for found in old]
    if [chunk.type for chunk in shown] == [chunk.type for chunk in wanted.content]:
        return _in_place(place, shown, wanted)
    return {place.path: _rebuilt(text, place, shown, wanted, block)}


def new_blocks(wanted: ReplacementRecord, block: Callable[[str], Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Return the blocks of a turn that is added. Raises ReplacementInvalid for anything but text."""
    if not wanted.content:
        refuse(wanted.line, f"turn {wanted.entry_id} is not in the transcript, and it has no content to add")
    return [block(_new_text(chunk, wanted)) for chunk in wanted.content]


def _of_single(
    place: Place, old: Sequence[Chunk], wanted: ReplacementRecord, block: Callable[[str], Mapping[str, object]]
) -> dict[Path, str]:
    first = wanted.content[0]
    if len(wanted.content) == 1 and old and old[0].type == first.type:
        if isinstance(place.value, str) and first.text:
            return {place.path: to_json(first.text)}
        if isinstance(place.value, dict):
            return {place.path + key: value for key, value in _edit(place.value, old[0], first, wanted).items()}
    if place.value and not isinstance(place.value, str):
        refuse(wanted.line, f"the content of turn {wanted.entry_id} is a single block, which cannot become several")
    return {place.path: to_json(new_blocks(wanted, block))}


def _in_place(place: Place, shown: Sequence[Chunk], wanted: ReplacementRecord) -> dict[Path, str]:
    items = place.items
    values: dict[Path, str] = {}
    for number, (before, after) in enumerate(zip(shown, wanted.content, strict=True)):
        edit = _edit(items[number], before, after, wanted)
        values |= {(*place.path, number, *key): value for key, value in edit.items()}
    return values


def _edit(item: Any, before: Chunk, after: Chunk, wanted: ReplacementRecord) -> dict[Path, str]:  # noqa: ANN401 - JSON
    """Return what to put where inside one block."""
    if before == after:
        return {}
    if before.text is None or after.text is None:
        problem = f"the {before.type} block of turn {wanted.entry_id} holds no text, and stays as it is or goes"
        refuse(wanted.line, problem if before.text is None else f"a chunk of turn {wanted.entry_id} has lost its text")
    if isinstance(item, str):
        return {(): to_json(after.text)}
    key = next(key for key in _TEXT_KEYS if isinstance(item.get(key), str))
    return {(key,): to_json(after.text)}


def _rebuilt(
    text: str,
    place: Place,
    shown: Sequence[Chunk],
    wanted: ReplacementRecord,
    block: Callable[[str], Mapping[str, object]],
) -> str:
    """Return the JSON text of a list with other blocks than before: known ones as they stood, new ones of text."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - 3 ms, only a changed number of blocks needs it

    native = elements(text, place.path)
    matcher = SequenceMatcher(None, list(shown), list(wanted.content), autojunk=False)
    pieces: list[str] = []
    for kind, start, stop, begin, end in matcher.get_opcodes():
        if kind == "equal":
            pieces += native[start:stop]
            continue
        spare = list(range(start, stop))
        for chunk in wanted.content[begin:end]:
            same = next((number for number in spare if _can_become(shown[number], chunk)), None)
            if same is None:
                pieces.append(to_json(block(_new_text(chunk, wanted))))
                continue
            spare = [number for number in spare if number > same]
            items = place.items
            edit = _edit(items[same], shown[same], chunk, wanted)
            pieces.append(with_values(native[same], edit))
    return f"[{','.join(pieces)}]"


def _can_become(before: Chunk, after: Chunk) -> bool:
    return before.type == after.type and before.text is not None and after.text is not None


def _new_text(chunk: Chunk, wanted: ReplacementRecord) -> str:
    if chunk.text is None:
        refuse(wanted.line, f"a {chunk.type} chunk of turn {wanted.entry_id} has no text, so it cannot be rendered")
    if chunk.type != TEXT:
        refuse(wanted.line, f"a chunk of type {chunk.type!r} cannot be added to turn {wanted.entry_id}: only text can")
    return chunk.text

"""Which entries of a transcript stay, change, go or come. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord, keep_unchanged, refuse
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord, Chunk
from oulipoly_engine.records import Record


class Kind(StrEnum):
    """What becomes of a record."""

    KEPT = "kept"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


class Step(Record):
    """One record's part in a replacement, in the order of the new transcript."""

    kind: Kind
    old: CanonicalRecord | None  # None: added
    new: ReplacementRecord | None  # None: removed, or a record that is not an entry and was not mentioned

    @property
    def entry_id(self) -> str:
        """Return the entry's id; every step has an old or a new side."""
        return self.old.entry_id if self.old is not None else self.new.entry_id if self.new is not None else ""

    @property
    def role(self) -> str:
        """Return the entry's role."""
        return self.old.role if self.old is not None else self.new.role if self.new is not None else ""

    @property
    def is_entry(self) -> bool:
        """Return whether it is an entry, not the placeholder of another record."""
        return not (self.old is not None and self.old.is_unsupported)


def steps(old: Sequence[CanonicalRecord], wanted: Sequence[ReplacementRecord]) -> tuple[Step, ...]:
    """Return every record's part, in the order of the new transcript.

    Records that are no entries (attachments, system notes) stay where they are, mentioned or not; a mentioned one must
    be as it was exported.
    Raises ReplacementInvalid, naming the input line, for turns in another order, twice, or in another role.
    """
    found = tuple(_align(old, wanted))
    if not any(step.is_entry and step.new is not None for step in found):
        refuse(0, "no turn would be left: a session needs one")
    return found


def _align(old: Sequence[CanonicalRecord], wanted: Sequence[ReplacementRecord]) -> Iterator[Step]:
    places: dict[str, list[int]] = {}
    for place, record in enumerate(old):
        places.setdefault(record.entry_id, []).append(place)
    added: dict[str, ReplacementRecord] = {}
    pending: list[ReplacementRecord] = []  # added ones go right before the next known one, behind what is not an entry
    here = 0
    for one in wanted:
        known = next((place for place in places.get(one.entry_id, ()) if place >= here), None)
        if known is None:
            _check_new(one, places, added)
            added[one.entry_id] = one
            pending.append(one)
            continue
        yield from (_pass_over(record) for record in old[here:known])
        yield from (Step(Kind.ADDED, None, new) for new in pending)
        yield _match(old[known], one)
        pending, here = [], known + 1
    yield from (_pass_over(record) for record in old[here:])
    yield from (Step(Kind.ADDED, None, new) for new in pending)


def _pass_over(record: CanonicalRecord) -> Step:
    return Step(Kind.KEPT if record.is_unsupported else Kind.REMOVED, record, None)


def _check_new(one: ReplacementRecord, places: dict[str, list[int]], added: dict[str, ReplacementRecord]) -> None:
    if one.is_unsupported:
        refuse(one.line, f"the record {one.entry_id} is not a turn, and the transcript has none like it at this place")
    if one.entry_id in places:
        refuse(one.line, f"turn {one.entry_id} stands before another one than in the transcript: turns cannot be moved")
    if one.entry_id in added:
        refuse(one.line, f"turn {one.entry_id} was already given in line {added[one.entry_id].line}")


def _match(record: CanonicalRecord, one: ReplacementRecord) -> Step:
    if one.is_unsupported != record.is_unsupported:
        what = "not a turn" if record.is_unsupported else "a turn, not an unsupported record"
        refuse(one.line, f"the record {one.entry_id} is {what} in the transcript")
    if record.role != one.role:
        refuse(one.line, f"turn {one.entry_id} is the {record.role}'s, and cannot become the {one.role[:40]!r}'s")
    is_same = (record.timestamp, record.content) == (one.timestamp, one.content)
    if record.is_unsupported and not (is_same and record.source.sha256 == one.sha256):
        refuse(one.line, f"the record {one.entry_id} ({one.role[:40]}) is not a turn and must stay as it was exported")
    return Step(Kind.KEPT if is_same else Kind.CHANGED, record, one)


def compare(old: Sequence[CanonicalRecord], new: Sequence[CanonicalRecord]) -> tuple[Step, ...]:
    """Return what differs between two states of a transcript, each of them as it is; nothing is refused."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - 3 ms, only an undo needs it

    wanted = keep_unchanged(new)
    before, after = ([(one.role, one.timestamp, one.content) for one in side] for side in (old, new))
    found: list[Step] = []
    for kind, start, stop, begin, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            found += [Step(Kind.KEPT, *pair) for pair in zip(old[start:stop], wanted[begin:end], strict=True)]
            continue
        left = {record.entry_id: record for record in old[start:stop]}
        pairs = [(left.pop(one.entry_id, None), one) for one in wanted[begin:end]]
        found += [Step(Kind.REMOVED, record, None) for record in left.values()]
        found += [Step(Kind.ADDED if record is None else Kind.CHANGED, record, one) for record, one in pairs]
    return tuple(found)


def texts(content: Sequence[Chunk]) -> list[str]:
    """Return the texts of a content, in order."""
    return [chunk.text for chunk in content if chunk.text is not None]

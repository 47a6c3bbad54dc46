"""Bring a CLI's own transcript to the wanted entries, losing nothing that was not asked to go. Pure.

A turn that is wanted as it was keeps its native line byte for byte, and so does every line that is not an entry; a
changed text is changed inside its line. What cannot be expressed so is refused, and what comes out is read again and
compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.rewrite import claude, codex
from oulipoly_engine.core.rewrite.draft_lines import Draft, raw_lines
from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord, refuse
from oulipoly_engine.core.rewrite.steps import Kind, Step, steps
from oulipoly_engine.core.transcripts import claude as claude_lines
from oulipoly_engine.core.transcripts import codex as codex_lines
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord, Origin, render, scan
from oulipoly_engine.errors import TranscriptMalformed
from oulipoly_engine.records import Record

_READERS = {
    StorageType.CLAUDE_CODE: claude_lines.canonical_records,
    StorageType.CODEX_SESSION: codex_lines.canonical_records,
}
_EDITORS: dict[StorageType, Callable[[Draft, Sequence[Step], Origin], bytes]] = {
    StorageType.CLAUDE_CODE: claude.apply_steps,
    StorageType.CODEX_SESSION: codex.apply_steps,
}


class Reading(Record):
    """What an export shows of a transcript."""

    records: tuple[CanonicalRecord, ...]  # from the last compaction summary on
    hidden: frozenset[str]  # ids of entries before it, which no replacement touches

    @property
    def entries(self) -> tuple[CanonicalRecord, ...]:
        """Return the records that are entries."""
        return tuple(record for record in self.records if not record.is_unsupported)

    @property
    def sha256(self) -> str:
        """Return the hash of the export's bytes."""
        digest = hashlib.sha256()
        for record in self.records:
            digest.update(render(record))
        return digest.hexdigest()


class Rewrite(Record):
    """A transcript as it is to be."""

    data: bytes
    reading: Reading  # of that data
    steps: tuple[Step, ...]
    notes: tuple[str, ...]  # what a person should know before going on


def read(storage_type: StorageType, data: bytes, origin: Origin) -> Reading:
    """Read a transcript as `session export` does.

    Raises TranscriptMalformed; KeyError for a storage type without a canonical form.
    """
    records = list(_READERS[storage_type](scan(raw_lines(data)), origin))
    start = max((place for place, record in enumerate(records) if record.restarts), default=0)
    return Reading(tuple(records[start:]), frozenset(record.entry_id for record in records[:start]))


def rewrite(storage_type: StorageType, data: bytes, wanted: Sequence[ReplacementRecord], origin: Origin) -> Rewrite:
    """Return a transcript with the wanted entries.

    Raises ReplacementInvalid, naming the input line, for what cannot be written without loss; TranscriptMalformed when
    the transcript itself cannot be read.
    """
    old = read(storage_type, data, origin)
    found = steps(old.records, wanted)
    if all(step.kind is Kind.KEPT for step in found):
        return Rewrite(data, old, found, ())
    new_data = _EDITORS[storage_type](Draft(data), found, origin)
    try:
        new = read(storage_type, new_data, origin)
    except TranscriptMalformed as error:
        refuse(0, f"the transcript would be malformed: {error.message}")
    _compare(found, new.records, origin)
    return Rewrite(new_data, new, found, tuple(_notes(storage_type, data, new_data, found)))


def _compare(found: Sequence[Step], records: Sequence[CanonicalRecord], origin: Origin) -> None:
    """Refuse what would not be exported again as it was wanted."""
    expected = [step for step in found if step.kind is not Kind.REMOVED]
    for step, record in zip(expected, records, strict=False):
        line = step.new.line if step.new is not None else 0
        wanted = step.new or step.old
        assert wanted is not None  # noqa: S101 - every step has a side
        if not _is_positional(step, origin) and record.entry_id != step.entry_id:
            refuse(line, f"turn {step.entry_id} would not be exported at its place, but {record.entry_id}")
        if (record.role, record.timestamp, record.content) != (wanted.role, wanted.timestamp, wanted.content):
            refuse(line, f"turn {step.entry_id} would be exported in another form than wanted")
    if len(expected) != len(records):
        refuse(0, f"{len(records)} records would be exported, not {len(expected)}")


def _is_positional(step: Step, origin: Origin) -> bool:
    """Return whether an entry has no id of its own and is named by its line, which moves."""
    return step.old is not None and step.old.entry_id == f"{origin.path}:{step.old.source.line}"


def _notes(storage_type: StorageType, old: bytes, new: bytes, found: Sequence[Step]) -> list[str]:
    notes = [
        f"turn {step.entry_id} holds a tool's call or result: the CLI drops or makes up the other half if it is left"
        for step in found
        if step.kind is Kind.REMOVED and step.old is not None and _has_tool(step.old)
    ]
    if storage_type is StorageType.CLAUDE_CODE:
        notes += _branch_notes(old, new, found)
    return notes


def _has_tool(record: CanonicalRecord) -> bool:
    return any(chunk.type in ("tool_use", "tool_result") for chunk in record.content)


def _branch_notes(old: bytes, new: bytes, found: Sequence[Step]) -> list[str]:
    """Say which turns Claude Code would not follow, though it followed those beside them."""
    before, after = (
        claude.active_entries([json.loads(line.data) for line in scan(raw_lines(data))]) for data in (old, new)
    )
    wanted = [step for step in found if step.new is not None and step.is_entry]
    lost = [step.entry_id for step in wanted if step.entry_id in before and step.entry_id not in after]
    if lost:
        refuse(0, f"turn {lost[0]} would be cut off from the entries that Claude Code follows")
    return [
        f"turn {step.entry_id} hangs on a branch that Claude Code does not follow: "
        "it is kept, and not sent to the model"
        for step in wanted
        if step.kind is Kind.ADDED and step.entry_id not in after
    ]

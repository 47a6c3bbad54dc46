"""The stored side of a replacement: the rows that follow from the new transcript, in one transaction."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from oulipoly_engine.adapters.transcript_file import read_transcript
from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.rewrite import rewrite
from oulipoly_engine.core.rewrite.journal import Journal, body
from oulipoly_engine.core.rewrite.rewrite import Reading
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord, Origin
from oulipoly_engine.errors import TranscriptMalformed
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.rewrite import replacements
from oulipoly_engine.store.rewrite.replacements import ReplacedEntry


def apply(
    store: Store, journal: Journal, reading: Reading, at: datetime, size_bytes: int, *, longest_line: int
) -> None:
    """Have the state file agree with a transcript that was replaced; doing it twice changes nothing more.

    reading: of the transcript as it was put there, size_bytes long. What its CLI has appended since may be stored
    already, by a scan that is past it: it stays, so the transcript is looked at while nobody else can write.
    """
    entries = [_row(record) for record in reading.entries]
    path = Path(journal.jsonl_path)
    origin = Origin(journal.session_id, journal.account, journal.jsonl_path)
    from oulipoly_engine.store.live import live_events  # noqa: PLC0415 - 15 ms, only a replacement

    with store.write():
        live_events.restore_named(store, journal.session_id)
        behind = _ids_behind(journal.storage_type, path, origin, size_bytes, longest_line)
        behind -= {entry.entry_id for entry in entries}
        replacements.replace_entries(
            store,
            journal.account,
            journal.session_id,
            entries,
            kept=reading.hidden | behind,
            source_file=journal.jsonl_path,
            at=at,
        )
        replacements.touch_chain(store, journal.chain_id, journal.active_segment_id, entries[-1])
        replacements.commit(store, journal.operation_uuid, at)


def _ids_behind(
    storage_type: StorageType, path: Path, origin: Origin, size_bytes: int, longest_line: int
) -> frozenset[str]:
    """Return the turns that a CLI has appended behind a transcript's first bytes by now; half a line comes later."""
    try:
        data = read_transcript(path, longest_line)
        if len(data) <= size_bytes:
            return frozenset()
        reading = rewrite.read(storage_type, data[: data.rfind(b"\n", size_bytes) + 1], origin)
    except (OSError, TranscriptMalformed):
        return frozenset()
    return reading.hidden | {one.entry_id for one in reading.records if one.source.byte_start >= size_bytes}


def _row(record: CanonicalRecord) -> ReplacedEntry:
    return ReplacedEntry(record.entry_id, to_text(from_text(record.timestamp.upper())), record.role, body(record))

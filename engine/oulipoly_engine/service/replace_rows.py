"""The stored side of a replacement: the rows that follow from the new transcript, in one transaction."""

from __future__ import annotations

from datetime import datetime

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.canonical import CanonicalRecord
from oulipoly_engine.core.replacement import Journal, body
from oulipoly_engine.core.rewrite import Reading
from oulipoly_engine.store import replacements
from oulipoly_engine.store.db import Store
from oulipoly_engine.store.replacements import ReplacedTurn


def apply(store: Store, journal: Journal, reading: Reading, at: datetime) -> None:
    """Have the state file agree with a transcript that was replaced; doing it twice changes nothing more."""
    turns = [_row(record) for record in reading.turns]
    with store.write():
        replacements.replace_turns(
            store,
            journal.account,
            journal.session_id,
            turns,
            kept=reading.hidden,
            source_file=journal.jsonl_path,
            at=at,
        )
        replacements.touch_chain(store, journal.chain_id, journal.active_segment_id, turns[-1])
        replacements.commit(store, journal.operation_uuid, at)


def _row(record: CanonicalRecord) -> ReplacedTurn:
    return ReplacedTurn(record.turn_id, to_text(from_text(record.timestamp.upper())), record.role, body(record))

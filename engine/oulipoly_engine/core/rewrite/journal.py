"""What a replacement leaves for a next start: its journal; and for whoever asked for it: its receipt. Pure."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord
from oulipoly_engine.records import Record, field, prepare, replace

IMPORT_REPLACE = "import-replace"
UNDO = "undo"
_Filled = Annotated[str, msgspec.Meta(min_length=1)]


class Journal(Record, kw_only=True):
    """A replacement that is under way. Its file has these fields, in their order (contract)."""

    schema_version: Literal[1] = 1
    operation: _Filled
    operation_uuid: _Filled
    started_at: _Filled
    session_id: _Filled
    chain_id: _Filled
    active_segment_id: int
    account: _Filled = field(name="provider_name")
    storage_type: StorageType
    jsonl_path: _Filled
    preimage_sha256: str | None
    postimage_sha256: _Filled
    canonical_records_path: _Filled
    db_state_pending: bool = True
    expected_entry_count: int = field(name="expected_turn_count")
    preimage_file_sha256: str | None = None  # of the transcript's bytes before
    postimage_file_sha256: str | None = None  # and after; None: it was refused

    def to_bytes(self) -> bytes:
        """Return the file's content. A path may hold bytes that are no text, which `json` writes as escapes."""
        return json.dumps(msgspec.to_builtins(self), indent=2).encode() + b"\n"


def read_journal(data: bytes) -> Journal:
    """Read a journal's file. Raises ValueError, naming the fault, for anything that no replacement has written."""
    try:
        journal = msgspec.convert(json.loads(data), prepare(Journal))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return replace(journal, started_at=to_text(from_text(journal.started_at)))


def body(record: CanonicalRecord) -> str:
    """Return an entry's content as the state file keeps it."""
    chunks = [{"type": chunk.type, "text": chunk.text} for chunk in record.content]
    text = json.dumps(chunks, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

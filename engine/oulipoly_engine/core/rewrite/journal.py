"""What a replacement leaves for a next start: its journal; and for whoever asked for it: its receipt. Pure."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord
from oulipoly_engine.records import Record

IMPORT_REPLACE = "import-replace"
UNDO = "undo"
_VERSION = 1


class Journal(Record):
    """A replacement that is under way, as its file tells it."""

    operation: str
    operation_uuid: str
    started_at: str
    session_id: str
    chain_id: str
    active_segment_id: int
    account: str
    storage_type: StorageType
    jsonl_path: str
    preimage_sha256: str | None
    postimage_sha256: str
    canonical_records_path: str
    expected_entry_count: int
    preimage_file_sha256: str | None = None  # of the transcript's bytes before
    postimage_file_sha256: str | None = None  # and after; None: it was refused

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        document = {
            "schema_version": _VERSION,
            "operation": self.operation,
            "operation_uuid": self.operation_uuid,
            "started_at": self.started_at,
            "session_id": self.session_id,
            "chain_id": self.chain_id,
            "active_segment_id": self.active_segment_id,
            "provider_name": self.account,
            "storage_type": self.storage_type.value,
            "jsonl_path": self.jsonl_path,
            "preimage_sha256": self.preimage_sha256,
            "postimage_sha256": self.postimage_sha256,
            "canonical_records_path": self.canonical_records_path,
            "db_state_pending": True,
            "expected_turn_count": self.expected_entry_count,
            "preimage_file_sha256": self.preimage_file_sha256,
            "postimage_file_sha256": self.postimage_file_sha256,
        }
        return json.dumps(document, indent=2).encode() + b"\n"


def read_journal(data: bytes) -> Journal:
    """Read a journal's file. Raises ValueError, naming the fault, for anything that no replacement has written."""
    try:
        document = json.loads(data)
    except RecursionError:
        _fail("it is nested too deeply")
    if not isinstance(document, dict) or document.get("schema_version") != _VERSION:
        _fail("it is not a journal of version 1")
    return Journal(
        operation=_text(document, "operation"),
        operation_uuid=_text(document, "operation_uuid"),
        started_at=to_text(from_text(_text(document, "started_at"))),
        session_id=_text(document, "session_id"),
        chain_id=_text(document, "chain_id"),
        active_segment_id=_read_whole_number(document, "active_segment_id"),
        account=_text(document, "provider_name"),
        storage_type=StorageType(_text(document, "storage_type")),
        jsonl_path=_text(document, "jsonl_path"),
        preimage_sha256=_text_or_none(document, "preimage_sha256"),
        postimage_sha256=_text(document, "postimage_sha256"),
        canonical_records_path=_text(document, "canonical_records_path"),
        expected_entry_count=_read_whole_number(document, "expected_turn_count"),
        preimage_file_sha256=_text_or_none(document, "preimage_file_sha256"),
        postimage_file_sha256=_text_or_none(document, "postimage_file_sha256"),
    )


def body(record: CanonicalRecord) -> str:
    """Return an entry's content as the state file keeps it."""
    chunks = [{"type": chunk.type, "text": chunk.text} for chunk in record.content]
    text = json.dumps(chunks, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _text(document: dict[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) and value else _fail(f"its {key} is {value!r}")


def _text_or_none(document: dict[str, Any], key: str) -> str | None:
    value = document.get(key)
    return value if isinstance(value, str) else None


def _read_whole_number(document: dict[str, Any], key: str) -> int:
    value = document.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else _fail(f"its {key} is {value!r}")


def _fail(problem: str) -> NoReturn:
    raise ValueError(problem)

"""What a move leaves for a next start: its journal. Pure."""

from __future__ import annotations

import json

import msgspec

from oulipoly_engine.records import Record, asdict, prepare

_MOVE = {"schema_version": 1, "operation": "move"}


class JournaledFile(Record):
    """One file that a move copies."""

    source: str
    target: str
    start: int  # byte of the source at which the copy begins
    size_bytes: int  # of the copy
    is_new: bool  # whether nothing lay there before


class MoveJournal(Record):
    """A move that is under way, as its file tells it."""

    session_id: str
    chain_id: str
    from_account: str
    to_account: str
    reason: str
    started_at: str  # RFC 3339, as below; before the session was leased
    at: str  # when copying began: what the session has said by then is its history
    files: tuple[JournaledFile, ...]  # in the order in which they are copied; the transcript last
    joins: str | None = None  # a chain on the target that becomes part of this one
    parents: tuple[str, ...] = ()  # sessions whose transcripts are copied along

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        return json.dumps(_MOVE | asdict(self), indent=2).encode() + b"\n"


def read_move(data: bytes) -> MoveJournal | None:
    """Read a journal's file; None: it is not a move's. Raises ValueError, naming the fault, for a damaged one."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or any(document.get(key) != value for key, value in _MOVE.items()):
        return None
    journal = msgspec.convert(document, prepare(MoveJournal))
    if not journal.files:
        raise ValueError("it names no file")
    return journal

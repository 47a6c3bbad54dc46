"""What a lease's files say, and which token a lease belongs to. Pure."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from datetime import datetime
from typing import NoReturn

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.records import Record

DEFAULT_TTL_MS = 300_000
MAXIMUM_TTL_MS = 600_000
TOKEN_PREFIX = "pause_"  # noqa: S105 - the public part
_VERSION = 1
_HASH = "sha256:"
_TOKEN = re.compile(rf"{TOKEN_PREFIX}[0-9a-f]{{32}}", re.ASCII)


class Owner(Record):
    """A process that a lease ends with: which one of those that ever had its number."""

    start_ticks: int  # since boot
    place: str  # where its number means it; elsewhere nobody can tell whether it lives


class HeldLease(Record):
    """A lease as its file tells it; the token itself is nowhere."""

    session_id: str
    account: str
    token_hash: str  # hex
    created_at: datetime
    expires_at: datetime
    owner_pid: int
    owner: Owner | None = None  # None: the lease outlives the process that took it

    def is_live(self, now: datetime) -> bool:
        """Return whether it still holds."""
        return self.expires_at > now

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        document: dict[str, object] = {
            "version": _VERSION,
            "session_id": self.session_id,
            "provider_name": self.account,
            "token_hash": _HASH + self.token_hash,
            "created_at": to_text(self.created_at),
            "expires_at": to_text(self.expires_at),
            "owner_pid": self.owner_pid,
        }
        if self.owner is not None:  # a reader that does not know these passes over them
            document |= {"owner_start_ticks": self.owner.start_ticks, "owner_place": self.owner.place}
        return _line(document)


class ReleaseMark(Record):
    """The end of a session's last lease, kept so that releasing it twice is not an error."""

    session_id: str
    token_hash: str  # hex
    released_at: datetime

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        document = {
            "version": _VERSION,
            "session_id": self.session_id,
            "token_hash": _HASH + self.token_hash,
            "released_at": to_text(self.released_at),
        }
        return _line(document)


def is_token(text: str) -> bool:
    """Return whether a text has the shape of a token."""
    return _TOKEN.fullmatch(text) is not None


def hash_of(token: str) -> str:
    """Return a token's hash, which is all that is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def fits(token: str, token_hash: str) -> bool:
    """Return whether a hash is a token's, in constant time."""
    return hmac.compare_digest(hash_of(token).encode(), token_hash.encode())


def read_lease(data: bytes, session_id: str) -> HeldLease:
    """Read a lease's file. Raises ValueError, naming the fault, for anything that we did not write for this session."""
    document = _document(data, session_id)
    return HeldLease(
        session_id,
        _text(document, "provider_name"),
        _hash(document),
        from_text(_text(document, "created_at")),
        from_text(_text(document, "expires_at")),
        _read_whole_number(document, "owner_pid"),
        _owner(document),
    )


def read_mark(data: bytes, session_id: str) -> ReleaseMark:
    """Read a release's file. Raises ValueError, as `read_lease` does."""
    document = _document(data, session_id)
    return ReleaseMark(session_id, _hash(document), from_text(_text(document, "released_at")))


def _line(document: dict[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _document(data: bytes, session_id: str) -> dict[str, object]:
    try:
        document = json.loads(data)
    except RecursionError:
        _fail("it is nested too deeply")
    if not isinstance(document, dict):
        _fail("it is not a JSON object")
    if document.get("version") != _VERSION:
        _fail(f"its version is {document.get('version')!r}, not {_VERSION}")
    if document.get("session_id") != session_id:
        _fail(f"it is for another session, {document.get('session_id')!r}")
    return document


def _text(document: dict[str, object], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else _fail(f"its {key} is {value!r}")


def _read_whole_number(document: dict[str, object], key: str) -> int:
    value = document.get(key)
    return value if isinstance(value, int) else _fail(f"its {key} is {value!r}")


def _owner(document: dict[str, object]) -> Owner | None:
    if "owner_start_ticks" not in document:
        return None
    return Owner(_read_whole_number(document, "owner_start_ticks"), _text(document, "owner_place"))


def _hash(document: dict[str, object]) -> str:
    text = _text(document, "token_hash")
    if not re.fullmatch(_HASH + "[0-9a-f]{64}", text):
        _fail(f"its token_hash is {text!r}")
    return text.removeprefix(_HASH)


def _fail(problem: str) -> NoReturn:
    raise ValueError(problem)

"""The canonical records that a replacement is given, checked line by line before anything is touched. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from oulipoly_engine.core.transcripts.canonical import ROLES, CanonicalRecord, Chunk, Line, Origin, instant
from oulipoly_engine.errors import ReplacementInvalid, TranscriptMalformed
from oulipoly_engine.records import Record

_SOURCE = {"storage_type": str, "jsonl_path": str, "line": int, "byte_start": int, "byte_end": int, "sha256": str}
_SHOWN = 60  # characters of a foreign value in a message


class ReplacementRecord(Record):
    """One record as it is wanted."""

    line: int  # of the input, from 1; 0: from no input
    entry_id: str
    role: str
    timestamp: str  # RFC 3339
    content: tuple[Chunk, ...]
    sha256: str = ""  # of the native line that it was exported from
    is_unsupported: bool = False


def keep_unchanged(records: Iterable[CanonicalRecord]) -> tuple[ReplacementRecord, ...]:
    """Return records as they are wanted back, unchanged."""
    return tuple(
        ReplacementRecord(
            number,
            record.entry_id,
            record.role,
            record.timestamp,
            record.content,
            record.source.sha256,
            record.is_unsupported,
        )
        for number, record in enumerate(records, 1)
    )


def parse(data: bytes, session_id: str, account: str) -> tuple[ReplacementRecord, ...]:
    """Read canonical JSON lines that are to replace the entries of one account's session.

    Raises ReplacementInvalid, naming the line, for anything that `session export` would not have written.
    """
    if not data:
        raise ReplacementInvalid("there is nothing to import: the input is empty")
    return tuple(_record(line, raw, session_id, account) for line, raw in _lines(data))


def refuse(line: int, problem: str) -> NoReturn:
    """Raise ReplacementInvalid for a line of the input; line 0: for none in particular."""
    where = f"input line {line}: " if line else ""
    raise ReplacementInvalid(f"{where}{problem}", **({"line": line} if line else {}))


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            refuse(number, f"byte {error.start} is not UTF-8")
        if not text.strip():
            refuse(number, "it is blank; every line must hold one record")
        yield number, text


def _record(line: int, text: str, session_id: str, account: str) -> ReplacementRecord:
    data = _document(line, text)
    is_unsupported = _field(line, data, "unsupported_record", bool)
    _is_ours(line, _field(line, data, "session_id", str).lower(), session_id, "session")
    _is_ours(line, _field(line, data, "provider_name", str), account, "account")
    entry_id, role = _field(line, data, "turn_id", str), _field(line, data, "role", str)
    if not entry_id:
        refuse(line, "its turn_id is empty")
    if not is_unsupported and role not in ROLES:
        refuse(line, f"its role is {role[:_SHOWN]!r}, not user or assistant")
    source = _field(line, data, "source", dict)
    for key, kind in _SOURCE.items():
        _field(line, source, key, kind, "source.")
    content = tuple(_chunk(line, item) for item in _field(line, data, "content", list))
    return ReplacementRecord(line, entry_id, role, _timestamp(line, data), content, source["sha256"], is_unsupported)


def _document(line: int, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=lambda name: refuse(line, f"{name} is not a JSON value"))
    except (ValueError, RecursionError) as error:
        refuse(line, f"it is not JSON ({error})")
    if not isinstance(value, dict):
        refuse(line, "it is not a JSON object")
    return value


def _field(line: int, data: dict[str, Any], key: str, kind: type, prefix: str = "") -> Any:  # noqa: ANN401 - of `kind`
    if key not in data:
        refuse(line, f"it has no {prefix}{key}")
    value = data[key]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        refuse(line, f"its {prefix}{key} is {str(value)[:_SHOWN]!r}, no {kind.__name__}")
    return value


def _is_ours(line: int, given: str, target: str, what: str) -> None:
    if given != target:
        refuse(line, f"it belongs to {what} {given[:_SHOWN]!r}, not to {target!r}")


def _timestamp(line: int, data: dict[str, Any]) -> str:
    text: str = _field(line, data, "timestamp", str)
    try:
        instant(text, Line(line, 0, b""), Origin("", "", ""))
    except TranscriptMalformed:
        refuse(line, f"its timestamp {text[:_SHOWN]!r} is not RFC 3339")
    return text


def _chunk(line: int, item: object) -> Chunk:
    if not isinstance(item, dict) or not isinstance(item.get("type"), str):
        refuse(line, 'its content is not a list of {"type", "text"}')
    text = item.get("text")
    if text is not None and not isinstance(text, str):
        refuse(line, f"the text of a chunk is {str(text)[:_SHOWN]!r}, not text")
    return Chunk(item["type"], text)

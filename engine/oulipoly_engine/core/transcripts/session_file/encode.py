"""Write a session as a file of version 2, or of version 3 for pi. Pure.

What an entry's own line held goes out again, in the words of the version; of an entry that comes from elsewhere, what
its fields say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.text.json_values import text_of
from oulipoly_engine.core.transcripts.session_file import entry as kinds
from oulipoly_engine.core.transcripts.session_file.decode import CURRENT, NEWEST
from oulipoly_engine.core.transcripts.session_file.entry import Header, SessionEntry
from oulipoly_engine.core.transcripts.session_file.words import PIS, translate

LEAF_MARK = "oulipoly-leaf"  # the custom type of an entry that only says where a session goes on

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PI_ID = re.compile(r"[0-9a-f]{8}")
_REFERRING = ("id", "parent_id", *kinds.REFERENCES.values())
# What entries and messages always have in pi, which fails where it adds up or shows one that is missing.
_PI_ENTRIES: Mapping[str, Mapping[str, Any]] = {
    kinds.COMPACTION: {"tokensBefore": 0},
    kinds.CUSTOM_MESSAGE: {"customType": "", "content": "", "display": True},
}
_COSTS = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
_PI_MESSAGES: Mapping[str, Mapping[str, Any]] = {
    "assistant": {"content": [], "api": "", "provider": "", "model": "", "usage": {}, "stopReason": "stop"},
    "toolResult": {"toolCallId": "", "toolName": "", "content": [], "isError": False},
}

_CALLLESS_RESULT = {"role": "custom", "customType": "tool_result", "display": True}


def mark_leaf(mark_id: str, leaf_id: str | None, at: str) -> SessionEntry:
    """Return an entry that says, as the last of its file, behind which one a session goes on. None: behind none."""
    return SessionEntry(mark_id, leaf_id, kinds.CUSTOM, at=at, text=LEAF_MARK)


def is_leaf_mark(entry: SessionEntry) -> bool:
    """Tell whether an entry only says where a session goes on."""
    return entry.kind == kinds.CUSTOM and entry.text == LEAF_MARK


def encode(header: Header, entries: Iterable[SessionEntry]) -> Iterator[bytes]:
    """Yield a session as the lines of a file of version 2, each with its LF."""
    yield encode_header(header)
    yield from map(encode_entry, entries)


def encode_for_pi(header: Header, entries: Sequence[SessionEntry], leaf_id: str | None) -> Iterator[bytes]:
    """Yield a session as the lines of a file of version 3, each with its LF. Ids that are not pi's become shorter ones.

    entries: without rings, on which pi hangs. leaf_id: where pi is to go on, which is the last line; where others hang
    on it, or there is none, an entry is added that pi shows to nobody.
    """
    yield _line(_pi_header(header))
    ids = _pi_ids(entry.id for entry in entries)
    last = next((entry for entry in reversed(entries) if entry.id == leaf_id), None)
    if last is None or not _may_be_last(last, entries):
        mark_id = next(_candidates(f"{header.id}:{LEAF_MARK}", {*ids.values()}))
        at = max((entry.at for entry in entries), default=header.created_at)
        last = mark_leaf(mark_id, leaf_id, at)
    for entry in entries:
        if entry is not last:
            yield _encode_for_pi(entry, ids)
    yield _encode_for_pi(last, ids)


def _may_be_last(entry: SessionEntry, entries: Sequence[SessionEntry]) -> bool:
    """Tell whether an entry is the file's last, or may become it: without children, and without changing labels."""
    if entry is entries[-1]:
        return True
    return entry.kind not in (kinds.LABEL, kinds.SESSION_INFO) and all(each.parent_id != entry.id for each in entries)


def encode_header(header: Header) -> bytes:
    """Return a header as a line of version 2."""
    record = {
        "type": "session",
        "version": CURRENT,
        "id": header.id,
        "created_at": _milliseconds(header.created_at),
        "cwd": header.cwd,
        "parent_session": header.parent_session,
    }
    return _line({**header.extra, **_present(record)})


def encode_entry(entry: SessionEntry) -> bytes:
    """Return an entry as a line of version 2."""
    record = _record_of(entry)
    if entry.kind == kinds.MESSAGE and "message" in record:
        record.pop("kind", None)
    if entry.at:
        record["timestamp"] = _milliseconds(entry.at)
    return _line({**record, "metadata": record.get("metadata", {})})


def _pi_header(header: Header) -> dict[str, Any]:
    record = {
        "type": "session",
        "version": NEWEST,
        "id": header.id,
        "timestamp": _pi_instant(header.created_at),
        "cwd": header.cwd,
        "parentSession": header.parent_session,
    }
    return {**_present(record), **{key: value for key, value in header.extra.items() if key not in record}}


def _encode_for_pi(entry: SessionEntry, ids: Mapping[str, str]) -> bytes:
    record = _record_of(entry)
    for name in _REFERRING:
        value = record.get(name)
        if isinstance(value, str):
            record[name] = ids.get(value, value)
    if not record.get("metadata"):
        record.pop("metadata", None)
    if entry.at:
        record["timestamp"] = _pi_instant(entry.at)
    record = translate({"kind": entry.kind, **record}, PIS)
    record = {**_PI_ENTRIES.get(entry.kind, {}), **record}
    message = record.get("message")
    if isinstance(message, dict):
        record["message"] = _pi_message(message, entry.at)
    return _line(record)


def _pi_message(message: dict[str, Any], at: str) -> dict[str, Any]:
    if message.get("role") == "toolResult" and not message.get("toolCallId"):  # which every provider refuses
        message = {**message, **_CALLLESS_RESULT}
    defaults = _PI_MESSAGES.get(text_of(message.get("role")), {})
    full = {**message, **{key: value for key, value in defaults.items() if message.get(key) is None}}
    if defaults and isinstance(full["content"], str):
        full["content"] = [{"type": "text", "text": full["content"]}]
    if isinstance(full.get("usage"), dict):
        full["usage"] = {**_COSTS, "totalTokens": 0, "cost": {**_COSTS, "total": 0}, **full["usage"]}
    if at:
        full.setdefault("timestamp", _milliseconds(at))
    return full


def _record_of(entry: SessionEntry) -> dict[str, Any]:
    """Return an entry as an object in version 2's words."""
    own = {"id": entry.id, "parent_id": entry.parent_id}
    if entry.record is not None:
        return {**own, **entry.record, **own}
    if entry.kind == kinds.MESSAGE:
        return {**own, "message": {"role": entry.role, "content": [{"type": "text", "text": entry.text}]}}
    record: dict[str, Any] = {**own, "kind": entry.kind}
    if entry.kind == kinds.MODEL_CHANGE:
        provider, _, model_id = entry.text.rpartition("/")
        record |= {"provider": provider, "model_id": model_id}
    elif entry.text:
        record[kinds.TEXTS.get(entry.kind, "content")] = entry.text
    if entry.kind in kinds.REFERENCES:
        record[kinds.REFERENCES[entry.kind]] = entry.refers_to
    return record


def _pi_ids(entry_ids: Iterable[str]) -> dict[str, str]:
    """Return pi's form of each id, eight hexadecimal digits; one that has it stays."""
    unique = list(dict.fromkeys(entry_ids))
    short_ids = {entry_id: entry_id for entry_id in unique if _PI_ID.fullmatch(entry_id)}
    taken = {*short_ids}
    for entry_id in unique:
        if entry_id not in short_ids:
            short_ids[entry_id] = next(_candidates(entry_id, taken))
            taken.add(short_ids[entry_id])
    return short_ids


def _candidates(entry_id: str, taken: set[str]) -> Iterator[str]:
    from hashlib import sha256  # noqa: PLC0415 - 3 ms, and only what goes to pi needs it

    text = entry_id.encode("utf-8", "surrogatepass")
    while True:
        digest = sha256(text).hexdigest()
        if digest[:8] not in taken:
            yield digest[:8]
        text = digest.encode()


def _milliseconds(at: str) -> int | float | None:
    if not at:
        return None
    value = (from_text(at) - _EPOCH) / timedelta(milliseconds=1)
    return int(value) if value.is_integer() else value


def _pi_instant(at: str) -> str | None:
    """Return an instant as JavaScript writes it, in milliseconds, unless it is more exact."""
    if at.endswith("000Z"):
        return f"{at[:23]}Z"
    return at or None


def _present(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None}


def _line(record: Mapping[str, Any]) -> bytes:
    """Return an object as one line, text raw as UTF-8 but for half characters, which UTF-8 cannot carry."""
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"

"""Decode the lines of transcripts for the turn adapters when they run in process: twice as fast as the script's way.

Only what a turn is made of is built; tool results, which are most of a transcript, are passed over. Whatever does not
fit goes to the script's own decoder, so that both give the same records. Needs msgspec, which the scripts must not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from oulipoly_engine.adapters.scripts.turns import Json, decode_leniently


class _Passed(msgspec.Struct, gc=False):
    """An object of which nothing is wanted."""


class _Chunk(msgspec.Struct, gc=False):
    type: str | None = None
    text: str | None = None
    content: str | list[_Passed] | _Passed | None = None


_Content: TypeAlias = str | list[_Chunk | str] | _Chunk | None


class _Message(msgspec.Struct, gc=False):
    content: _Content = None


class _ClaudeLine(msgspec.Struct, gc=False):
    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    sessionId: str | None = None  # noqa: N815 - the file's own name, as those below
    parentUuid: str | None = None  # noqa: N815
    isSidechain: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    message: _Message | str | None = None
    content: _Content = None


class _CodexPayload(msgspec.Struct, gc=False):
    type: str | None = None
    role: str | None = None
    id: str | None = None
    content: _Content = None


class _CodexLine(msgspec.Struct, gc=False):
    type: str | None = None
    timestamp: str | None = None
    payload: _CodexPayload | None = None


def decoder(adapter: str) -> Callable[[bytes], Json | None]:
    """Return what decodes a line for an adapter: an object, None for anything else."""
    if adapter == "gemini-turns":
        return decode_leniently  # its lists of messages are most of a log, and all of them are wanted
    return _codex() if adapter == "codex-turns" else _claude()


def _claude() -> Callable[[bytes], Json | None]:
    decode = msgspec.json.Decoder(_ClaudeLine).decode

    def read(text: bytes) -> Json | None:
        try:
            line = decode(text)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return decode_leniently(text)
        message = line.message
        return {
            "type": line.type,
            "uuid": line.uuid,
            "timestamp": line.timestamp,
            "sessionId": line.sessionId,
            "parentUuid": line.parentUuid,
            "isSidechain": line.isSidechain,
            "isCompactSummary": line.isCompactSummary,
            "message": {"content": _plain(message.content)} if isinstance(message, _Message) else message,
            "content": _plain(line.content),
        }

    return read


def _codex() -> Callable[[bytes], Json | None]:
    decode = msgspec.json.Decoder(_CodexLine).decode

    def read(text: bytes) -> Json | None:
        try:
            line = decode(text)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return decode_leniently(text)
        inner = line.payload
        payload = None
        if inner is not None:
            payload = {"type": inner.type, "role": inner.role, "id": inner.id, "content": _plain(inner.content)}
        return {"type": line.type, "timestamp": line.timestamp, "payload": payload}

    return read


def _plain(content: _Content) -> object:
    """Return a content as plain JSON values would hold it, without what is never read."""
    if isinstance(content, list):
        return [_object(item) if isinstance(item, _Chunk) else item for item in content]
    return _object(content) if isinstance(content, _Chunk) else content


def _object(chunk: _Chunk) -> Json:
    inner = chunk.content
    return {"type": chunk.type, "text": chunk.text, "content": inner if isinstance(inner, str) else None}

"""The API calls in Claude Code's transcripts, out of blocks of whole lines. Pure.

One call writes a line for each content block, all with its `message.id`, and all but the last with a token count that
is still growing; resumed sessions, sub-agents and progress records repeat them. Source: 2.0.14 to 2.1.329.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from oulipoly_engine.core.ledger.calls import (
    FIXED,
    MOST_TOKENS,
    Counts,
    Damage,
    Found,
    Instants,
    Place,
    checked_objects,
    count_of,
    greatest,
    is_fixed,
    merged,
    text_of,
)
from oulipoly_engine.core.ledger.find import find as find_mark
from oulipoly_engine.core.ledger.spacing import in_own_form

CLI = "claude"
# Every line that counts holds it: its own type, or that of the message which a progress record repeats. In texts
# quotes are escaped, so only structure can match. `"usage":{` would do as well and is half as long: slower to find.
_MARK = b'"type":"assistant"'
_NO_MODEL = "<synthetic>"  # messages that the CLI wrote itself: no API call


_Count = Annotated[int, msgspec.Meta(ge=0, lt=MOST_TOKENS)]  # anything else is looked at leniently


class _CacheWrite(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: _Count = 0


class _Usage(msgspec.Struct, gc=False):
    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cache_creation_input_tokens: _Count = 0
    cache_read_input_tokens: _Count = 0
    cache_creation: _CacheWrite | None = None


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None


class _Mirrored(msgspec.Struct, gc=False):
    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    message: _Message | None = None


class _Progress(msgspec.Struct, gc=False):
    type: str | None = None
    message: _Mirrored | None = None


class _Line(msgspec.Struct, gc=False):
    type: str | None = None
    message: _Message | None = None
    timestamp: str | None = None
    sessionId: str | None = None  # noqa: N815 - the file's own name
    cwd: str | None = None
    isSidechain: bool | None = None  # noqa: N815 - as above
    uuid: str | None = None
    data: _Progress | None = None


class ClaudeReader:
    """Finds the calls of one account."""

    state: str | None = None  # every line stands for itself

    def __init__(self, account: str, found: Found) -> None:
        self._account = account
        self._found = found
        self._decode = msgspec.json.Decoder(_Line).decode
        self._instants = Instants()
        self._stand_in_ms = 0
        self._place = Place(account, CLI, "", "", "", False)

    def begin(self, state: str | None, stem: str, stand_in_ms: int) -> None:
        """Begin a file, or go on with it."""
        self._stand_in_ms = stand_in_ms

    def take(self, buffer: bytearray, begin: int, end: int, offset: int) -> None:
        """Read whole lines; offset: the place in the file of the byte at `begin`."""
        in_own_form(self._lines, buffer, begin, end, offset)

    def _lines(self, buffer: bytearray, begin: int, end: int, offset: int) -> None:
        find, rfind, decode, calls = buffer.find, buffer.rfind, self._decode, self._found.calls
        first = begin
        with memoryview(buffer) as view:
            at = find_mark(buffer, _MARK, begin, end)
            while at >= 0:
                start = rfind(b"\n", begin, at) + 1 or begin
                stop = find(b"\n", at, end)
                begin = stop + 1 if stop >= 0 else end
                try:
                    line = decode(view[start : begin - 1 if stop >= 0 else end])
                except (msgspec.MsgspecError, ValueError, RecursionError):
                    self._leniently(bytes(view[start:begin]), offset + start - first)
                    at = find_mark(buffer, _MARK, begin, end)
                    continue
                at = find_mark(buffer, _MARK, begin, end)
                message = line.message
                if line.type != "assistant" or message is None:
                    if line.type == "progress":
                        self._mirror(line)
                    continue
                # From here on `_take` written out for its commonest case, another line of a call that is known: half
                # of all lines, and a call costs as much as the work.
                key, usage, told = message.id, message.usage, line.timestamp
                known = calls.get(key) if key is not None else None
                if known is None or known[3] is None or key is None or usage is None:
                    self._take(line, message, told, line.uuid, line.isSidechain is True)
                    continue
                place = known[1]
                if (
                    told is None
                    or told < known[3]
                    or len(told) != FIXED
                    or line.sessionId != place.session
                    or line.isSidechain is not place.is_sidechain
                ):
                    self._take(line, message, told, line.uuid, line.isSidechain is True)
                    continue
                fresh, output, read, written, kept, _ = known[2]
                if (
                    usage.input_tokens == fresh
                    and usage.cache_read_input_tokens == read
                    and usage.cache_creation_input_tokens == written
                ):
                    if usage.output_tokens > output:
                        counts = (fresh, usage.output_tokens, read, written, kept, 0)
                        calls[key] = (known[0], place, counts, known[3])
                else:
                    calls[key] = (known[0], place, greatest(_counts(usage), known[2]), known[3])

    def _mirror(self, line: _Line) -> None:
        told = None if line.data is None or line.data.type != "agent_progress" else line.data.message
        if told is not None and told.type == "assistant" and told.message is not None:  # a sub-agent's by its nature
            self._take(line, told.message, told.timestamp or line.timestamp, told.uuid, True)  # noqa: FBT003, RUF100

    def _take(  # noqa: PLR0913, RUF100 - called 50,000 times a GB
        self, line: _Line, message: _Message, at: str | None, uuid: str | None, is_sidechain: bool
    ) -> None:
        key, usage = message.id, message.usage
        if usage is None or message.model == _NO_MODEL:
            return
        if key is None or not key.startswith("msg_"):
            key = _foreign_key(key, line.sessionId, uuid, at)
        place = self._place
        if (
            line.sessionId != place.session
            or message.model != place.model
            or line.cwd != place.project
            or is_sidechain is not place.is_sidechain
        ):
            names = (line.sessionId or "", line.cwd or "", message.model or "")
            place = self._place = Place(self._account, CLI, *names, is_sidechain)
        instant = None if at is None else self._instants.ms(at)
        entry = (
            self._stand_in_ms if instant is None else instant,
            place,
            _counts(usage),
            at if at is not None and is_fixed(at) else None,
        )
        known = self._found.calls.get(key)
        self._found.calls[key] = entry if known is None else merged(known, entry)

    def _leniently(self, raw: bytes, offset: int) -> None:
        for record in checked_objects(raw, lambda what: Damage(offset, len(raw), what), self._found):
            line = _line(record)
            if line.type == "assistant" and line.message is not None:
                self._take(line, line.message, line.timestamp, line.uuid, line.isSidechain is True)
            elif line.type == "progress":
                self._mirror(line)


def _counts(usage: _Usage) -> Counts:
    lifetimes = usage.cache_creation
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens,
        0 if lifetimes is None else lifetimes.ephemeral_1h_input_tokens,
        0,
    )


def _foreign_key(message_id: str | None, session: str | None, uuid: str | None, at: str | None) -> str:
    """Return what names a call whose id is not the vendor's own, which alone is unique everywhere.

    `requestId` is no part of it: it is missing behind gateways, and a sub-agent's repeat carries another.
    """
    if message_id:
        return f"{session or ''}\0{message_id}"
    return f"\0{uuid}" if uuid else f"\0{session or ''}\0{at}"


def _line(record: Mapping[str, object]) -> _Line:
    """Return what counts of a record, whatever the types of its values are."""
    data = record.get("data")
    return _Line(
        type=text_of(record.get("type")),
        message=_message(record.get("message")),
        timestamp=text_of(record.get("timestamp")) or None,
        sessionId=text_of(record.get("sessionId")),
        cwd=text_of(record.get("cwd")),
        isSidechain=record.get("isSidechain") is True,
        uuid=text_of(record.get("uuid")),
        data=_Progress(text_of(data.get("type")), _mirrored(data.get("message"))) if isinstance(data, dict) else None,
    )


def _mirrored(value: object) -> _Mirrored | None:
    if not isinstance(value, dict):
        return None
    kind, uuid, at = (text_of(value.get(key)) or None for key in ("type", "uuid", "timestamp"))
    return _Mirrored(kind, uuid, at, _message(value.get("message")))


def _message(value: object) -> _Message | None:
    if not isinstance(value, dict):
        return None
    usage = value.get("usage")
    return _Message(text_of(value.get("id")), text_of(value.get("model")), _usage(usage) if usage is not None else None)


def _usage(value: object) -> _Usage | None:
    if not isinstance(value, dict):
        return None
    lifetimes = value.get("cache_creation")
    return _Usage(
        count_of(value.get("input_tokens")),
        count_of(value.get("output_tokens")),
        count_of(value.get("cache_creation_input_tokens")),
        count_of(value.get("cache_read_input_tokens")),
        _CacheWrite(count_of(lifetimes.get("ephemeral_1h_input_tokens"))) if isinstance(lifetimes, dict) else None,
    )

"""The API calls in Claude Code's transcripts, out of blocks of whole lines. Pure.

One call writes a line for each content block, all with its `message.id`, and all but the last with a token count that
is still growing; resumed sessions, sub-agents and progress records repeat them. Source: 2.0.14 to 2.1.329.
"""

from __future__ import annotations

from oulipoly_engine.core.ledger.calls import (
    FIXED,
    Counts,
    Damage,
    Found,
    Instants,
    Place,
    greatest,
    is_fixed,
    merge_entries,
    salvage_objects,
)
from oulipoly_engine.core.ledger.find import find as find_mark
from oulipoly_engine.core.ledger.spacing import in_own_form
from oulipoly_engine.core.transcripts.claude import DECODER, NO_MODEL, Line, Message, Usage
from oulipoly_engine.core.transcripts.line_decoder import UNFIT, struct_of

CLI = "claude"
# Every line that counts holds it: its own type, or that of the message which a progress record repeats. In texts
# quotes are escaped, so only structure can match. `"usage":{` would do as well and is half as long: slower to find.
_MARK = b'"type":"assistant"'


class ClaudeReader:
    """Finds the calls of one account."""

    state: str | None = None  # every line stands for itself

    def __init__(self, account: str, found: Found) -> None:
        self._account = account
        self._found = found
        self._decode = DECODER.quickly
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
                except UNFIT:
                    self._leniently(bytes(view[start:begin]), offset + start - first)
                    at = find_mark(buffer, _MARK, begin, end)
                    continue
                at = find_mark(buffer, _MARK, begin, end)
                message = line.message
                if line.type != "assistant" or type(message) is not Message:
                    if line.type == "progress":
                        self._mirror(line)
                    continue
                # From here on `_take` written out for its commonest case, another line of a call that is known: half
                # of all lines, and a call costs as much as the work.
                key, usage, told = message.id, message.usage, line.timestamp
                known = calls.get(key) if key is not None else None
                if known is None or known[3] is None or key is None or usage is None:
                    self._take(line, message, told, line.uuid, line.is_sidechain is True)
                    continue
                place = known[1]
                if (
                    told is None
                    or told < known[3]
                    or len(told) != FIXED
                    or line.session_id != place.session
                    or line.is_sidechain is not place.is_sidechain
                ):
                    self._take(line, message, told, line.uuid, line.is_sidechain is True)
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

    def _mirror(self, line: Line) -> None:
        told = None if line.data is None or line.data.type != "agent_progress" else line.data.message
        if (
            told is not None and told.type == "assistant" and isinstance(told.message, Message)
        ):  # a sub-agent's by its nature
            self._take(line, told.message, told.timestamp or line.timestamp, told.uuid, True)  # noqa: FBT003, RUF100

    def _take(  # noqa: PLR0913, RUF100 - called 50,000 times a GB
        self, line: Line, message: Message, at: str | None, uuid: str | None, is_sidechain: bool
    ) -> None:
        key, usage = message.id, message.usage
        if usage is None or message.model == NO_MODEL:
            return
        if key is None or not key.startswith("msg_"):
            key = _foreign_key(key, line.session_id, uuid, at)
        place = self._place
        if (
            line.session_id != place.session
            or message.model != place.model
            or line.cwd != place.project
            or is_sidechain is not place.is_sidechain
        ):
            names = (line.session_id or "", line.cwd or "", message.model or "")
            place = self._place = Place(self._account, CLI, *names, is_sidechain)
        instant = None if at is None else self._instants.ms(at)
        entry = (
            self._stand_in_ms if instant is None else instant,
            place,
            _counts(usage),
            at if at is not None and is_fixed(at) else None,
        )
        known = self._found.calls.get(key)
        self._found.calls[key] = entry if known is None else merge_entries(known, entry)

    def _leniently(self, raw: bytes, offset: int) -> None:
        for record in salvage_objects(raw, lambda what: Damage(offset, len(raw), what), self._found):
            line = struct_of(Line, record)
            if line.type == "assistant" and isinstance(line.message, Message):
                self._take(line, line.message, line.timestamp, line.uuid, line.is_sidechain is True)
            elif line.type == "progress":
                self._mirror(line)


def _counts(usage: Usage) -> Counts:
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

    `requestId` is not a part of it: it is missing behind gateways, and a sub-agent's repeat carries another.
    """
    if message_id:
        return f"{session or ''}\0{message_id}"
    return f"\0{uuid}" if uuid else f"\0{session or ''}\0{at}"

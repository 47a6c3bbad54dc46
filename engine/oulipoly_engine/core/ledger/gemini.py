"""The API calls in Gemini's logs, out of blocks of whole lines. Pure.

An answer is written once when it comes and again when its tools have run, under the same id and with the same counts;
lists that replace all messages carry no counts. `input` includes what the cache served, thoughts are apart from
`output`. Source: gemini-cli 0.61.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from oulipoly_engine.core.ledger.calls import Damage, Found, Instants, Place, checked_objects, count_of, sane, text_of

CLI = "gemini"
_ANSWER, _SESSION = b'"type":"gemini"', b'"sessionId"'


class GeminiReader:
    """Reads the lines of one account's logs, file after file."""

    def __init__(self, account: str, found: Found) -> None:
        self._account = account
        self._found = found
        self._instants = Instants()
        self._decode = msgspec.json.Decoder().decode
        self._session = ""
        self._stand_in_ms = 0

    @property
    def state(self) -> str | None:
        """Return the session that the file has named."""
        return self._session or None

    def begin(self, state: str | None, stem: str, stand_in_ms: int) -> None:
        """Begin a log, or go on with it; until a line names the session it is the file's name."""
        self._session = state or stem
        self._stand_in_ms = stand_in_ms

    def take(self, buffer: bytearray, begin: int, end: int, offset: int) -> None:
        """Read whole lines; offset: the place in the file of the byte at `begin`."""
        at = begin
        while at < end:
            stop = buffer.find(b"\n", at, end)
            stop = end if stop < 0 else stop
            line = bytes(buffer[at:stop])
            if _ANSWER in line or _SESSION in line:
                self._line(line, offset + at - begin)
            at = stop + 1

    def _line(self, line: bytes, offset: int) -> None:
        try:
            record = self._decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            self._record(record)
            return
        for one in checked_objects(line, lambda what: Damage(offset, len(line), what), self._found):
            self._record(one)

    def _record(self, record: Mapping[str, object]) -> None:
        patch = record.get("$set")
        named = record.get("sessionId") or (patch.get("sessionId") if isinstance(patch, dict) else None)
        self._session = text_of(named) or self._session
        tokens, message = record.get("tokens"), text_of(record.get("id"))
        if record.get("type") != "gemini" or not isinstance(tokens, dict) or not message:
            return
        at = self._instants.ms(text_of(record.get("timestamp")))
        cached, thoughts = count_of(tokens.get("cached")), count_of(tokens.get("thoughts"))
        counts = (
            max(0, count_of(tokens.get("input")) + count_of(tokens.get("tool")) - cached),
            count_of(tokens.get("output")) + thoughts,
            cached,
            0,
            0,
            thoughts,
        )
        place = Place(self._account, CLI, self._session, "", text_of(record.get("model")), is_sidechain=False)
        # The instant's text is not kept: it serves a shortcut of the other readers alone.
        self._found.add(
            f"gemini:{self._session}:{message}", (self._stand_in_ms if at is None else at, place, sane(counts), None)
        )

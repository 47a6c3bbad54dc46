"""The API calls in Gemini's logs, out of blocks of whole lines. Pure.

An answer is written once when it comes and again when its tools have run, under the same id and with the same counts;
lists that replace all messages carry no counts. `input` includes what the cache served, thoughts are apart from
`output`. Source: gemini-cli 0.61.
"""

from __future__ import annotations

from oulipoly_engine.core.ledger.calls import Damage, Found, Instants, Place, salvage_objects, sane
from oulipoly_engine.core.transcripts.gemini import DECODER, Line, session_of
from oulipoly_engine.core.transcripts.line_decoder import UNFIT, struct_of

CLI = "gemini"
_ANSWER, _SESSION = b'"type":"gemini"', b'"sessionId"'


class GeminiReader:
    """Reads the lines of one account's logs, file after file."""

    def __init__(self, account: str, found: Found) -> None:
        self._account = account
        self._found = found
        self._instants = Instants()
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
            self._take(DECODER.quickly(line))
        except UNFIT:
            for record in salvage_objects(line, lambda what: Damage(offset, len(line), what), self._found):
                self._take(struct_of(Line, record))

    def _take(self, line: Line) -> None:
        self._session = session_of(line) or self._session
        tokens = line.tokens
        if line.type != "gemini" or tokens is None or not line.id:
            return
        at = self._instants.ms(line.timestamp or "")
        counts = (
            max(0, tokens.input + tokens.tool - tokens.cached),
            tokens.output + tokens.thoughts,
            tokens.cached,
            0,
            0,
            tokens.thoughts,
        )
        place = Place(self._account, CLI, self._session, "", line.model or "", is_sidechain=False)
        # The instant's text is not kept: it serves a shortcut of the other readers alone.
        self._found.add(
            f"gemini:{self._session}:{line.id}", (self._stand_in_ms if at is None else at, place, sane(counts), None)
        )

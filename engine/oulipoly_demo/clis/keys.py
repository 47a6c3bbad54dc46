"""A terminal's input bytes as keys. Pure: bytes in, keys out, whatever is unfinished is kept for the next bytes."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~])")
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O)?\Z")
_PASTE_BEGINS, _PASTE_ENDS = b"\x1b[200~", b"\x1b[201~"
_NAMES = {
    0x03: "ctrl-c",
    0x04: "ctrl-d",
    0x08: "backspace",
    0x0A: "newline",
    0x0C: "ctrl-l",
    0x0D: "enter",
    0x15: "ctrl-u",
    0x17: "ctrl-w",
    0x7F: "backspace",
}
_ARROWS = {b"\x1b[A": "up", b"\x1bOA": "up"}


class Key(NamedTuple):
    """One key, or a run of typed or pasted text."""

    name: str  # "text" or a key's name
    text: str = ""


class KeyReader:
    """Turns bytes into keys, across reads that cut a character or a sequence in two."""

    def __init__(self) -> None:
        self._held = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pasting = False

    def feed(self, raw: bytes) -> list[Key]:
        """Return the keys that `raw` completes."""
        data, self._held = self._held + raw, b""
        keys: list[Key] = []
        while data:
            if self._pasting:
                data = self._paste(data, keys)
            elif data[0] == 0x1B:
                data = self._escape(data, keys)
            elif data[0] in _NAMES:
                keys.append(Key(_NAMES[data[0]]))
                data = data[1:]
            else:
                data = self._text(data, keys)
        return keys

    def _escape(self, data: bytes, keys: list[Key]) -> bytes:
        match = _SEQUENCE.match(data)
        if match is not None:
            if match.group() == _PASTE_BEGINS:
                self._pasting = True
            elif match.group() in _ARROWS:
                keys.append(Key(_ARROWS[match.group()]))
            return data[match.end() :]
        if len(data) > 1 and _UNFINISHED.match(data):
            self._held = data
            return b""
        keys.append(Key("escape"))
        return data[1:]

    def _paste(self, data: bytes, keys: list[Key]) -> bytes:
        end = data.find(_PASTE_ENDS)
        if end < 0:
            # Kept whole until its end comes, since the end mark itself may have been cut in two.
            self._held = data
            return b""
        self._pasting = False
        text = data[:end].decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        if text:
            keys.append(Key("text", text))
        return data[end + len(_PASTE_ENDS) :]

    def _text(self, data: bytes, keys: list[Key]) -> bytes:
        end = next((i for i, byte in enumerate(data) if byte < 0x20 or byte == 0x7F), len(data))
        text = self._decoder.decode(data[: end or 1])
        if text.isprintable() and text:
            keys.append(Key("text", text))
        return data[end or 1 :]

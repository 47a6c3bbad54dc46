"""What a real terminal sends when somebody types, made into messages for a host. Pure.

Keys go as keys, not as bytes: the host encodes them as the child's present modes ask, which the real terminal does not
know. Text, and what is not known here, goes as it is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from oulipoly_engine.terminal.screen import Mods
from oulipoly_engine.terminal.wire import Action, Focused, Message, Pasted, Pointed, Pressed, Scrolled, Typed


class Leave(NamedTuple):
    """The one key that is not passed on."""


_CURSOR = {b"A": "up", b"B": "down", b"C": "right", b"D": "left", b"H": "home", b"F": "end"}
_CURSOR |= {b"P": "f1", b"Q": "f2", b"R": "f3", b"S": "f4"}
_NUMBERED = {1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end"}
_NUMBERED |= {11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10"}
_NUMBERED |= {23: "f11", 24: "f12"}
_CONTROLS = {0x0D: "enter", 0x09: "tab", 0x7F: "backspace"}
# A sequence that begins here, whole; the last two are a key with Alt, and Escape itself.
_SEQUENCE = re.compile(
    rb"\x1b(?:"
    rb"\[<(?P<button>\d{1,4});(?P<x>\d{1,5});(?P<y>\d{1,5})(?P<up>[Mm])"
    rb"|\[(?P<focus>[IO])"
    rb"|\[Z(?P<back>)"
    rb"|(?:\[(?:1;(?P<mods>\d{1,3}))?|O)(?P<cursor>[A-DFHP-S])"
    rb"|\[(?P<number>\d{1,2})(?:;(?P<nmods>\d{1,3}))?~"
    rb"|(?P<other>[\[O][0-9;:<=>?]{0,64}[ -/]{0,4}[@-~])"
    rb"|(?P<alt>[^\x00-\x1a\x1c-\x1f\[\x1bO\x7f-\xff]|[\[O](?=\x1b|\Z))"
    rb")",
    re.DOTALL,
)
_BEGUN = re.compile(rb"\x1b(?:\[[0-9;:<=>?]{0,64}[ -/]{0,4}|O)?\Z")
_PASTE, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_PASTE_LIMIT = 16 << 20  # bytes; a terminal that never ends its paste must not keep us waiting for ever
_WHEEL = 64
_SCROLLS = {"pageup": -1, "pagedown": 1}


class Keyboard:
    """Reads one terminal's input. Bytes may come in any pieces."""

    def __init__(self, leave: int) -> None:
        self.page = 20  # rows that Shift with a page key scrolls
        self._leave = leave
        self._pending = b""
        self._paste: bytearray | None = None  # what has come of one that has not ended

    @property
    def is_waiting(self) -> bool:
        """Return whether a sequence has begun; `flush` some 25 ms later takes it for what it is."""
        return bool(self._pending)

    def feed(self, data: bytes) -> list[Message | Leave]:
        """Take bytes and return what they mean; nothing after Leave counts."""
        return self._read(data, is_whole=False)

    def flush(self) -> list[Message | Leave]:
        """Take what waits as it is: Escape alone is a key too."""
        return self._read(b"", is_whole=True)

    def _read(self, data: bytes, *, is_whole: bool) -> list[Message | Leave]:
        found: list[Message | Leave] = []
        data, self._pending = self._pending + data, b""
        while data:
            if self._paste is not None:
                data = self._more_of(self._paste, data, found)
            else:
                data = self._keys(data, found, is_whole=is_whole)
        return found

    def _more_of(self, paste: bytearray, data: bytes, found: list[Message | Leave]) -> bytes:
        """Add to a paste, and return what came after its end."""
        looked_at = max(0, len(paste) - len(_PASTE_END))
        paste += data
        end = paste.find(_PASTE_END, looked_at)
        if end < 0 and len(paste) < _PASTE_LIMIT:
            return b""
        end = len(paste) if end < 0 else end
        rest = bytes(paste[end + len(_PASTE_END) :])
        found.append(Pasted(paste[:end].decode("utf-8", "replace").replace("\r", "\n")))
        self._paste = None
        return rest

    def _keys(self, data: bytes, found: list[Message | Leave], *, is_whole: bool) -> bytes:
        """Read keys up to the beginning of a paste, and return what is in it."""
        at = text = 0

        def plain(end: int) -> None:
            if end > text:
                found.append(Typed(data[text:end]))

        while at < len(data):
            byte = data[at]
            if byte == self._leave:
                plain(at)
                found.append(Leave())
                return b""
            if byte >= 0x20 and byte != 0x7F:
                at += 1
                continue
            plain(at)
            if byte != 0x1B:
                found.append(_control(byte))
                at += 1
            elif data.startswith(_PASTE, at):
                self._paste = bytearray()
                return data[at + len(_PASTE) :]
            elif not is_whole and _BEGUN.match(data, at):
                self._pending = data[at:]
                return b""
            elif match := _SEQUENCE.match(data, at):
                found += self._sequence(match)
                at = match.end()
            else:
                found.append(Pressed("escape"))
                at += 1
            text = at
        plain(at)
        return b""

    def _sequence(self, match: re.Match[bytes]) -> list[Message]:
        if match["button"] is not None:
            return _mouse(int(match["button"]), int(match["x"]), int(match["y"]), is_up=match["up"] == b"m")
        if match["focus"] is not None:
            return [Focused("focused" if match["focus"] == b"I" else "unfocused")]
        if match["back"] is not None:
            return [Pressed("tab", mods=int(Mods.SHIFT))]
        if match["cursor"] is not None:
            return [Pressed(_CURSOR[match["cursor"]], mods=_mods(match["mods"]))]
        if match["number"] is not None:
            return self._numbered(match)
        if match["alt"] is not None:
            return [Pressed(match["alt"].decode("ascii"), mods=int(Mods.ALT))]
        return [Typed(match[0])]

    def _numbered(self, match: re.Match[bytes]) -> list[Message]:
        name, mods = _NUMBERED.get(int(match["number"])), _mods(match["nmods"])
        if name is None:
            return [Typed(match[0])]
        if mods == Mods.SHIFT and name in _SCROLLS:
            return [Scrolled(_SCROLLS[name] * self.page)]
        return [Pressed(name, mods=mods)]


def _control(byte: int) -> Message:
    if byte in _CONTROLS:
        return Pressed(_CONTROLS[byte])
    if 0x01 <= byte <= 0x1A:
        return Pressed(chr(byte | 0x60), mods=int(Mods.CTRL))
    return Typed(bytes([byte]))


def _mods(number: bytes | None) -> int:
    """Return our modifiers for xterm's number, which is one more than the sum of its bits: Shift, Alt, Ctrl, Meta."""
    bits = max(0, int(number or 1) - 1)
    ours = Mods.NONE
    for bit, mod in ((1, Mods.SHIFT), (2, Mods.ALT), (4, Mods.CTRL), (8, Mods.SUPER)):
        if bits & bit:
            ours |= mod
    return int(ours)


def _mouse(number: int, x: int, y: int, *, is_up: bool) -> list[Message]:
    mods = Mods.NONE
    for bit, mod in ((4, Mods.SHIFT), (8, Mods.ALT), (16, Mods.CTRL)):
        if number & bit:
            mods |= mod
    base = number & 3
    button = 4 + base if number & _WHEEL else (base + 1) % 4
    action: Action = "move" if number & 32 else "release" if is_up else "press"
    if button > 5 or not (1 <= x <= 10_000 and 1 <= y <= 10_000):
        return []
    return [Pointed(action, button, x - 1, y - 1, int(mods))]

"""Translate what a real terminal sends into messages for a host. Pure.

Keys go as keys, not as bytes: the host encodes them as the child's present modes ask, which the real terminal does not
know. Text, and what is not known here, goes as it is. Keys are read in the old form, in the kitty protocol's and in
that of xterm's modifyOtherKeys, whichever comes.
"""

from __future__ import annotations

import re
import sys

from oulipoly_engine.records import Record
from oulipoly_engine.terminal.protocol.messages import (
    Action,
    FocusChange,
    KeyInput,
    Message,
    MouseInput,
    PasteInput,
    ScrollRequest,
    TextInput,
)
from oulipoly_engine.terminal.protocol.screen import Mods


class LeaveKey(Record):
    """The one key that is not passed on."""

    dropped: int = 0  # bytes that came with it, after it; nobody gets them


class KittySupport(Record):
    """The real terminal has answered that it knows the kitty keyboard protocol."""


Input = Message | LeaveKey | KittySupport

_CURSOR = {b"A": "up", b"B": "down", b"C": "right", b"D": "left", b"H": "home", b"F": "end"}
_CURSOR |= {b"P": "f1", b"Q": "f2", b"R": "f3", b"S": "f4"}
_NUMBERED = {1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end"}
_NUMBERED |= {11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10"}
_NUMBERED |= {23: "f11", 24: "f12"}
# Keys without a character, by the numbers that the kitty protocol gives them (sw.kovidgoyal.net, 2026-11).
_KITTY = {27: "escape", 13: "enter", 9: "tab", 127: "backspace"}
_KITTY |= {57376 + index: f"f{13 + index}" for index in range(12)}
_KITTY |= {57399 + digit: str(digit) for digit in range(10)}  # the keypad's, as far as 57426
_KITTY |= {57409: ".", 57410: "/", 57411: "*", 57412: "-", 57413: "+", 57414: "enter", 57415: "=", 57416: ","}
_KITTY |= {57417: "left", 57418: "right", 57419: "up", 57420: "down", 57421: "pageup", 57422: "pagedown"}
_KITTY |= {57423: "home", 57424: "end", 57425: "insert", 57426: "delete"}
_KITTY_OWN = range(57344, 63744)  # Unicode's private use: a key of the protocol's, known above or of no use
_RELEASED = b"3"
# What Ctrl makes of digits and a few signs in every terminal of the old form, DEC's first.
_OLD_CONTROLS = {"2": 0x00, "3": 0x1B, "4": 0x1C, "5": 0x1D, "6": 0x1E, "7": 0x1F, "8": 0x7F, "/": 0x1F, "-": 0x1F}
_OLD_CONTROLS |= {" ": 0x00}
_CONTROLS = {0x0D: "enter", 0x09: "tab", 0x7F: "backspace"}
# A sequence that begins here, whole; the last two are a key with Alt, and Escape itself.
_SEQUENCE = re.compile(
    rb"\x1b(?:"
    rb"\[<(?P<button>\d{1,4});(?P<x>\d{1,5});(?P<y>\d{1,5})(?P<up>[Mm])"
    rb"|\[(?P<focus>[IO])"
    rb"|\[Z(?P<back>)"
    rb"|(?:\[(?:1;(?P<mods>\d{1,3})(?::(?P<event>\d))?)?|O)(?P<cursor>[A-DFHP-S])"
    rb"|\[(?P<number>\d{1,2})(?:;(?P<nmods>\d{1,3})(?::(?P<nevent>\d))?)?~"
    rb"|\[\?(?P<flags>\d{1,3})u"
    rb"|\[(?P<code>\d{1,7})(?::(?P<shifted>\d{0,7})(?::(?P<base>\d{1,7}))?)?"
    rb"(?:;(?P<kmods>\d{0,3})(?::(?P<kevent>\d))?(?:;(?P<text>[\d:]{0,64}))?)?u"
    rb"|\[27;(?P<omods>\d{1,3});(?P<ocode>\d{1,7})~"
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

    def feed(self, data: bytes) -> list[Input]:
        """Take bytes and return what they mean. Leave is the last; what came after it in one piece is dropped."""
        return self._read(data, is_whole=False)

    def split(self, data: bytes) -> tuple[bytes, LeaveKey | None]:
        """Take bytes for a program that reads them as they are: return those before the key that leaves, and that key.

        The key is looked for as `feed` does it: not in a paste, and in every form in which terminals send it.
        """
        keys = self._read(data, is_whole=False)
        leave = keys[-1] if keys else None
        if not isinstance(leave, LeaveKey):
            return data, None
        end = len(data) - leave.dropped
        start = end - 1 if data[end - 1 : end] == bytes((self._leave,)) else data.rfind(b"\x1b", 0, end)
        return data[: max(0, start)], leave

    def flush(self) -> list[Input]:
        """Take what waits as it is: Escape alone is a key too."""
        return self._read(b"", is_whole=True)

    def _read(self, data: bytes, *, is_whole: bool) -> list[Input]:
        inputs: list[Input] = []
        data, self._pending = self._pending + data, b""
        while data:
            if self._paste is not None:
                data = self._more_of(self._paste, data, inputs)
            else:
                data = self._keys(data, inputs, is_whole=is_whole)
        return inputs

    def _more_of(self, paste: bytearray, data: bytes, inputs: list[Input]) -> bytes:
        """Add to a paste, and return what came after its end."""
        looked_at = max(0, len(paste) - len(_PASTE_END))
        paste += data
        end = paste.find(_PASTE_END, looked_at)
        if end < 0 and len(paste) < _PASTE_LIMIT:
            return b""
        end = len(paste) if end < 0 else end
        remainder = bytes(paste[end + len(_PASTE_END) :])
        inputs.append(PasteInput(paste[:end].decode("utf-8", "replace").replace("\r", "\n")))
        self._paste = None
        return remainder

    def _keys(self, data: bytes, inputs: list[Input], *, is_whole: bool) -> bytes:
        """Read keys up to the beginning of a paste, and return what is in it."""
        at = text = 0

        def plain(end: int) -> None:
            if end > text:
                inputs.append(TextInput(data[text:end]))

        while at < len(data):
            byte = data[at]
            if byte == self._leave:
                plain(at)
                inputs.append(LeaveKey(len(data) - at - 1))
                return b""
            if byte >= 0x20 and byte != 0x7F:
                at += 1
                continue
            plain(at)
            if byte != 0x1B:
                inputs.append(_control(byte))
                at += 1
            elif data.startswith(_PASTE, at):
                self._paste = bytearray()
                return data[at + len(_PASTE) :]
            elif not is_whole and _BEGUN.match(data, at):
                self._pending = data[at:]
                return b""
            elif match := _SEQUENCE.match(data, at):
                at = match.end()
                keys = self._sequence(match)
                if LeaveKey() in keys:
                    inputs.append(LeaveKey(len(data) - at))
                    return b""
                inputs += keys
            else:
                inputs.append(KeyInput("escape"))
                at += 1
            text = at
        plain(at)
        return b""

    def _sequence(self, match: re.Match[bytes]) -> list[Input]:
        if _RELEASED in (match["event"], match["nevent"], match["kevent"]):
            return []
        if match["flags"] is not None:
            return [KittySupport()]
        if match["code"] is not None:
            others = tuple(int(match[name] or 0) for name in ("shifted", "base"))
            return self._read_coded(int(match["code"]), others, _mods(match["kmods"]), _texts(match["text"]))
        if match["ocode"] is not None:
            return self._read_coded(int(match["ocode"]), (0, 0), _mods(match["omods"]), "")
        if match["button"] is not None:
            return _mouse(int(match["button"]), int(match["x"]), int(match["y"]), is_up=match["up"] == b"m")
        if match["focus"] is not None:
            return [FocusChange("focused" if match["focus"] == b"I" else "unfocused")]
        if match["back"] is not None:
            return [KeyInput("tab", mods=int(Mods.SHIFT))]
        if match["cursor"] is not None:
            return [KeyInput(_CURSOR[match["cursor"]], mods=_mods(match["mods"]))]
        if match["number"] is not None:
            return self._read_numbered(match)
        if match["alt"] is not None:
            return [KeyInput(match["alt"].decode("ascii"), mods=int(Mods.ALT))]
        return [TextInput(match[0])]

    def _read_coded(self, code: int, others: tuple[int, ...], mods: int, text: str) -> list[Input]:
        """Read a key by its number; others: with Shift, and on a keyboard with Latin letters, 0 where not told."""
        name = _KITTY.get(code)
        if name is None and (code in _KITTY_OWN or code < 32 or code > sys.maxunicode or 0xD800 <= code < 0xE000):
            return []
        if name is None:
            name = _name_of(code, others, mods)
        if mods & Mods.CTRL and not mods & (Mods.ALT | Mods.SUPER) and _old_control(name, mods) == self._leave:
            return [LeaveKey()]
        if name == " " and mods:
            name = "space"
        if mods == Mods.SHIFT and name in _SCROLLS:
            return [ScrollRequest(_SCROLLS[name] * self.page)]
        if len(name) == 1 and not mods & ~Mods.SHIFT:
            return [TextInput((text or name).encode("utf-8", "replace"))]
        return [KeyInput(name, mods=mods)]

    def _read_numbered(self, match: re.Match[bytes]) -> list[Input]:
        name, mods = _NUMBERED.get(int(match["number"])), _mods(match["nmods"])
        if name is None:
            return [TextInput(match[0])]
        if mods == Mods.SHIFT and name in _SCROLLS:
            return [ScrollRequest(_SCROLLS[name] * self.page)]
        return [KeyInput(name, mods=mods)]


def _control(byte: int) -> Message:
    if byte in _CONTROLS:
        return KeyInput(_CONTROLS[byte])
    if 0x01 <= byte <= 0x1A:
        return KeyInput(chr(byte | 0x60), mods=int(Mods.CTRL))
    return TextInput(bytes([byte]))


def _name_of(code: int, others: tuple[int, ...], mods: int) -> str:
    shifted, base = others
    if mods & Mods.CTRL and code > 127 and 32 <= base < 127:
        # Cyrillic and Greek keys with Ctrl are what every program knows: the Latin ones in their place.
        return chr(base)
    if not mods & Mods.SHIFT:
        return chr(code)
    name = chr(shifted) if 32 <= shifted < 0xD800 else chr(code).upper()
    return name if len(name) == 1 else chr(code)


def _old_control(name: str, mods: int) -> int | None:
    """Return the byte that Ctrl with a key is in the old form; None when it is none of its own."""
    if len(name) != 1 or (name.isalpha() and mods & Mods.SHIFT):
        return None
    if "@" <= name <= "_" or "a" <= name <= "z":
        return ord(name) & 0x1F
    return _OLD_CONTROLS.get(name)


def _texts(codes: bytes | None) -> str:
    """Return the text that a key types, told by its characters' numbers."""
    numbers = (int(code) for code in (codes or b"").split(b":") if code)
    return "".join(chr(number) for number in numbers if 32 <= number < 0xD800)


def _mods(number: bytes | None) -> int:
    """Return our modifiers for xterm's number, which is one more than the sum of its bits: Shift, Alt, Ctrl, Meta."""
    bits = max(0, int(number or 1) - 1)
    mods = Mods.NONE
    for bit, mod in ((1, Mods.SHIFT), (2, Mods.ALT), (4, Mods.CTRL), (8, Mods.SUPER)):
        if bits & bit:
            mods |= mod
    return int(mods)


def _mouse(number: int, x: int, y: int, *, is_up: bool) -> list[Input]:
    mods = Mods.NONE
    for bit, mod in ((4, Mods.SHIFT), (8, Mods.ALT), (16, Mods.CTRL)):
        if number & bit:
            mods |= mod
    base = number & 3
    button = 4 + base if number & _WHEEL else (base + 1) % 4
    action: Action = "move" if number & 32 else "release" if is_up else "press"
    if button > 5 or not (1 <= x <= 10_000 and 1 <= y <= 10_000):
        return []
    return [MouseInput(action, button, x - 1, y - 1, int(mods))]

"""Keys and mouse events in the bytes that the child's present modes ask for, by the library's encoders."""

from __future__ import annotations

from typing import Any

from oulipoly_engine.terminal.emulators.ghostty.ffi import Library, check
from oulipoly_engine.terminal.protocol.keys import character
from oulipoly_engine.terminal.protocol.screen import Key, Mods, Mouse

# Textual's names of keys that are no characters, with the library's.
_NAMED = {
    **{name: name.upper() for name in ("backspace", "delete", "end", "enter", "escape", "home", "insert", "tab")},
    **{name: f"ARROW_{name.upper()}" for name in ("down", "left", "right", "up")},
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
    "pagedown": "PAGE_DOWN",
    "pageup": "PAGE_UP",
    "space": "SPACE",
    "return": "ENTER",
    "pause": "PAUSE",
    "print_screen": "PRINT_SCREEN",
    "menu": "CONTEXT_MENU",
}
_PUNCTUATION = {
    "`": "BACKQUOTE",
    "\\": "BACKSLASH",
    "[": "BRACKET_LEFT",
    "]": "BRACKET_RIGHT",
    ",": "COMMA",
    "=": "EQUAL",
    "-": "MINUS",
    ".": "PERIOD",
    "'": "QUOTE",
    ";": "SEMICOLON",
    "/": "SLASH",
    " ": "SPACE",
}
# Textual's keys that come as one name with the modifier in it.
_SHIFTED = {"backtab": "tab"}
_BUTTONS = {1: "LEFT", 2: "MIDDLE", 3: "RIGHT", 4: "FOUR", 5: "FIVE"}
_ACTIONS = {"press": "PRESS", "release": "RELEASE", "move": "MOTION"}
_WHEEL = (4, 5)
# The library tells these from Tab, Return and Escape for every program. One that has not asked for a protocol knows
# them as what they have always been: vim's users leave by Ctrl+[.
_AS_EVER = {b"\x1b[105;5u": b"\t", b"\x1b[109;5u": b"\r", b"\x1b[91;5u": b"\x1b", b"\x1b[64;6u": b"\x00"}
_ALL_KEYS = 8  # of kitty's protocol: letters too come as sequences
_SENT = 256  # bytes; the longest sequence of a key has fewer than 64


class InputEncoders:
    """The library's encoders for one terminal."""

    def __init__(self, library: Library, terminal: Any) -> None:  # noqa: ANN401 - cffi's values have no types
        self._ffi, self._lib = library
        self._terminal = terminal
        self._keys = self._make("GhosttyKeyEncoder", self._lib.ghostty_key_encoder_new)
        self._key = self._make("GhosttyKeyEvent", self._lib.ghostty_key_event_new)
        self._mice = self._make("GhosttyMouseEncoder", self._lib.ghostty_mouse_encoder_new)
        self._mouse = self._make("GhosttyMouseEvent", self._lib.ghostty_mouse_event_new)
        self._sent = self._ffi.new("char[]", _SENT)
        self._length = self._ffi.new("size_t*")
        self._flags = self._ffi.new("uint64_t*")

    def key(self, key: Key) -> bytes:
        """Return what a key sends."""
        if len(key.text) == 1 and key.text == key.name and not key.mods and not self._kitty_flags() & _ALL_KEYS:
            return key.text.encode("utf-8", "replace")  # whatever else the child has asked for
        lib = self._lib
        lib.ghostty_key_encoder_setopt_from_terminal(self._keys[0], self._terminal)
        name = _SHIFTED.get(key.name, key.name)
        mods = Mods(key.mods) | (Mods.SHIFT if key.name in _SHIFTED else Mods.NONE)
        text = "" if name in _NAMED and name != "space" else character(key)
        if text is None:
            return b""
        data = text.encode("utf-8", "replace")  # the event keeps a pointer to it
        lib.ghostty_key_event_set_action(self._key[0], lib.GHOSTTY_KEY_ACTION_PRESS)
        lib.ghostty_key_event_set_key(self._key[0], self._code(name, text))
        lib.ghostty_key_event_set_mods(self._key[0], int(mods))
        buffer = self._ffi.new("char[]", data)
        lib.ghostty_key_event_set_utf8(self._key[0], buffer, len(data))
        plain = text.lower() if len(text) == 1 and len(text.lower()) == 1 else text
        lib.ghostty_key_event_set_unshifted_codepoint(self._key[0], ord(plain) if len(plain) == 1 else 0)
        result = lib.ghostty_key_encoder_encode(self._keys[0], self._key[0], self._sent, _SENT, self._length)
        if result == lib.GHOSTTY_OUT_OF_SPACE:  # text of more than one character, as input methods commit it
            return data
        check(result, "key encoding")
        encoded = bytes(self._ffi.buffer(self._sent, self._length[0]))
        return encoded if encoded not in _AS_EVER or self._kitty_flags() else _AS_EVER[encoded]

    def _kitty_flags(self) -> int:
        """Return how the child has asked for keys to be told apart; 0: not at all."""
        query = self._lib.GHOSTTY_TERMINAL_DATA_KITTY_KEYBOARD_FLAGS
        check(self._lib.ghostty_terminal_get(self._terminal, query, self._flags), "key protocol")
        return int(self._flags[0])

    def mouse(self, mouse: Mouse, columns: int, rows: int) -> bytes:
        """Return what a mouse event sends."""
        lib = self._lib
        size = self._ffi.new("GhosttyMouseEncoderSize*")
        size.size = self._ffi.sizeof("GhosttyMouseEncoderSize")
        size.screen_width, size.screen_height, size.cell_width, size.cell_height = columns, rows, 1, 1
        lib.ghostty_mouse_encoder_setopt(self._mice[0], lib.GHOSTTY_MOUSE_ENCODER_OPT_SIZE, size)
        is_drag = self._ffi.new("bool*", mouse.action == "move" and mouse.button > 0)
        lib.ghostty_mouse_encoder_setopt(self._mice[0], lib.GHOSTTY_MOUSE_ENCODER_OPT_ANY_BUTTON_PRESSED, is_drag)
        lib.ghostty_mouse_encoder_setopt_from_terminal(self._mice[0], self._terminal)
        action = getattr(lib, f"GHOSTTY_MOUSE_ACTION_{_ACTIONS[mouse.action]}")
        lib.ghostty_mouse_event_set_action(self._mouse[0], action)
        if mouse.button in _BUTTONS:
            button = getattr(lib, f"GHOSTTY_MOUSE_BUTTON_{_BUTTONS[mouse.button]}")
            lib.ghostty_mouse_event_set_button(self._mouse[0], button)
        else:
            lib.ghostty_mouse_event_clear_button(self._mouse[0])
        lib.ghostty_mouse_event_set_mods(self._mouse[0], mouse.mods & (Mods.SHIFT | Mods.CTRL | Mods.ALT))
        lib.ghostty_mouse_event_set_position(self._mouse[0], (mouse.x + 0.5, mouse.y + 0.5))
        result = lib.ghostty_mouse_encoder_encode(self._mice[0], self._mouse[0], self._sent, _SENT, self._length)
        check(result, "mouse encoding")
        return bytes(self._ffi.buffer(self._sent, self._length[0]))

    def close(self) -> None:
        """Release everything."""
        self._lib.ghostty_key_encoder_free(self._keys[0])
        self._lib.ghostty_key_event_free(self._key[0])
        self._lib.ghostty_mouse_encoder_free(self._mice[0])
        self._lib.ghostty_mouse_event_free(self._mouse[0])

    def _make(self, kind: str, maker: Any) -> Any:  # noqa: ANN401 - as above
        value = self._ffi.new(f"{kind}*")
        check(maker(self._ffi.NULL, value), kind)
        return value

    def _code(self, name: str, text: str) -> int:
        symbol = _NAMED.get(name)
        if symbol is None and len(text) == 1 and text.isascii():
            symbol = text.upper() if text.isalpha() else f"DIGIT_{text}" if text.isdigit() else _PUNCTUATION.get(text)
        return int(getattr(self._lib, f"GHOSTTY_KEY_{symbol or 'UNIDENTIFIED'}"))

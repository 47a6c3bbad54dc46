"""Names of keys: from what people write, and from what the app itself shows, to Textual's own. Pure."""

from __future__ import annotations

import unicodedata
from difflib import get_close_matches

# Textual's keys that type nothing.
_NAMED = (
    *("escape", "enter", "tab", "backspace", "space", "insert", "delete", "home", "end", "pageup", "pagedown"),
    *("up", "down", "left", "right", "menu", "pause", "print_screen", "caps_lock", "num_lock", "scroll_lock"),
    *("kp_begin", "decimal", "divide", "multiply", "subtract", "add", "equal", "separator"),  # of the number pad
    *(f"media_{deed}" for deed in ("play", "pause", "play_pause", "stop", "track_next", "track_previous", "record")),
    *("lower_volume", "raise_volume", "mute_volume"),
    *(f"f{number}" for number in range(1, 36)),
)
_ALSO = {
    **{"esc": "escape", "return": "enter", "bs": "backspace", "ins": "insert", "del": "delete"},
    **{"pgup": "pageup", "page_up": "pageup", "pgdn": "pagedown", "pgdown": "pagedown", "page_down": "pagedown"},
    **{"↑": "up", "↓": "down", "←": "left", "→": "right", "⏎": "enter", "⌫": "backspace", "dot": "full_stop"},
}
_MODIFIERS = ("alt", "ctrl", "hyper", "meta", "shift", "super")  # in the order in which Textual tells them
_ALSO_MODIFIERS = {"control": "ctrl", "option": "alt", "opt": "alt", "cmd": "super"}
# Where Textual's name is not Unicode's.
_OWN = {
    **{"solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at"},
    **{"hyphen_minus": "minus", "plus_sign": "plus", "low_line": "underscore"},
}
_ASCII = {chr(number) for number in range(33, 127)}


def read_key(written: str) -> str | None:
    """Return Textual's name of a key that people wrote, `ctrl+g` for `Ctrl+G`; None: there is no such key."""
    if len(written) == 2 and written[0] == "^":
        return read_key(f"ctrl+{written[1]}")
    *held, last = written.split("+")
    if written == "+" or written.endswith("++"):
        held, last = held[:-1], "+"
    modifiers = {_ALSO_MODIFIERS.get(word.lower(), word.lower()) for word in held}
    key = _key(last)
    if key is None or not modifiers <= set(_MODIFIERS):
        return None
    if len(key) == 1 and key.isupper() and modifiers:
        if modifiers != {"shift"} and "ctrl" not in modifiers and all(word.islower() for word in held):
            modifiers.add("shift")  # `alt+G` comes with shift; `Alt+G` is what stands on the keys
        key = key.lower()
    if modifiers == {"shift"} and key not in _NAMED:
        return key.upper() if len(key) == 1 and key.upper() != key else None  # else the terminal sends what it types
    if key == "at" and modifiers == {"ctrl"}:
        return "ctrl+@"  # Textual's one name that has the sign itself
    return "+".join((*(word for word in _MODIFIERS if word in modifiers), key))


def near(written: str) -> str | None:
    """Return the name of a key that somebody may have meant; None: it is like none."""
    *held, last = written.lower().split("+")
    found = get_close_matches(last, (*_NAMED, *_ALSO, *map(_character_name, sorted(_ASCII))), n=1)
    chord = "+".join((*held, *found))
    return chord if found and read_key(chord) is not None else None


def _key(word: str) -> str | None:
    """Return the name of a key without its modifiers."""
    if len(word) == 1 and word not in _ALSO:
        return _character_name(word) if word.isprintable() and not word.isspace() else None
    low = word.lower()
    low = _ALSO.get(low, low)
    if low in _NAMED:
        return low
    unicode_name = next((unicode for unicode, own in _OWN.items() if own == low), low)
    character = next((one for one in _ASCII if _unicode_name(one) == unicode_name), None)
    try:
        character = character or unicodedata.lookup(unicode_name.replace("_", " "))
    except KeyError:
        return None
    return _character_name(character) if character.isprintable() else None


def _character_name(character: str) -> str:
    if character.isalnum():
        return character
    name = _unicode_name(character)
    return _OWN.get(name, name)


def _unicode_name(character: str) -> str:
    return unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")

"""Keys of Textual's, as a terminal's host takes them."""

from __future__ import annotations

from collections.abc import Collection

from textual import events

from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.screen import Mods

_ESC, _CTRL_H = "\x1b", "\x08"
_MODS = {"shift": Mods.SHIFT, "ctrl": Mods.CTRL, "alt": Mods.ALT, "super": Mods.SUPER, "meta": Mods.ALT}


def key_message(event: events.Key) -> messages.KeyInput | messages.TextInput:
    """Return a key as the host encodes it, or what the terminal sent where that may be one key or another.

    ESC and a letter are that letter with Alt, or Escape and the letter in haste; 0x08 is Ctrl+H or a backspace. Only
    the program can guess which, and none of them tells it from a sequence of a protocol that it has asked for.
    """
    text = event.character or ""
    if text == _CTRL_H or _is_behind_escape(event):
        return messages.TextInput(text.encode("utf-8", "replace"))
    *modifiers, name = event.key.split("+") if event.key != "+" else [event.key]
    mods = Mods.NONE
    for modifier in modifiers:
        mods |= _MODS.get(modifier, Mods.NONE)
    if mods == Mods.SHIFT | Mods.ALT and len(name) == len(name.upper()) == 1:
        name = name.upper()  # the old form has no other sign of Shift
    if not text.isprintable() or mods & (Mods.CTRL | Mods.ALT):
        text = ""
    if text and mods == Mods.SHIFT:
        mods = Mods.NONE  # the character has it already
    return messages.KeyInput(name, text, int(mods))


def is_one_of(event: events.Key, chords: Collection[str]) -> bool:
    """Return whether a key is one of some chords, also where it came so close behind Escape that both are one key."""
    if not _is_behind_escape(event):
        return event.key in chords
    modifier, _, name = event.key.partition(
        "+"
    )  # without the word it is Textual's own name for what Alt does in its fields
    return modifier == "alt" and (event.key in chords or name in chords)


def _is_behind_escape(event: events.Key) -> bool:
    return event.character is not None and event.character[:1] == _ESC != event.character

"""Keys and pastes that are the same for every emulator. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from oulipoly_engine.terminal.protocol.screen import Key

# Textual's own words for characters, where they are not Unicode's (textual.keys.KEY_NAME_REPLACEMENTS, 8.2).
_WORDS = {
    "slash": "/",
    "backslash": "\\",
    "at": "@",
    "minus": "-",
    "plus": "+",
    "underscore": "_",
    "space": " ",
    "hash": "#",
    "dollar": "$",
}
# What is not pasted: controls that a shell or an editor would obey. Tab, line feed and return stay.
_COMMANDS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_BEGIN, _END = b"\x1b[200~", b"\x1b[201~"


@lru_cache(maxsize=512)
def _name_of(name: str) -> str | None:
    if len(name) == 1:
        return name
    if name in _WORDS:
        return _WORDS[name]
    try:
        return unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return None


def character(key: Key) -> str | None:
    """Return the character that a key stands for, without regard to ctrl and alt; None: a key like `up`."""
    if key.text and key.text.isprintable():
        return key.text
    return _name_of(key.name)


def encode_paste(text: str, *, bracketed: bool) -> bytes:
    """Return what a paste sends: without controls, lines ended as the return key does unless it is marked."""
    clean = _COMMANDS.sub("", text)
    if bracketed:
        return _BEGIN + clean.encode("utf-8", "replace") + _END
    return clean.replace("\r\n", "\r").replace("\n", "\r").encode("utf-8", "replace")

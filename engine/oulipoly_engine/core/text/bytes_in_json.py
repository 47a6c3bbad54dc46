"""Words of the system in JSON: its bytes need not be text. Pure."""

from __future__ import annotations

import os


def escape_word(word: str) -> str:
    """Return a word of the system's so that JSON takes it."""
    return os.fsencode(word).decode("latin-1")


def unescape_word(word: str) -> str:
    """Return the word that was carried."""
    return os.fsdecode(word.encode("latin-1"))

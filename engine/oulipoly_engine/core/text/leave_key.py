"""The one key that `attach` keeps for itself: the chords that it can be, and the byte that a terminal sends for each.

Pure. Only chords that are one byte in every terminal; those that a terminal cannot tell from Enter, Tab or Escape are
left out.
"""

from __future__ import annotations

DEFAULT = "ctrl+]"
_LETTERS = "abcdefghklnopqrstuvwxyz"  # not i, j and m: Tab, a new line and Enter
BYTES = {f"ctrl+{letter}": ord(letter) & 0x1F for letter in _LETTERS} | {
    "ctrl+@": 0x00,
    "ctrl+\\": 0x1C,
    "ctrl+]": 0x1D,
    "ctrl+^": 0x1E,
    "ctrl+_": 0x1F,
}

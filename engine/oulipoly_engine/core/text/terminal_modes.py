"""Which modes a program has switched on in its terminal, and how to switch them off when it died before it could. Pure.

A program that is killed leaves the user's terminal on the alternate screen, without a cursor, or sending every movement
of the mouse as text.
"""

from __future__ import annotations

import re

# DEC private modes (`CSI ? Pm h`, `l` to leave) and the levels of kitty's keyboard (`CSI > flags u`, `CSI < n u`).
_SWITCH = re.compile(rb"\x1b\[(?:\?([0-9;]{1,40})([hl])|([<>])([0-9;]{0,12})u)")
_UNFINISHED = re.compile(rb"\x1b(?:\[[?<>]?[0-9;]{0,40})?\Z")
_LONGEST = 48  # bytes of a switch
_ALTERNATE = (1049, 1047, 47)
# Cursor keys, wrapping is left alone, mouse, focus, alternate scrolling, bracketed paste, synchronised output.
_INPUT = (1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 2004, 2026)
_CURSOR = 25


class TerminalModes:
    """What is switched on."""

    def __init__(self) -> None:
        self._on: set[int] = set()
        self._hides_cursor = False
        self._keyboard_levels = 0
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take the next bytes that the program printed, cut anywhere."""
        if self._rest:
            data = self._rest + data
            self._rest = b""
        if b"\x1b" not in data:
            return
        if b"\x1b[?" in data or b"\x1b[>" in data or b"\x1b[<" in data:  # colours are far more frequent
            for found in _SWITCH.finditer(data):
                self._take(found)
        unfinished = _UNFINISHED.search(data, max(0, len(data) - _LONGEST))
        if unfinished is not None:
            self._rest = unfinished[0]

    def undo(self) -> bytes:
        """Return the bytes that switch everything off again; empty when nothing is on."""
        codes = [mode for mode in (*_INPUT, *_ALTERNATE) if mode in self._on]
        switches = "".join(f"\x1b[?{mode}l" for mode in codes)
        keyboard = f"\x1b[<{self._keyboard_levels}u" if self._keyboard_levels else ""
        cursor = f"\x1b[?{_CURSOR}h" if self._hides_cursor else ""
        undone = keyboard + switches + cursor
        return f"{undone}\x1b[0m".encode() if undone else b""

    def _take(self, found: re.Match[bytes]) -> None:
        if found[3] is not None:
            step = 1 if found[3] == b">" else -max(1, int(found[4].split(b";")[0] or 1))
            self._keyboard_levels = max(0, self._keyboard_levels + step)
            return
        is_on = found[2] == b"h"
        for mode in (int(text) for text in found[1].split(b";") if text):
            if mode == _CURSOR:
                self._hides_cursor = not is_on
            elif is_on:
                self._on.add(mode)
            else:
                self._on.discard(mode)

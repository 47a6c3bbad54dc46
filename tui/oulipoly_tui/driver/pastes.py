"""Bracketed pastes, kept back until they are whole. Pure.

Textual's parser reads a paste letter by letter, and looks in it for sequences as anywhere else: what follows an ESC in
a pasted text is typed, outside of the paste and before it, and so are the pieces of an end mark that comes in two. What
was typed like that may hold a return, which executes. So the parser gets a paste in one piece and without any ESC.
"""

from __future__ import annotations

_ESC = "\x1b"
BEGINS, _ENDS = "\x1b[200~", "\x1b[201~"
_KEPT = len(BEGINS) - 1  # letters of what came last, in which a mark may have begun
_UNMISTAKABLE = len("\x1b[2")  # so much of a mark is not a key that somebody pressed
_LIMIT = 16 << 20  # letters; a terminal that never ends its paste must not keep us waiting for ever


class Pastes:
    """What the terminal sends, on its way to the parser."""

    def __init__(self) -> None:
        self.is_within = False  # a paste has begun and not ended
        self._pieces: list[str] = []  # of that one
        self._length = 0
        self._before = ""

    @property
    def is_beginning(self) -> bool:
        """Return whether the last that came can only be the mark of a paste, or of a key, that is not whole yet."""
        end_of_mark = range(_UNMISTAKABLE, len(BEGINS))
        return not self.is_within and any(self._before.endswith(BEGINS[:length]) for length in end_of_mark)

    def feed(self, text: str) -> str:
        """Take what came, in any pieces, and return what the parser may read now; it is empty while a paste lasts."""
        pieces: list[str] = []
        while text:
            text = self._more(text, pieces) if self.is_within else self._keys(text, pieces)
        return "".join(pieces)

    def forget(self) -> None:
        """Let no mark begin in what came until now: the parser has done with it."""
        if not self.is_within:
            self._before = ""

    def _keys(self, text: str, pieces: list[str]) -> str:
        """Pass keys on, with the mark of a paste that begins behind them, and return the rest."""
        seen = self._before + text
        at = seen.find(BEGINS)
        if at < 0:
            pieces.append(text)
            self._before = seen[-_KEPT:]
            return ""
        end_of_mark = at + len(BEGINS)
        pieces.append(seen[len(self._before) : end_of_mark])
        self.is_within, self._before = True, ""
        return seen[end_of_mark:]

    def _more(self, text: str, pieces: list[str]) -> str:
        """Keep what is pasted, or pass all of it on, and return what comes behind its end."""
        seen = self._before + text
        at = seen.find(_ENDS)
        if at < 0 and self._length + len(seen) < _LIMIT:
            self._pieces.append(seen[:-_KEPT])
            self._length += len(self._pieces[-1])
            self._before = seen[-_KEPT:]
            return ""
        end = len(seen) if at < 0 else at
        pieces += ("".join((*self._pieces, seen[:end])).replace(_ESC, ""), _ENDS)
        self.is_within, self._pieces, self._length, self._before = False, [], 0, ""
        return seen[end + len(_ENDS) :]

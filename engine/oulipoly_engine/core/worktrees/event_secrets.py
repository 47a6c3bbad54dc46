"""Secrets are taken out of a session's events before they are kept or told, also where a text comes in pieces. Pure.

(Contract of worktree sessions, A26 and B9.)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.text.redact import REDACTED, may_begin_token, redact
from oulipoly_engine.records import Record, prepare, replace

_ID_KEY = re.compile(r"(?:^|_)id$|^fork_at$")  # what looks drawn there is not a secret, and tells what belongs together
_LONGEST_HELD = 4096  # characters of a word that is not finished: its end is not waited for any longer
_LONGEST_SECRET = 2048  # characters of such a word that are held back all the same
_CUT_STEP = 256
_LONGEST_LINE = 512  # characters that are looked at again with each piece
_CONTEXT = 128  # of them those that are kept of a longer line
_PLAIN_WORD = re.compile(r"[A-Za-z]?[a-z]{0,15}[.,!?)]{0,3}")
_DRAWN = "x1Y2z3W4v5"  # stands for the rest of a secret
_BLANK = re.compile(r"\s(?=\S*$)")
_KEY_BEGINS, _KEY_ENDS = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"), "-----END"


class EventCleaner:
    """Cleans the events of one session, in their order."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], TextStream] = {}

    def clean(self, event: ev.AnyEvent) -> ev.AnyEvent | None:
        """Return the event without secrets; None: a piece of text of which nothing can be told yet."""
        if isinstance(event, ev.ItemDelta):
            text = self._streams.setdefault((event.item_id, event.stream), TextStream()).feed(event.text)
            return replace(event, text=text) if text else None
        if isinstance(event, ev.ItemEnded):
            self._streams = {key: each for key, each in self._streams.items() if key[0] != event.item.id}
        elif isinstance(event, ev.TurnEnded):
            self._streams.clear()
        return clean_record(event)

    def take_rest(self, item_id: str) -> str:
        """Return what is held back of an item's text, for one that does not come to its end."""
        streams = [stream for key, stream in self._streams.items() if key[0] == item_id]
        self._streams = {key: stream for key, stream in self._streams.items() if key[0] != item_id}
        return "".join(stream.take_rest() for stream in streams)


_Record = TypeVar("_Record", bound=Record)


def clean_record(record: _Record) -> _Record:
    """Return an event that is no piece of a text, or a part of one, without secrets."""
    return msgspec.convert(_clean(msgspec.to_builtins(record), ""), prepare(type(record)))


def _clean(value: Any, key: str) -> Any:  # noqa: ANN401 - whatever an event holds
    if isinstance(value, dict):
        return {name: _clean(each, name) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each, key) for each in value]
    return redact(value) if isinstance(value, str) and not _ID_KEY.search(key) else value


class TextStream:
    """A text that comes in pieces: a word is held back until it is whole, for a secret has no blank in it.

    What a word means may stand before it in its line, so the line is looked at again with each word.
    """

    def __init__(self, clean: Callable[[str], str] = redact) -> None:
        """clean: takes secrets out of a text."""
        self._clean = clean
        self._line = ""  # the end of the line that is not finished
        self._told = ""  # what was told of it
        self._looked_at = 0  # characters of it
        self._in_key = False

    def feed(self, piece: str) -> str:
        """Return what can be told now."""
        *lines, self._line = (self._line + piece).split("\n")
        told = [self._finish(line) for line in lines]
        end = _end_of_words(self._line)
        if self._is_harmless(self._line[end:].lstrip()):
            end = len(self._line)
        elif len(self._line) - end > _LONGEST_HELD:
            end = self._find_cut(end)
        if end > self._looked_at and not self._begins_key():
            told.append(self._tell(self._clean(self._line[:end])))
            self._looked_at = end
            self._forget(end)
        return "".join(told)

    def _find_cut(self, begin: int) -> int:
        """Return where a word is cut that is too long to be waited for: before its end, and in no secret.

        begin: of the word. Where a single secret fills it, the cut is at its end.
        """
        whole = self._clean(self._line)
        for cut in range(len(self._line) - _LONGEST_SECRET, begin, -_CUT_STEP):
            if self._clean(self._line[:cut]) + self._clean(self._line[cut:]) == whole:
                return cut
        return len(self._line)

    def _is_harmless(self, word: str) -> bool:
        """Return whether the last word cannot become a secret, whatever comes behind it: then nobody waits for it."""
        if not word:
            return True
        if _PLAIN_WORD.fullmatch(word) is None or may_begin_token(word):
            return False
        return self._clean(self._line + _DRAWN).endswith(word + _DRAWN)

    def take_rest(self) -> str:
        """Return what is left to tell of the line that is not finished."""
        return self._finish(self._line).removesuffix("\n")

    def _begins_key(self) -> bool:
        return self._in_key or "-----BEGIN" in self._line

    def _finish(self, line: str) -> str:
        if self._in_key:
            self._in_key, text = _KEY_ENDS not in line, ""
        elif _KEY_BEGINS.search(line) and _KEY_ENDS not in line:
            self._in_key, text = True, f"{REDACTED}\n"
        else:
            clean = self._clean(line)
            text = f"{clean[_count_same(clean, self._told) :]}\n"
        self._told, self._looked_at = "", 0
        return text

    def _tell(self, text: str) -> str:
        """Return what a line has more than was told; nothing as long as it reads otherwise now."""
        if not text.startswith(self._told):
            return ""
        more, self._told = text[len(self._told) :], text
        return more

    def _forget(self, end: int) -> None:
        """Keep the end of a long line only, from a blank on."""
        if len(self._line) <= _LONGEST_LINE:
            return
        blank = self._line.find(" ", max(0, end - _CONTEXT), end)
        start = end if blank < 0 else blank
        self._line, self._looked_at = self._line[start:], end - start
        self._told = self._clean(self._line[: self._looked_at])


def _count_same(text: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((place for place, (one, another) in pairs if one != another), min(len(text), len(other)))


def _end_of_words(line: str) -> int:
    """Return where the last word that is not finished begins."""
    found = _BLANK.search(line)
    return 0 if found is None else found.start()

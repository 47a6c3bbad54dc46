"""Secrets are taken out of a session's events before they are kept or told, also where a text comes in pieces. Pure.

(Contract of worktree sessions, A26 and B9.)
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.text.redact import REDACTED, redact
from oulipoly_engine.records import replace

_ID_KEY = re.compile(r"(?:^|_)id$|^fork_at$")  # what looks drawn there is not a secret, and tells what belongs together
_LONGEST_HELD = 4096  # characters of a word that is not finished: its end is not waited for any longer
_LONGEST_LINE = 512  # characters that are looked at again with each piece
_CONTEXT = 128  # of them those that are kept of a longer line
_BLANK = re.compile(r"\s(?=\S*$)")
_KEY_BEGINS, _KEY_ENDS = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"), "-----END"


class EventCleaner:
    """Cleans the events of one session, in their order."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], _Stream] = {}

    def clean(self, event: ev.AnyEvent) -> ev.AnyEvent | None:
        """Return the event without secrets; None: a piece of text of which nothing can be told yet."""
        if isinstance(event, ev.ItemDelta):
            text = self._streams.setdefault((event.item_id, event.stream), _Stream()).feed(event.text)
            return replace(event, text=text) if text else None
        if isinstance(event, ev.ItemEnded):
            self._streams = {key: each for key, each in self._streams.items() if key[0] != event.item.id}
        elif isinstance(event, ev.TurnEnded):
            self._streams.clear()
        cleaned: ev.AnyEvent = msgspec.convert(_clean(msgspec.to_builtins(event), ""), ev.AnyEvent)
        return cleaned


def _clean(value: Any, key: str) -> Any:  # noqa: ANN401 - whatever an event holds
    if isinstance(value, dict):
        return {name: _clean(each, name) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each, key) for each in value]
    return redact(value) if isinstance(value, str) and not _ID_KEY.search(key) else value


class _Stream:
    """A text that comes in pieces: a word is held back until it is whole, for a secret has no blank in it.

    What a word means may stand before it in its line, so the line is looked at again with each word.
    """

    def __init__(self) -> None:
        self._line = ""  # the end of the line that is not finished
        self._told = ""  # what was told of it
        self._looked_at = 0  # characters of it
        self._in_key = False

    def feed(self, piece: str) -> str:
        """Return what can be told now."""
        *lines, self._line = (self._line + piece).split("\n")
        told = [self._finish(line) for line in lines]
        end = len(self._line) if len(self._line) > _LONGEST_HELD else _end_of_words(self._line)
        if end > self._looked_at and not self._begins_key():
            told.append(self._tell(redact(self._line[:end])))
            self._looked_at = end
            self._forget(end)
        return "".join(told)

    def _begins_key(self) -> bool:
        return self._in_key or "-----BEGIN" in self._line

    def _finish(self, line: str) -> str:
        if self._in_key:
            self._in_key, text = _KEY_ENDS not in line, ""
        elif _KEY_BEGINS.search(line) and _KEY_ENDS not in line:
            self._in_key, text = True, f"{REDACTED}\n"
        else:
            clean = redact(line)
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
        self._told = redact(self._line[: self._looked_at])


def _count_same(text: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((place for place, (one, another) in pairs if one != another), min(len(text), len(other)))


def _end_of_words(line: str) -> int:
    """Return where the last word that is not finished begins."""
    found = _BLANK.search(line)
    return 0 if found is None else found.start()

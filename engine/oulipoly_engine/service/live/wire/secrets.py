"""Secrets are taken out of what a CLI and its driver say to each other, also where a text comes in pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from oulipoly_engine.core.worktrees.event_secrets import TextStream

_HIDDEN = "[REDACTED]"
_SECRET_KEY = re.compile(r"token|secret|password|authorization|api_?key|^answers$", re.IGNORECASE)
_ID_KEY = re.compile(r"(?:^|_)id$|Id$|uuid$")  # what looks drawn there is no secret, and tells what belongs together
_COUNTS = re.compile(r"tokens?$|tokenusage$", re.IGNORECASE)  # numbers of tokens are none of these
# A message with a piece of a text says so where it says what it is: `item/agentMessage/delta`, `content_block_delta`,
# `agent_message_chunk`.
_KIND_KEYS = ("method", "type", "sessionUpdate")
_PIECE = re.compile(r"delta|chunk", re.IGNORECASE)
_TEXT_KEYS = ("delta", "text", "thinking", "partial_json", "data")
_STREAM_KEYS = ("itemId", "item_id", "index", "toolCallId", "sessionId", "session_id", "summaryIndex", "contentIndex")
_ENCODED_KEY = "chunk"  # base64, or a list of bytes: what a command prints through `codex proto`
_MOST_STREAMS = 64  # of which more is waited for; of older ones the last word is lost


class WireCleaner:
    """Cleans the messages of one direction, in their order."""

    def __init__(self, clean: Callable[[str], str], clean_id: Callable[[str], str]) -> None:
        """clean: takes secrets out of a text. clean_id: the same for ids, which look drawn."""
        self._clean, self._clean_id = clean, clean_id
        self._streams: dict[tuple[str, ...], TextStream] = {}

    def clean(self, message: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Return a message without what its keys or its texts show to be secret (contract, C.4).

        Of a text that comes in pieces a word is held back until it is whole, and comes with a later piece.
        """
        return self._hide(message, "", _name_stream(message))

    def clean_line(self, line: str) -> str:
        """Return a line without secrets: one with a piece of a text as JSON again, any other one as it stands."""
        if _PIECE.search(line) is None:
            return self._clean(line)
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            return self._clean(line)
        if not _name_stream(message):
            return self._clean(line)
        return self._clean(msgspec.json.encode(self.clean(message)).decode())

    def _hide(self, value: Any, key: str, stream: tuple[str, ...]) -> Any:  # noqa: ANN401 - as above
        if isinstance(value, dict):
            hidden = {name for name, each in value.items() if _is_secret(name, each)}
            if stream:
                hidden |= {_ENCODED_KEY}
            return {name: _HIDDEN if name in hidden else self._hide(each, name, stream) for name, each in value.items()}
        if isinstance(value, list):
            return [self._hide(each, key, stream) for each in value]
        if not isinstance(value, str):
            return value
        if stream and key in _TEXT_KEYS:
            return self._stream((*stream, key)).feed(value)
        return self._clean_id(value) if _ID_KEY.search(key) else self._clean(value)

    def _stream(self, name: tuple[str, ...]) -> TextStream:
        stream = self._streams.pop(name, None) or TextStream(self._clean)
        self._streams[name] = stream  # the newest is the last
        if len(self._streams) > _MOST_STREAMS:
            del self._streams[next(iter(self._streams))]
        return stream


def _is_secret(name: str, value: object) -> bool:
    if isinstance(value, bool | int | float) or value is None:
        return False
    return _SECRET_KEY.search(name) is not None and not (_COUNTS.search(name) and isinstance(value, dict))


def _name_stream(message: object) -> tuple[str, ...]:
    """Return what tells a text apart whose piece a message holds; empty: it holds none."""
    kinds = tuple(str(each) for each in _values(message, _KIND_KEYS))
    if not any(_PIECE.search(kind) for kind in kinds):
        return ()
    return (*kinds, *map(str, _values(message, _STREAM_KEYS)))


def _values(value: object, keys: tuple[str, ...]) -> Iterator[object]:
    """Yield what stands under some keys of objects in objects."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name in keys and isinstance(each, str | int):
                yield each
            yield from _values(each, keys)

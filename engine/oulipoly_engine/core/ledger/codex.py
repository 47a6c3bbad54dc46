"""The API calls in Codex's rollouts, out of blocks of whole lines. Pure.

Each call is told by a `token_count` event with the thread's running totals, repeated at will; since 0.16x by a
`token_usage_record` with the vendor's response id before it. Forks repeat their parent's events, or go on from its
totals. Until 0.60 a resumed thread began its totals anew: its first entry tells that none are known, and then totals
that are no more than its first call's. Source: rollouts of 0.60.1, 0.120.0 and 0.169.0.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from oulipoly_engine.core.ledger.calls import (
    Damage,
    Entry,
    Found,
    Instants,
    Place,
    objects,
    salvage_objects,
)
from oulipoly_engine.core.ledger.find import find as find_mark
from oulipoly_engine.core.ledger.spacing import in_own_form
from oulipoly_engine.core.transcripts.codex import DECODER, Info, Line, Payload, Usage, parent_of
from oulipoly_engine.core.transcripts.line_decoder import UNFIT, struct_of

CLI = "codex"
_MARK = b'"type":"t'  # the one pass over all bytes; what stands behind it decides
_TOLD_AGAIN = b'"type":"token_count","info":{"total_token_usage":{'  # the counts behind it
_TOLD_AGAIN_LENGTH = len(_TOLD_AGAIN)
_C, _O, _U = b"cou"
_META = b'"type":"session_meta"'

Vector = tuple[int, int, int, int]  # input with what the cache served, cached, output, reasoning


class CodexReader:
    """Finds the calls of one account.

    root_of: gives the first ancestor of a session that is another's parent; calls of a family share its name. It may
    raise FamilyUnknown, which goes through `take` before anything of the file has been counted.
    """

    def __init__(self, account: str, found: Found, root_of: Callable[[str], str]) -> None:
        self._account = account
        self._found = found
        self._root_of = root_of
        self._decode = DECODER.quickly
        self._instants = Instants()
        self._last: Vector | None = None
        self._place: Place | None = None
        self._begin("")
        self._stand_in_ms = 0

    @property
    def state(self) -> str | None:
        """Return what a later pass has to know of the file."""
        names = (self._session, self._root, self._family, self._model, self._project)
        return json.dumps([*names, self._last, self._has_meta, self._runs, self._is_new_entry, self._has_forgotten])

    def begin(self, state: str | None, stem: str, stand_in_ms: int) -> None:
        """Begin a file, or go on with it."""
        self._stand_in_ms = stand_in_ms
        self._begin(stem[-36:])
        if state is not None:
            *names, last, self._has_meta, self._runs, self._is_new_entry, self._has_forgotten = _read_state(state)
            self._session, self._root, self._family, self._model, self._project = names
            self._last = None if last is None else (last[0], last[1], last[2], last[3])

    def _begin(self, session: str) -> None:
        self._session = self._root = self._family = session  # from the file's name until its first line says it
        self._model = self._project = ""
        self._last = None
        self._has_meta = False
        self._place = None
        self._told = b""  # how an event begins that repeats `_last`
        self._runs = 0  # how often the totals have begun anew
        self._is_new_entry = self._has_forgotten = False  # no count since the entry began; it said that none is known

    def take(self, buffer: bytearray, begin: int, end: int, offset: int) -> None:
        """Read whole lines; offset: the place in the file of the byte at `begin`."""
        in_own_form(self._lines, buffer, begin, end, offset)

    def _lines(self, buffer: bytearray, begin: int, end: int, offset: int) -> None:
        find, rfind, starts = buffer.find, buffer.rfind, buffer.startswith
        first = begin
        with memoryview(buffer) as view:
            if not self._has_meta:
                at = find(_META, begin, end)
                if at >= 0:
                    start = rfind(b"\n", begin, at) + 1 or begin
                    stop = find(b"\n", at, end)
                    self._line(view[start : end if stop < 0 else stop], offset + start - first)
            at = find_mark(buffer, _MARK, begin, end)
            while at >= 0:
                # `token_count`, `token_usage_record` or `turn_context`, by the letters that tell them from the rest.
                letter = buffer[at + 9] if at + 14 < end else 0
                if letter == _O:
                    letter = buffer[at + 14]
                    # Two of three events repeat a total that was told: seen by its bytes, they need no decoding.
                    if letter == _C and self._told and starts(self._told, at):
                        self._is_new_entry = False
                        at = find_mark(buffer, _MARK, at + len(self._told), end)
                        continue
                if letter not in (_C, _U):
                    at = find_mark(buffer, _MARK, at + 9, end)
                    continue
                start = rfind(b"\n", begin, at) + 1 or begin
                stop = find(b"\n", at, end)
                stop = end if stop < 0 else stop
                before = self._last
                self._line(view[start:stop], offset + start - first)
                if self._last is not before:
                    self._told = _make_repeat_prefix(buffer, at, stop)
                begin = stop + 1
                at = find_mark(buffer, _MARK, begin, end)

    def _line(self, raw: memoryview, offset: int) -> None:
        try:
            line = self._decode(raw)
        except UNFIT:
            size = len(raw)
            for record in salvage_objects(bytes(raw), lambda what: Damage(offset, size, what), self._found):
                self._take(struct_of(Line, record))
        else:
            self._take(line)

    def _take(self, line: Line) -> None:
        payload, kind = line.payload, line.type
        if payload is None:
            return
        if kind == "event_msg":
            if payload.type == "token_count":
                if payload.info is not None:
                    self._count(line, payload.info)
                elif self._is_new_entry and self._last is not None:
                    self._has_forgotten = True
                    self._told = b""
                self._is_new_entry = False
        elif kind == "token_usage_record":
            self._record(line, payload)
        elif kind == "turn_context":
            self._is_new_entry = True
            if (payload.model and payload.model != self._model) or (payload.cwd and payload.cwd != self._project):
                self._model, self._project = payload.model or self._model, payload.cwd or self._project
                self._place = None
        elif kind == "session_meta" and not self._has_meta:
            self._meet(payload)

    def _meet(self, meta: Payload) -> None:
        """Take the rollout's first line. A fork repeats its parent's on the second one, so no other counts."""
        self._session = meta.id or self._session
        self._project = meta.cwd or self._project
        parent = parent_of(meta)
        self._root = self._root_of(parent) if parent and parent != self._session else self._session
        self._family = self._root if meta.forked_from_id else self._session
        self._has_meta = True
        self._place = None

    def _count(self, line: Line, info: Info) -> None:
        total = None if info.total_token_usage is None else _vector(info.total_token_usage)
        usage = info.last_token_usage
        if total is not None and self._has_forgotten:
            self._has_forgotten = False
            if usage is not None and _vector(usage) == total:
                self._runs += 1
                self._last = None
        if total is not None and total == self._last:  # told again
            return
        if usage is None:
            if total is None:
                return
            usage = _difference(total, self._last)
        entry = self._entry(line, usage)
        if total is not None:
            self._last = total
        if entry is None:
            return
        if total is not None:
            self._found.add(_key(f"{self._root}\0{self._runs}" if self._runs else self._root, total), entry)
        else:
            self._found.add(f"\0codex\0{self._session}\0{line.timestamp}\0{_vector(usage)}", entry)

    def _record(self, line: Line, payload: Payload) -> None:
        total = None if payload.thread_token_usage is None else _vector(payload.thread_token_usage)
        entry = None if payload.usage is None else self._entry(line, payload.usage)
        if total is not None:
            self._last = total
        if entry is None:
            return
        if total is not None:
            self._found.add(_key(self._family, total), entry)
        else:
            self._found.add(f"\0codex\0{payload.response_id or f'{self._session} {line.timestamp}'}", entry)

    def _entry(self, line: Line, usage: Usage) -> Entry | None:
        """Return a call; None for one that took nothing."""
        read, written, output = usage.cached_input_tokens, usage.cache_write_input_tokens, usage.output_tokens
        fresh = usage.input_tokens - read - written  # the CLI counts them in
        if fresh < 0:
            fresh = 0
        if not (fresh or output or read or written):
            return None
        if self._place is None:
            self._place = Place(self._account, CLI, self._session, self._project, self._model, False)
        at = line.timestamp
        instant = None if at is None else self._instants.ms(at)
        counts = (fresh, output, read, written, 0, usage.reasoning_output_tokens)
        return (self._stand_in_ms if instant is None else instant, self._place, counts, None)


def _key(family: str, total: Vector) -> str:
    """Return what names a call: no two of a family end at the same totals."""
    fresh, cached, output, reasoning = total
    return f"\0codex\0{family}\0{fresh},{cached},{output},{reasoning}"


def _read_state(state: str) -> list[Any]:
    """Return the values of a state; those that a state of before 1.0 has not are none."""
    values: list[Any] = json.loads(state)
    return values + [0, False, False][len(values) - 7 :]


def _make_repeat_prefix(buffer: bytearray, begin: int, end: int) -> bytes:
    """Return how an event begins that repeats the total of this line; nothing where that cannot be said."""
    find = buffer.find
    if buffer[begin + 14] == _U:
        at = find(b'"thread_token_usage":{', begin, end) + 22
        if at < 22:
            return b""
    elif buffer.startswith(_TOLD_AGAIN, begin):
        at = begin + _TOLD_AGAIN_LENGTH
    else:
        at = find(b'"total_token_usage":{', begin, end) + 21
        if at < 21:
            return b""
    close = find(b"}", at, end)
    return _TOLD_AGAIN + buffer[at : close + 1] if close >= 0 else b""


def parent_in(first_line: bytes) -> str | None:
    """Return the session that a rollout with this first line continues, None for one that continues none."""
    try:
        line = DECODER.quickly(first_line)
    except UNFIT:
        line = next((struct_of(Line, record) for record in objects(first_line)[0]), Line())
    if line.type != "session_meta" or line.payload is None:
        return None
    return parent_of(line.payload)


def _vector(usage: Usage) -> Vector:
    return (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens, usage.reasoning_output_tokens)


def _difference(total: Vector, last: Vector | None) -> Usage:
    """Return what a call took where only totals are told; totals that fell have begun anew."""
    before = last if last is not None and all(new >= old for new, old in zip(total, last, strict=True)) else (0,) * 4
    fresh, cached, output, reasoning = (new - old for new, old in zip(total, before, strict=True))
    return Usage(fresh, cached, 0, output, reasoning)

"""One API call of a CLI as the ledger counts it, and how several lines about the same call become one. Pure.

Merging is a join: the greatest of each token count, the earliest instant. Lines may therefore come in any order, in any
pieces and any number of times, and the sums are the same. Only whom a call that several sessions tell of is booked to
may depend on the order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple, Protocol

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.text.json_values import count_of
from oulipoly_engine.records import Record, field

_DECODER = json.JSONDecoder()
_PRIME = (1 << 61) - 1
FIXED = 24  # characters of `2026-11-20T12:00:00.000Z`, the form of both CLIs


class Place(NamedTuple):
    """Where calls belong; many calls share one."""

    account: str
    cli: str  # claude, codex
    session: str
    project: str  # the working directory; empty: not told
    model: str  # as the CLI names it; empty: not told
    is_sidechain: bool  # a sub-agent's


class Tokens(NamedTuple):
    """Token counts of a call, or sums of them; `input` is what no cache served."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0  # of every lifetime
    cache_write_1h: int = 0  # the part of it that lives for an hour
    reasoning: int = 0  # the part of output that was thought

    @property
    def total(self) -> int:
        """Return every token once."""
        return self.input + self.output + self.cache_read + self.cache_write


class Damage(NamedTuple):
    """A line that may tell of a call and cannot be read."""

    offset: int  # of its first byte in the file
    length: int
    what: str


Counts = tuple[int, int, int, int, int, int]  # the fields of Tokens
# Instant in ms since 1970, place, counts, and the instant's text where texts compare as instants do. A plain tuple:
# there are 100,000 a GB.
Entry = tuple[int, Place, Counts, str | None]


class FamilyUnknown(Exception):
    """A fork is read before the session that it forked from can be: to be tried again."""


class Reader(Protocol):
    """Reads the lines of one account's transcripts, file after file."""

    @property
    def state(self) -> str | None:
        """Return what a later pass has to know of the file, to go on where this one stopped."""

    def begin(self, state: str | None, stem: str, stand_in_ms: int) -> None:
        """Begin a file, or go on with it. stand_in_ms: the instant of calls that tell none."""

    def take(self, buffer: bytearray, begin: int, end: int, offset: int) -> None:
        """Read whole lines; offset: the place in the file of the byte at `begin`."""


class Found(Record, frozen=False):
    """What has been read since the last time it was stored."""

    calls: dict[str, Entry] = field(default_factory=dict)  # by key
    damaged: list[Damage] = field(default_factory=list)

    def add(self, key: str, entry: Entry) -> None:
        """Take one line's account of a call."""
        known = self.calls.get(key)
        self.calls[key] = entry if known is None else merge_entries(known, entry)


def merge_entries(one: Entry, other: Entry) -> Entry:
    """Return what two lines say together of one call.

    The main session's line names the place before a sub-agent's, one that knows the model before one that does
    not, then the earlier one, then the first that came: resumed and forked sessions repeat calls of the session that
    made them.
    """
    is_named_by_other = (rank(other[1]), other[0]) < (rank(one[1]), one[0])
    first = other if other[0] < one[0] else one
    return (first[0], other[1] if is_named_by_other else one[1], greatest(one[2], other[2]), first[3])


def rank(place: Place) -> int:
    """Return how little a place is fit to name a call that several are told for, 0 to 3."""
    return 2 * place.is_sidechain + (not place.model)


def greatest(one: Counts, other: Counts) -> Counts:
    """Return the greater of each count."""
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return (
        a if a > g else g,
        b if b > h else h,
        c if c > i else i,
        d if d > j else j,
        e if e > k else k,
        f if f > m else m,
    )


def sane(counts: Counts) -> Counts:
    """Return counts without those that are damage."""
    a, b, c, d, e, f = map(count_of, counts)
    return a, b, c, d, e, f


def is_fixed(text: str) -> bool:
    """Tell whether an instant has the form that both CLIs write, in which instants compare as texts."""
    return len(text) == FIXED and text[23] == "Z"


def call_id(key: str) -> int:
    """Return the number under which a call is stored: that of its key's bytes, modulo a prime.

    61 bits, so that two of a million calls are never one; a digest's would be as good and takes three times as long.
    """
    try:
        name = key.encode()
    except UnicodeEncodeError:  # half a character
        name = key.encode("utf-8", "surrogatepass")
    return int.from_bytes(name, "little") % _PRIME


def place_id(place: Place) -> int:
    """Return the number under which a place is stored; its last two bits are its rank."""
    text = "\0".join(place[:5])
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 3 << 2 | rank(place)


def storable(text: str) -> str:
    """Return a text that SQLite can hold: half a character becomes its escape."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class Instants:
    """Entries instants into milliseconds since 1970; the minutes that it has seen cost it little."""

    def __init__(self) -> None:
        self._minutes: dict[str, int] = {}

    def ms(self, text: str) -> int | None:
        """Return the milliseconds, None for what is not an instant."""
        minute = self._minutes.get(text[:16])
        if minute is not None and len(text) == FIXED and text[23] == "Z":
            digits = text[17:19] + text[20:23]
            return minute + int(digits) if digits.isdecimal() else None
        try:
            instant = from_text(text)
            found = round(instant.timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
        if is_fixed(text):
            if len(self._minutes) > 100_000:
                self._minutes.clear()
            self._minutes[text[:16]] = found - instant.second * 1000 - instant.microsecond // 1000
        return found


def objects(line: bytes) -> tuple[list[Mapping[str, object]], bool]:
    """Read what JSON objects a bad line holds, and tell whether some of it was no JSON.

    Bad UTF-8, a byte order mark and runs of NUL are no damage. A CLI that was killed in mid-line goes on behind the
    half one, so an object may begin in the middle.
    """
    text = line.decode("utf-8", "replace").strip("\ufeff\0 \t\r\n")
    found: list[Mapping[str, object]] = []
    is_damaged = False
    at = 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            found.append(value)
        else:
            is_damaged = True
            at = min(_starts(text, at + 1), default=len(text))
        while at < len(text) and text[at] in "\0 \t\r\n":
            at += 1
    return found, is_damaged


def _starts(text: str, begin: int) -> Iterator[int]:
    """Find where a CLI's record may begin: their first keys are few."""
    for head in ('{"parentUuid":', '{"timestamp":"', '{"type":"', '{"isSidechain":'):
        at = text.find(head, begin)
        if at >= 0:
            yield at


def salvage_objects(line: bytes, damage: Callable[[str], Damage], found: Found) -> Iterator[Mapping[str, object]]:
    """Yield a bad line's objects and note its damage."""
    records, is_damaged = objects(line)
    if is_damaged:
        found.damaged.append(damage("not a JSON object" if not records else "partly not JSON"))
    yield from records

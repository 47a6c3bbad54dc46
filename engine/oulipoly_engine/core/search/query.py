"""The language in which sessions are searched: words, phrases, `-not`, `prefix*`, and fields. Pure.

`reset "burn rate" -draft foreca* account:claude* date:<7d is:pinned`
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Literal, get_args

from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record

Midnight = Callable[[datetime], datetime]  # gives a naive local time its zone

DATE_FORMS = "2026-11-01, 2026-11, 2026-11-01..2026-11-20, 2026-11-01.., <7d, >30d, today, yesterday"
SHORTEST_PREFIX = 3
_LONGEST = 2_000  # characters of a query; its pieces become one expression of the index
_MOST_TERMS = 64
_NAMED = re.compile(r"(?P<name>[A-Za-z][A-Za-z_-]{0,30}):(?P<value>.*)", re.DOTALL)
_NO_VALUES = ("/", "\\", ":")  # what follows the name in an address, a Windows path and a name of C++
_AGE = re.compile(r"(?P<sign>[<>])(?P<number>\d{1,5})(?P<unit>mo|[hdwy])", re.ASCII)
_DAY = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?", re.ASCII)
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(days=7)} | {
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}


class FieldName(StrEnum):
    """The fields that compare a text."""

    ACCOUNT = "account"
    CLI = "cli"
    MODEL = "model"
    CWD = "cwd"
    ROLE = "role"
    SESSION = "session"


_FIELDS = (*FieldName, "date", "is")
SessionFlag = Literal["pinned", "sidechain", "at-risk", "failed", "live", "waiting", "work"]
_FLAGS: tuple[str, ...] = get_args(SessionFlag)
_LIST_FLAGS = ("at-risk", "failed", "live", "waiting", "work")  # only the list of sessions can tell them
AT_RISK = timedelta(days=7)  # a deletion by its CLI that near, of a transcript that nobody keeps


class Term(Record):
    """A word or a phrase that the text must hold, or must not."""

    text: str
    is_prefix: bool = False  # its last word is the beginning of one
    is_negated: bool = False


class Field(Record):
    """A field with the values of which one must fit, or none may."""

    name: FieldName
    values: tuple[str, ...]  # lower case; `*` stands for anything in them
    is_negated: bool = False


class Query(Record):
    """What to look for; an empty one fits everything."""

    terms: tuple[Term, ...] = ()
    fields: tuple[Field, ...] = ()
    since: datetime | None = None
    until: datetime | None = None  # exclusive
    pinned: bool | None = None
    sidechain: bool | None = None
    at_risk: bool | None = None
    failed: bool | None = None  # how a run ended; of a session its last one
    asked_at: datetime | None = None  # where `at_risk` is told: what counts is how near a deletion is then
    live: bool | None = None  # its process, or its terminal, lives
    waiting: bool | None = None  # for the answer of a person
    work: bool | None = None  # it works by itself

    @property
    def flags(self) -> Mapping[str, bool]:
        """Return the flags that it asks for or refuses, by their names as they are typed."""
        values = {name: getattr(self, name.replace("-", "_")) for name in _FLAGS}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def list_flags(self) -> tuple[str, ...]:
        """Return the flags of it that only the list of sessions can tell."""
        return tuple(name for name in self.flags if name in _LIST_FLAGS)

    def of(self, *names: FieldName) -> tuple[Field, ...]:
        """Return the fields of some names."""
        return tuple(field for field in self.fields if field.name in names)


class _Dates(Record, frozen=False):
    since: datetime | None = None
    until: datetime | None = None

    def narrow(self, since: datetime | None, until: datetime | None) -> None:
        if since is not None:
            self.since = since if self.since is None else max(self.since, since)
        if until is not None:
            self.until = until if self.until is None else min(self.until, until)


class _Piece(Record):
    """A part of the query as it was typed."""

    text: str  # without quotes; of a field its value
    name: str | None = None  # of a field, as typed
    is_negated: bool = False
    is_prefix: bool = False


def parse(text: str, now: datetime, midnight: Midnight) -> Query:
    """Read a query.

    Several fields of one name widen each other (`account:a account:b`, or `account:a,b`); dates narrow each other.
    Raises UsageInvalid, naming the piece and the way out.
    """
    if len(text) > _LONGEST:
        raise UsageInvalid(f"the query has {len(text)} characters: {_LONGEST} is the most")
    terms: dict[Term, None] = {}
    values: dict[tuple[FieldName, bool], dict[str, None]] = {}
    flags: dict[str, bool] = {}
    dates = _Dates()
    for piece in _pieces(text):
        if piece.name is None:
            if has_word(piece.text):
                _refuse_short(piece)
                terms[Term(piece.text, piece.is_prefix, piece.is_negated)] = None
            continue
        name = _field(piece)
        if name == "date":
            dates.narrow(*_dates(piece, now, midnight))
        elif name == "is":
            _set_flag(flags, piece)
        else:
            values.setdefault((FieldName(name), piece.is_negated), {}).update(dict.fromkeys(_values(piece)))
    if len(terms) > _MOST_TERMS:
        raise UsageInvalid(f"the query has {len(terms)} words and phrases: {_MOST_TERMS} are the most")
    if not terms and not values and not flags and dates == _Dates() and text.strip():
        raise UsageInvalid(f"{text.strip()[:60]!r} holds no word to search for: letters and digits are what is found")
    fields = tuple(Field(name, tuple(told), negated) for (name, negated), told in values.items())
    return Query(
        tuple(terms),
        fields,
        dates.since,
        dates.until,
        flags.get("pinned"),
        flags.get("sidechain"),
        flags.get("at-risk"),
        flags.get("failed"),
        now if "at-risk" in flags else None,
        flags.get("live"),
        flags.get("waiting"),
        flags.get("work"),
    )


def has_word(text: str) -> bool:
    """Tell whether a text holds anything that the index keeps: a letter, a digit, or a sign of a private alphabet."""
    return any(character.isalnum() or unicodedata.category(character) == "Co" for character in text)


def pattern(value: str) -> re.Pattern[str]:
    """Return what a field's value means as a pattern over the whole of a lower-case text; `*` stands for anything."""
    return re.compile(".*".join(re.escape(part) for part in value.split("*")), re.DOTALL)


def _pieces(text: str) -> list[_Piece]:
    found = []
    place = 0
    while place < len(text):
        if text[place].isspace() or text[place] == "\0":
            place += 1
            continue
        is_negated = text[place] == "-" and place + 1 < len(text) and not text[place + 1].isspace()
        piece, place = _piece(text, place + is_negated, is_negated=is_negated)
        found.append(piece)
    return found


def _piece(text: str, place: int, *, is_negated: bool) -> tuple[_Piece, int]:
    if text[place] == '"':
        phrase, place = _read_quoted(text, place)
        is_prefix = text[place : place + 1] == "*"
        return _Piece(phrase, None, is_negated, is_prefix), place + is_prefix
    end = place
    while end < len(text) and not text[end].isspace() and text[end] != '"':
        end += 1
    word = text[place:end]
    named = _NAMED.fullmatch(word)
    if named is None or (named["name"].lower() not in _FIELDS and named["value"].startswith(_NO_VALUES)):
        return _Piece(word.rstrip("*"), None, is_negated, word.endswith("*")), end
    value = named["value"]
    if text[end : end + 1] == '"' and not value:
        value, end = _read_quoted(text, end)
    return _Piece(value, named["name"], is_negated), end


def _read_quoted(text: str, place: int) -> tuple[str, int]:
    """Return what stands in the quotes that open here and the place behind them; unclosed ones reach to the end."""
    end = text.find('"', place + 1)
    return (text[place + 1 :], len(text)) if end < 0 else (text[place + 1 : end], end + 1)


def _field(piece: _Piece) -> str:
    name = (piece.name or "").lower()
    if name not in _FIELDS:
        import difflib  # noqa: PLC0415 - only an error needs it

        near = difflib.get_close_matches(name, _FIELDS, n=1)
        hint = f"did you mean {near[0]}:?" if near else f"the fields are {', '.join(_FIELDS)}."
        message = f'there is no field {piece.name}: {hint} To find that text itself, quote it: "{piece.name}:..."'
        raise UsageInvalid(message)
    if not piece.text.strip():
        raise UsageInvalid(f"{name}: stands without a value: write {name}:VALUE, with no space between")
    return name


def _refuse_short(piece: _Piece) -> None:
    """Refuse the beginning of a word that begins too many: the index would have to put all of their places together.

    Two letters take 300 ms among a million entries, three take 3. Scripts without spaces hold more in a sign.
    """
    word = piece.text.split()[-1]
    if piece.is_prefix and len(word) < SHORTEST_PREFIX and word.isascii():
        message = f"{word}* begins too many words: give {SHORTEST_PREFIX} letters before the star, or the whole word"
        raise UsageInvalid(message)


def _values(piece: _Piece) -> list[str]:
    return [part.strip().lower() for part in piece.text.split(",") if part.strip()] or [piece.text.lower()]


def _set_flag(flags: dict[str, bool], piece: _Piece) -> None:
    flag = piece.text.lower()
    if flag not in _FLAGS:
        raise UsageInvalid(f"is:{piece.text[:40]} is not known: is:{' or is:'.join(_FLAGS)}")
    if flags.setdefault(flag, not piece.is_negated) is piece.is_negated:
        raise UsageInvalid(f"is:{flag} is asked for and refused at once")


def _dates(piece: _Piece, now: datetime, midnight: Midnight) -> tuple[datetime | None, datetime | None]:
    if piece.is_negated:
        message = f"-date:{piece.text[:40]} is not possible: turn it round, as in date:..2026-11-01 or date:>7d"
        raise UsageInvalid(message)
    text = piece.text.lower()
    try:
        return _span(text, now, midnight)
    except (ValueError, OverflowError) as error:
        raise UsageInvalid(f"date:{piece.text[:40]} is not a date ({error}): {DATE_FORMS}") from None


def _span(text: str, now: datetime, midnight: Midnight) -> tuple[datetime | None, datetime | None]:
    aged = _AGE.fullmatch(text)
    if aged is not None:
        limit = now - int(aged["number"]) * _UNITS[aged["unit"]]
        return (limit, None) if aged["sign"] == "<" else (None, limit)
    if ".." in text:
        first, _, last = text.partition("..")
        if not first and not last:
            raise ValueError("neither a first nor a last day")
        since = _day(first, now, midnight)[0] if first else None
        until = _day(last, now, midnight)[1] if last else None
        if since is not None and until is not None and since >= until:
            raise ValueError("it ends before it begins")
        return since, until
    return _day(text, now, midnight)


def _day(text: str, now: datetime, midnight: Midnight) -> tuple[datetime, datetime]:
    """Return the first instant of a day, a month or a year and the first one after it."""
    first, after = _days(text, now.date())
    return midnight(datetime.combine(first, time())), midnight(datetime.combine(after, time()))


def _days(text: str, today: date) -> tuple[date, date]:
    named: Mapping[str, int] = {"today": 0, "yesterday": 1}
    if text in named:
        first = today - timedelta(days=named[text])
        return first, first + timedelta(days=1)
    found = _DAY.fullmatch(text)
    if found is None:
        raise ValueError("not understood")
    year, month, day = int(found["year"]), int(found["month"] or 1), int(found["day"] or 1)
    first = date(year, month, day)
    if found["day"] is not None:
        return first, first + timedelta(days=1)
    if found["month"] is not None:
        return first, date(year + month // 12, month % 12 + 1, 1)
    return first, date(year + 1, 1, 1)

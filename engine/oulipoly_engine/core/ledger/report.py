"""What the ledger's calls come to, by day, session, model, account, project or window. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

from oulipoly_engine.core.ledger.calls import Place, Tokens
from oulipoly_engine.core.ledger.prices import Rate, rate_at
from oulipoly_engine.core.quota.readings import duration_label
from oulipoly_engine.core.quota.windows import Window
from oulipoly_engine.records import Record

STRETCH_MS = 900_000  # every zone's midnight falls on a quarter of an hour
_LENGTHS = {duration_label(seconds): timedelta(seconds=seconds) for seconds in (18_000, 86_400, 604_800, 2_592_000)}
_ROLLING = ("5h-burst", "weekly")  # of accounts whose windows were never read


NOTHING = Tokens()


class Grouping(StrEnum):
    """What a report has a row for each of."""

    DAY = "day"
    SESSION = "session"
    MODEL = "model"
    ACCOUNT = "account"
    PROJECT = "project"
    WINDOW = "window"


COLUMNS: Mapping[Grouping, tuple[str, ...]] = {
    Grouping.DAY: ("day",),
    Grouping.SESSION: ("session", "account", "project"),
    Grouping.MODEL: ("model", "cli"),
    Grouping.ACCOUNT: ("account", "cli"),
    Grouping.PROJECT: ("project",),
    Grouping.WINDOW: ("account", "window", "since", "source"),
}


class Share(Record):
    """Calls of one place within one stretch of time whose input exceeds the same thresholds of prices."""

    place: Place
    begin_ms: int
    above: int  # the greatest threshold that their input exceeds
    calls: int
    tokens: Tokens


class Line(Record):
    """One row of a report."""

    keys: tuple[str, ...]  # as COLUMNS names them
    calls: int = 0
    tokens: Tokens = NOTHING
    value: float = 0.0  # USD, of the calls whose price is known
    unpriced: int = 0  # calls whose price is not

    def plus(self, calls: int, tokens: Tokens, value: float | None) -> Line:
        """Return the row with more calls in it; value: None, unknown."""
        return Line(
            self.keys,
            self.calls + calls,
            Tokens(*(one + other for one, other in zip(self.tokens, tokens, strict=True))),
            self.value + (value or 0.0),
            self.unpriced + (calls if value is None else 0),
        )


class Stretch(Record):
    """One window's present cycle, or the time of its length up to now where no cycle is known."""

    account: str
    label: str
    since: datetime
    is_official: bool  # its reset is what the vendor told

    @property
    def source(self) -> str:
        """Return where the window's begin is known from."""
        return "official" if self.is_official else "rolling"


def lines(
    shares: Iterable[Share], by: Grouping, rates: Mapping[str, Sequence[Rate]], zone: tzinfo | None
) -> tuple[Line, ...]:
    """Sum shares into rows: days and windows in their order, the rest by what they cost, then by tokens."""
    found: dict[tuple[str, ...], Line] = {}
    keys_of = _keys(by, zone)
    for share in shares:
        keys = keys_of(share)
        line = found.get(keys) or Line(keys)
        found[keys] = line.plus(share.calls, share.tokens, value_of(share, rates))
    if by is Grouping.DAY:
        return tuple(found[keys] for keys in sorted(found))
    return tuple(sorted(found.values(), key=lambda line: (-line.value, -line.tokens.total, line.keys)))


def total(found: Iterable[Line]) -> Line:
    """Return the sum of rows that share no call."""
    everything = Line(())
    for line in found:
        priced = line.calls - line.unpriced
        everything = everything.plus(priced, line.tokens, line.value).plus(line.unpriced, Tokens(), None)
    return everything


def value_of(share: Share, rates: Mapping[str, Sequence[Rate]]) -> float | None:
    """Return what calls cost in USD; None if nobody says."""
    rate = rate_at(rates.get(share.place.model, ()), share.begin_ms, share.above)
    return None if rate is None else rate.value(share.tokens)


def stretches(account: str, windows: Sequence[Window], now: datetime) -> tuple[Stretch, ...]:
    """Return the windows of an account that run now; one that was never read gets 5 hours and 7 days up to now."""
    found = []
    for window in windows:
        length = _length(window.label)
        if length is not None and window.resets_at - length <= now < window.resets_at:
            found.append(Stretch(account, window.name, window.resets_at - length, is_official=True))
    known = {stretch.label for stretch in found}
    found += [
        Stretch(account, label, now - _LENGTHS[label], is_official=False) for label in _ROLLING if label not in known
    ]
    return tuple(found)


def _length(label: str | None) -> timedelta | None:
    """Return the length of a window by its label, that of one model (`weekly (2)`, `weekly-opus`) included."""
    return next((length for known, length in _LENGTHS.items() if label is not None and label.startswith(known)), None)


def _keys(by: Grouping, zone: tzinfo | None) -> Callable[[Share], tuple[str, ...]]:
    days: dict[int, str] = {}

    def day(share: Share) -> tuple[str, ...]:
        found = days.get(share.begin_ms)
        if found is None:
            try:
                found = f"{datetime.fromtimestamp(share.begin_ms / 1000, zone):%Y-%m-%d}"
            except (ValueError, OverflowError):  # stored before such instants were refused
                found = "unknown"
            days[share.begin_ms] = found
        return (found,)

    match by:
        case Grouping.DAY:
            return day
        case Grouping.SESSION:
            return lambda share: (share.place.session, share.place.account, share.place.project)
        case Grouping.MODEL:
            return lambda share: (share.place.model or "unknown", share.place.cli)
        case Grouping.PROJECT:
            return lambda share: (share.place.project or "unknown",)
        case Grouping.ACCOUNT | Grouping.WINDOW:
            return lambda share: (share.place.account, share.place.cli)

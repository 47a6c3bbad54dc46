"""Answer what accounts have used and what it would have cost, out of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo

from oulipoly_engine.adapters import price_list
from oulipoly_engine.core.ledger import report
from oulipoly_engine.core.ledger.prices import Rate
from oulipoly_engine.core.ledger.report import Grouping, Line, Share
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.ledger import calls, prices
from oulipoly_engine.store.quota import quotas

_EVER_MS = 1 << 60


class Question(Record):
    """What is asked."""

    by: Grouping
    since: datetime | None = None  # None: from the first call on
    until: datetime | None = None  # not included; None: to the last
    account: str | None = None
    model: str | None = None  # as the CLI names it
    cli: str | None = None

    def takes(self, share: Share) -> bool:
        """Tell whether calls are asked for."""
        place = share.place
        wanted = ((self.account, place.account), (self.model, place.model or "unknown"), (self.cli, place.cli))
        return all(one is None or one == other for one, other in wanted)


def rates(store: Store, own: Mapping[str, Rate], *, keeps: bool = True) -> Mapping[str, Sequence[Rate]]:
    """Return the rates of all models that were called: the user's own, else the price list's.

    The list is loaded only for models, or by versions of it, that were never asked for. keeps: what it says is stored.
    """
    named = price_list.name()
    found: dict[str, Sequence[Rate]] = dict(prices.find_rates(store, named))
    missing = [model for model in calls.models(store) if model and model not in found and model not in own]
    if missing:
        new = price_list.rates(missing)
        if keeps:
            prices.keep(store, named, new)
        found.update(new)
    return {**found, **{model: (rate,) for model, rate in own.items()}}


def answer(
    store: Store, question: Question, known: Mapping[str, Sequence[Rate]], now: datetime, zone: tzinfo | None
) -> tuple[Line, ...]:
    """Return the report's rows. zone: whose days count; None: this machine's."""
    if question.by is Grouping.WINDOW:
        return tuple(_windows(store, question, known, now, zone))
    found = shares(store, known, question.since, question.until)
    return report.lines(filter(question.takes, found), question.by, known, zone)


def shares(
    store: Store, known: Mapping[str, Sequence[Rate]], since: datetime | None, until: datetime | None
) -> Iterable[Share]:
    """Yield the calls of all accounts between two instants. until: not included."""
    return _shares(store, known, _ms(since, 0), _ms(until, _EVER_MS))


def _windows(
    store: Store, question: Question, known: Mapping[str, Sequence[Rate]], now: datetime, zone: tzinfo | None
) -> Iterator[Line]:
    accounts = calls.accounts(store)
    states = quotas.states(store, accounts)
    for account in accounts:
        for stretch in report.stretches(account, states[account].windows, now):
            found = _shares(store, known, _ms(stretch.since, 0), _EVER_MS)
            since = stretch.since.astimezone(zone).isoformat(timespec="minutes")
            line = Line((account, stretch.label, since, stretch.source))
            for share in found:
                if share.place.account == account and question.takes(share):
                    line = line.plus(share.calls, share.tokens, report.value_of(share, known))
            if line.calls or question.account == account:
                yield line


def _shares(store: Store, known: Mapping[str, Sequence[Rate]], since_ms: int, until_ms: int) -> Iterable[Share]:
    thresholds = sorted({rate.above_input for rates in known.values() for rate in rates if rate.above_input})
    above = (0, *thresholds)
    for share in calls.shares(store, since_ms, until_ms, report.STRETCH_MS, thresholds):
        yield Share(share.place, share.begin_ms, above[share.tier], share.calls, share.tokens)


def _ms(instant: datetime | None, default: int) -> int:
    return default if instant is None else round(instant.timestamp() * 1000)

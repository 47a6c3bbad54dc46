"""Who burned an account's quota within a range of time: its sessions, projects and models, out of the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from oulipoly_engine.adapters import price_list
from oulipoly_engine.config.prices_file import read_prices
from oulipoly_engine.core.ledger.prices import Rate
from oulipoly_engine.core.ledger.report import Grouping, Line, Share, lines, total
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record, field, replace
from oulipoly_engine.service.ledger.report import rates, shares
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.ledger import prices
from oulipoly_engine.store.sessions import sessions

GROUPINGS = (Grouping.SESSION, Grouping.PROJECT, Grouping.MODEL)


class Consumer(Record):
    """One session, project or model with its part of what was burned."""

    key: str  # the session's id, the folder or the model's name
    line: Line
    share: float  # 0..1 of the account's calls in the range, by API value, or by tokens where a price is unknown
    title: str = ""  # of a session


class TopConsumers(Record):
    """Who burned an account's quota in a range of time, the greatest first."""

    account: str
    since: datetime
    until: datetime
    whole: Line = field(default_factory=lambda: Line(()))
    by: Mapping[Grouping, tuple[Consumer, ...]] = field(default_factory=dict)

    @property
    def is_by_value(self) -> bool:
        """Tell whether parts are of the API value; else a price is unknown and they are of the tokens."""
        return self.whole.value > 0 and not self.whole.unpriced


def burners(
    store: Store, paths: Paths, account: str, since: datetime, until: datetime, *, may_write: bool = True
) -> TopConsumers:
    """Return who burned what between two instants, as far as the ledger has followed the transcripts.

    may_write: prices of models that are new may be kept in the store. Raises StoreUnusable.
    """
    own = read_prices(paths).value
    known: Mapping[str, Sequence[Rate]] = rates(store, own) if may_write else _read_kept_rates(store, own)
    found = [share for share in shares(store, known, since, until) if share.place.account == account]
    whole = replace(total(lines(found, Grouping.ACCOUNT, known, None)), keys=(account,))
    empty = TopConsumers(account, since, until, whole)
    return replace(empty, by={one: _burners(store, found, one, known, empty) for one in GROUPINGS})


def _burners(
    store: Store, found: Sequence[Share], by: Grouping, known: Mapping[str, Sequence[Rate]], of: TopConsumers
) -> tuple[Consumer, ...]:
    everything = _weight(of.whole, of)
    merged: dict[str, Line] = {}
    for line in lines(found, by, known, None):
        key = line.keys[0] or "unknown"
        before = merged.get(key)
        merged[key] = line if before is None else total((before, line))
    titles = sessions.titles(store, of.account, tuple(merged)) if by is Grouping.SESSION else {}
    rows = [
        Consumer(key, line, _weight(line, of) / everything if everything else 0.0, titles.get(key, ""))
        for key, line in merged.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.share, row.key)))


def _weight(line: Line, of: TopConsumers) -> float:
    return line.value if of.is_by_value else float(line.tokens.total)


def _read_kept_rates(store: Store, own: Mapping[str, Rate]) -> Mapping[str, Sequence[Rate]]:
    return {**prices.find_rates(store, price_list.name()), **{model: (rate,) for model, rate in own.items()}}

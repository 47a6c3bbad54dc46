"""Transcripts that their CLI deletes soon and that nobody has kept: counted for every snapshot, so read sparingly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from oulipoly_engine.adapters.transcript_head import look_at
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.accounts.configuration import Configured
from oulipoly_engine.service.archive.archive import SOON
from oulipoly_engine.service.transcripts.files import Home, homes
from oulipoly_engine.store.archive import expiring as rows
from oulipoly_engine.store.base.db import Store

_LASTS = timedelta(minutes=1)  # files are looked at again after it


class AtRisk(Record):
    """What one account's CLI deletes soon, and no copy is kept of."""

    account: str
    count: int  # of sessions
    chain_id: str  # of the one that goes first
    due: datetime  # from when on that one may be deleted


class RiskWatch(Record, frozen=False):
    """Counts them; for one thread at a time."""

    _known: tuple[tuple[int, int], Configured, datetime, tuple[AtRisk, ...]] | None = None
    _homes: tuple[Home, ...] = field(default=())

    def look(self, store: Store, configured: Configured, home: Path, now: datetime) -> tuple[AtRisk, ...]:
        """Return the accounts with something at risk, the most pressing first. home: what `~` stands for."""
        known, mark = self._known, rows.mark(store)
        is_fresh = known is not None and known[0] == mark and timedelta(0) <= now - known[2] < _LASTS
        if known is not None and is_fresh and known[1] is configured:
            return known[3]
        if known is None or known[1] is not configured:
            self._homes = homes(configured.accounts, configured.scripts, home)
        found = tuple(sorted(_find(store, self._homes, now), key=lambda one: (one.due, one.account)))
        self._known = (mark, configured, now, found)
        return found


def _find(store: Store, known: Iterable[Home], now: datetime) -> Iterator[AtRisk]:
    for home in known:
        period = home.cleanup_after()
        if period is None:
            continue
        ends = sorted(_ends(store, home, period, now))
        if ends:
            yield AtRisk(home.account, len(ends), ends[0][1], ends[0][0])


def _ends(store: Store, home: Home, period: timedelta, now: datetime) -> Iterator[tuple[datetime, str]]:
    """Yield when each transcript may be deleted, and its chain. What was written since, or is gone, is at no risk."""
    oldest_ms = int((now + SOON - period).timestamp() * 1000)
    for chain_id, path in rows.unkept(store, home.account, oldest_ms):
        found = look_at(path)
        if found is not None and found.mtime_ms <= oldest_ms:
            yield datetime.fromtimestamp(found.mtime_ms / 1000, UTC) + period, chain_id

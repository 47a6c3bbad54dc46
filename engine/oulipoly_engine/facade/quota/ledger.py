"""What is asked about the ledger: what accounts have used and what it would have cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from oulipoly_engine.core.ledger.report import Line
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.records import Record
from oulipoly_engine.service.ledger.consumers import Consumer, TopConsumers, burners
from oulipoly_engine.service.ledger.ledger import Updated
from oulipoly_engine.service.ledger.report import Question, answer, rates
from oulipoly_engine.service.ledger.sources import sources
from oulipoly_engine.store.base.db import Store

__all__ = ["Consumer", "Question", "TopConsumers"]

# Told how much of everything is read, both in bytes.
Progress = Callable[[], AbstractContextManager[Callable[[int, int], None]]]


class LedgerReport(Record):
    """An answer out of the ledger, brought up to date first."""

    lines: Sequence[Line]
    updated: Updated | None  # None: nothing can be written now, so no transcript was read
    absent: Mapping[str, str]  # by account, why it has no ledger


class Ledger(Part):
    """The ledger of one user's accounts."""

    def report(self, question: Question, progress: Progress) -> LedgerReport:
        """Bring the ledger up to date, and answer out of it. Raises ConfigInvalid and StoreUnusable."""
        home = self._home
        own = home.checked_files.prices()
        with home.lend_store_to_read() as store:
            updated, absent = self._update(store, progress)
            known = home.write_along(store, lambda: rates(store, own), None) or rates(store, own, keeps=False)
            return LedgerReport(answer(store, question, known, home.now(), None), updated, absent)

    def burners(self, account: str, since: datetime, until: datetime) -> TopConsumers:
        """Return which sessions, projects and models burned an account's quota between two instants."""
        home = self._home
        with home.lend_store_to_read() as store:
            found = home.write_along(store, lambda: burners(store, home.paths, account, since, until), None)
            return found or burners(store, home.paths, account, since, until, may_write=False)

    def _update(self, store: Store, progress: Progress) -> tuple[Updated | None, Mapping[str, str]]:
        home, files = self._home, self._home.checked_files
        folders, absent = sources(files.accounts(), files.scripts(), home.paths.home, inherited_environment())
        with progress() as step:
            updated = home.write_along(store, lambda: home.wiring.ledger(store, folders).update(step), None)
        for note in () if updated is None else updated.notes:
            home.note(f"Warning: {note}")
        return updated, absent

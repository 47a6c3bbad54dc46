"""Storing what the CLIs have written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from oulipoly_engine.errors import AccountUnusable
from oulipoly_engine.facade.base import upkeep
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.facade.sessions.catalogue import Counting, after_scan, count_nothing
from oulipoly_engine.records import Record
from oulipoly_engine.service.transcripts.ingest import IngestResult, Kind
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.transcripts import entries

__all__ = ["IngestResult", "Kind"]

_AFTERWARDS_S = 2.0  # for describing and indexing what was found, and again for copying what no CLI deletes soon
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ScanResult(Record):
    """What a scan has read of one account, and how much is stored of it now."""

    result: IngestResult
    entries: int
    answers_since: int  # entries of the assistant since the last reading of the account's quota
    quota_read_at: datetime | None


class SessionScans(SessionPart):
    """The scans of one user's accounts."""

    def read_new(self) -> int:
        """Read what the CLIs have written since; return how many entries are new. EntriesIngested goes out.

        Copies are kept of what a CLI would delete, as after every scan, unless config.toml says `archive = false`.
        """
        self._home.refuse_if_read_only("read transcripts into the state file")
        scripts = self._home.quiet_files.scripts()
        with self._home.lend_store() as store:
            scanner = self._home.wiring.ingester(store, scripts, self._home.listeners)
            done = scanner.ingest_accounts(tuple(scripts))
            new = upkeep.enter_heard(self._home, store)
            upkeep.keep_after_scan(self._home, store, _AFTERWARDS_S, rescues=True)
        return new + sum(one.new_turns for one in done)

    def read_accounts(
        self, accounts: Sequence[str] = (), *, afresh: bool = False, counting: Counting = count_nothing
    ) -> tuple[ScanResult, ...]:
        """Read accounts' transcripts, all by default, and describe and index what is new.

        afresh: from their beginnings. Raises ConfigInvalid, and AccountUnusable for an account without a turn script.
        """
        home = self._home
        home.refuse_if_read_only("read transcripts into the state file")
        scripts = home.files.scripts()
        for account in accounts:
            if account not in scripts:
                known = ", ".join(scripts) or "none"
                raise AccountUnusable(f"{home.paths.sessions} names no turn script for {account!r}; it has: {known}")
        names = tuple(accounts or scripts)
        with home.lend_store() as store:
            scanner = home.wiring.ingester(store, scripts, home.listeners)
            with counting("reading sessions", len(names)) as steps:
                done = scanner.ingest_accounts(names, steps.step, afresh=afresh)
            upkeep.enter_heard(home, store, afresh=True)
            after_scan(home, store, _AFTERWARDS_S, counting)
            return tuple(_make_scan_result(store, one) for one in done)

    def keep_copies(self) -> None:
        """Keep copies of transcripts, as after every scan, unless config.toml says `archive = false`."""
        self._home.refuse_if_read_only("archive")
        with self._home.lend_store() as store:
            upkeep.keep_after_scan(self._home, store, _AFTERWARDS_S, rescues=True)


def _make_scan_result(store: Store, result: IngestResult) -> ScanResult:
    read_at = quotas.states(store, (result.account,))[result.account].refreshed_at
    since = entries.assistant_turns_since(store, result.account, read_at or _EPOCH)
    return ScanResult(result, entries.of_account(store, result.account), since, read_at)

"""What is ordered about the state file as a whole: starting afresh and filling in."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.records import Record

# ruff: noqa: PLC0415 - each is seldom ordered


class Backfilled(Record):
    """What was filled in."""

    chains: int
    compactions: int


class StateFile(Part):
    """One user's state file."""

    def rebuild(self) -> Path:
        """Set the state file aside, start a fresh one, and return the folder of the backup."""
        from oulipoly_engine.store.base.rebuild import rebuild

        self._home.refuse_if_read_only("rebuild the state file")
        return rebuild(self._home.paths.state_db, self._home.paths.data / "state-backups", self._home.now())

    def backfill(self) -> Backfilled:
        """Fill in what older versions have not stored."""
        from oulipoly_engine.store.sessions import chains
        from oulipoly_engine.store.transcripts import entries

        self._home.refuse_if_read_only("fill in the state file")
        with self._home.lend_store() as store:
            return Backfilled(chains.backfill(store), entries.backfill_compaction(store))

    def has_records(self) -> bool:
        """Tell whether it has a run or a session; a missing one is not made."""
        from oulipoly_engine.store.runs import activity

        if not self._home.paths.state_db.exists():
            return False
        with self._home.lend_store_to_read() as store:
            return activity.has_records(store)

    def explain(self, error: Exception) -> None:
        """Raise StoreDamaged where what looks like a mistake of ours comes from what lies in the state file."""
        self._home.explain(error)

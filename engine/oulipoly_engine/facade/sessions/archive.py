"""The kept copies of transcripts: what is kept, what is at risk, putting back and pruning."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from oulipoly_engine import stopping
from oulipoly_engine.errors import RunnerError, SessionNotFound, UsageInvalid
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.records import Record
from oulipoly_engine.service.archive.archive import ArchiveStatus, CopyState, Restored
from oulipoly_engine.service.archive.keeper import ArchiveKeeper, KeepResult, PruneResult
from oulipoly_engine.service.sessions.locate import check_id, find_typed
from oulipoly_engine.store.archive import copies
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions.sessions import list_sessions
from oulipoly_engine.store.transcripts import entries

__all__ = ["ArchiveStatus", "CopyState", "KeepResult", "PruneResult"]

_PATIENCE_S = 20.0  # for another process that archives


class ArchiveList(Record):
    """What is kept."""

    statuses: tuple[ArchiveStatus, ...]
    stored_bytes: int  # on disk
    folder: Path


class PutBack(Record):
    """The files of a session that are where its CLI had them again, or where they were wanted."""

    account: str
    session_id: str
    files: tuple[Restored, ...]

    @property
    def sentence(self) -> str:
        """Say what was done."""
        return f"{len(self.files)} file{'s' * (len(self.files) != 1)} put back: {self.files[0].path}"


class SessionArchive(SessionPart):
    """The kept copies of one user's sessions."""

    def keep(self, chain_ids: Sequence[str]) -> str:
        """Keep copies of what the sessions' accounts have written; return what came of it, in a sentence."""
        self._home.refuse_if_read_only("archive")
        with self._home.lend_store() as store:
            parts = [one.active for one in list_sessions(store, chain_ids)]
            keeper = self._keeper(store)
            _run_keeper(keeper, {part.account for part in parts})
            kept = sum(keeper.archive.find_copy(part.account, part.session_id) is not None for part in parts)
            live = sum(entries.is_only_live(store, part.account, part.session_id) for part in parts)
        self._tell()
        if live == len(parts) == 1:
            return "Its messages are kept in the state file: its CLI has no transcript to copy"
        if kept == len(parts) == 1:
            return "The session is in the archive"
        beside = f", and {live} in the state file, as they have no transcript" if live else ""
        return f"{kept} of {len(parts)} sessions are in the archive{beside}"

    def keep_all(self) -> KeepResult:
        """Keep copies of what every account has written."""
        self._home.refuse_if_read_only("archive")
        with self._home.lend_store() as store:
            done = _run_keeper(self._keeper(store), None)
        self._tell()
        stopping.check()
        return done

    def statuses(self) -> ArchiveList:
        """Return what is kept."""
        with self._home.lend_store_to_read() as store:
            archive = self._archive(store)
            return ArchiveList(tuple(archive.statuses()), copies.count_stored_bytes(store), archive.folder)

    def at_risk(self, days: float) -> tuple[ArchiveStatus, ...]:
        """Return what CLIs may delete within so many days, and whether it is kept."""
        with self._home.lend_store_to_read() as store:
            return self._archive(store).at_risk(timedelta(days=days))

    def restore(self, text: str, account: str | None = None, to: Path | None = None) -> PutBack:
        """Put a kept copy back where its CLI had it. account: whose; to: put it into this folder instead.

        The archive knows sessions that the state file has forgotten. Raises SessionNotFound, and UsageInvalid where
        several accounts have a copy and none is named.
        """
        self._home.refuse_if_read_only("restore a transcript")
        with self._home.lend_store() as store:
            archive = self._archive(store)
            owner, session_id = self._find_session(store, text, account)
            files = archive.restore(owner, session_id, to)
        self._tell()
        return PutBack(owner, session_id, files)

    def prune(self, *, only_copies: bool) -> PruneResult:
        """Bring the archive within its limit. only_copies: give up what nobody else has too."""
        self._home.refuse_if_read_only("prune the archive")
        with self._home.lend_store() as store:
            return self._keeper(store).prune(only_copies=only_copies, wait_s=_PATIENCE_S)

    def _find_session(self, store: Store, text: str, account: str | None) -> tuple[str, str]:
        """Return account and session of an id."""
        check_id(text)
        holders = copies.holders(store, text.lower())
        if account is not None:
            return account, text.lower()
        if len(holders) == 1:
            return holders[0], text.lower()
        try:
            session = find_typed(store, text, self._home.now())
        except SessionNotFound:
            if holders:
                message = f"several accounts have a copy of {text}: add --account, one of {', '.join(holders)}"
                raise UsageInvalid(message) from None
            raise
        return session.account, session.session_id

    def _keeper(self, store: Store) -> ArchiveKeeper:
        return self._home.wiring.archive_keeper(self._archive(store), self._home.quiet_files.settings())


def _run_keeper(keeper: ArchiveKeeper, accounts: set[str] | None) -> KeepResult:
    done = keeper.keep(accounts, wait_s=_PATIENCE_S)
    if done.is_busy:
        raise RunnerError("another process is archiving right now: try again in a moment")
    if done.problem is not None:
        raise RunnerError(done.problem)
    return done

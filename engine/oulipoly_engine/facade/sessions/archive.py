"""The kept copies of transcripts: what is kept, what is at risk, putting back and pruning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from oulipoly_engine import stopping
from oulipoly_engine.adapters import codex_threads
from oulipoly_engine.adapters.live_owner import codex_home
from oulipoly_engine.adapters.transcript_file import find_status
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.sessions.sessions import Part, Session
from oulipoly_engine.errors import RequestRefused, RunnerError, SessionBusy, SessionNotFound, UsageInvalid
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.records import Record
from oulipoly_engine.service.archive.archive import Archive, ArchiveStatus, CopyState, Restored
from oulipoly_engine.service.archive.keeper import ArchiveKeeper, KeepResult, PruneResult
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.sessions.locate import check_id, find_typed
from oulipoly_engine.service.sessions.owner import refuse_open
from oulipoly_engine.store.archive import copies
from oulipoly_engine.store.archive.copies import KeptCopy
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.store.sessions.sessions import list_sessions
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.store.worktrees import worktrees

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


class Deleted(Record):
    """A session that was deleted, or put back, and its files."""

    chain_id: str
    files: tuple[Path, ...]


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

    def delete(self, text: str) -> Deleted:
        """Keep a session's transcripts in the archive, take it from every list, and remove them from their CLI's home.

        In this order: what is cut off in between has lost nothing, and the same again goes on. Raises SessionNotFound,
        SessionBusy while something has the session open, and RequestRefused where others need it, or a transcript
        cannot be kept.
        """
        self._home.refuse_if_read_only("delete a session")
        with self._session(text, writes=True) as (store, session):
            (listed,) = list_sessions(store, (session.chain_id,))
            self._refuse_used(store, listed)
            keeper = self._keeper(store)
            _run_keeper(keeper, {part.account for part in listed.parts})
            files = [file for part in listed.parts for file in self._kept_files(keeper.archive, part)]
            is_gone = not any(copy.path.exists() for copy in files)  # else it was cut off, and goes on
            if listed.deleted_at is not None and is_gone:
                way = f"`agents session undelete {session.chain_id}` brings it back"
                raise RequestRefused(f"session {session.chain_id} is deleted already: {way}")
            chains.note_deleted(store, session.chain_id, to_text(self._home.now()))
            try:
                for copy in files:
                    _refuse_changed(copy)
                    copy.path.unlink(missing_ok=True)
            except BaseException:
                chains.note_deleted(store, session.chain_id, None)
                raise
        self._tell()
        return Deleted(session.chain_id, tuple(copy.path for copy in files))

    def undelete(self, text: str) -> Deleted:
        """Put a deleted session back into the lists, and its transcripts where they were. Raises as `restore`."""
        self._home.refuse_if_read_only("undelete a session")
        with self._session(text, writes=True) as (store, session):
            (listed,) = list_sessions(store, (session.chain_id,))
            if listed.deleted_at is None:
                raise RequestRefused(f"session {session.chain_id} was not deleted: there is nothing to undo")
            archive = self._archive(store)
            files = [
                file
                for part in {(part.account, part.session_id): part for part in listed.parts}.values()
                if archive.find_copy(part.account, part.session_id) is not None
                for file in archive.restore(part.account, part.session_id)
            ]
            chains.note_deleted(store, session.chain_id, None)
        self._tell()
        return Deleted(session.chain_id, tuple(file.path for file in files))

    def _refuse_used(self, store: Store, session: Session) -> None:
        """Refuse a session that something has open, or that others need."""
        part = session.active
        accounts, _ = self._read_configuration()
        refuse_open(accounts.get(part.account), part.session_id, part.transcript)
        ids = {session.chain_id, *(part.session_id for part in session.parts)}
        for host in hosts.survey(self._home.paths):
            live = live_sessions.read_sessions(store, [host.session_id])
            if live and not ids.isdisjoint({live[0].session_id, live[0].native_id}):
                raise SessionBusy(f"session {session.chain_id} has a process: `agents session close` ends it")
        for chain_id in ids:
            tree = worktrees.find(store, chain_id)
            if tree is not None and tree.state != "removed":
                raise RequestRefused(f"the session works in {tree.path}: `agents worktree remove` removes that first")
        home = None if part.transcript is None else codex_home(Path(part.transcript))
        if home is not None and any(True for _ in codex_threads.forks_of(home, part.session_id)):
            raise RequestRefused("sessions were forked from it that hold no copy of it: they need its transcript")

    @staticmethod
    def _kept_files(archive: Archive, part: Part) -> Iterator[KeptCopy]:
        """Yield the copies of what a session's part has on the disk. Raises RequestRefused where one is of before."""
        for copy in archive.parts(part.account, part.session_id):
            _refuse_changed(copy)
            yield copy
        path = part.transcript
        is_kept = path is None or archive.find_copy(part.account, part.session_id) is not None
        if not is_kept and find_status(Path(path or "")) is not None:
            raise RequestRefused(f"{path} cannot be kept: `agents session archive` says why")

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


def _refuse_changed(copy: KeptCopy) -> None:
    status = find_status(copy.path)
    if status is not None and not copy.is_of(status):
        raise RequestRefused(f"{copy.path} has changed since it was kept: try again")


def _run_keeper(keeper: ArchiveKeeper, accounts: set[str] | None) -> KeepResult:
    done = keeper.keep(accounts, wait_s=_PATIENCE_S)
    if done.is_busy:
        raise RunnerError("another process is archiving right now: try again in a moment")
    if done.problem is not None:
        raise RunnerError(done.problem)
    return done

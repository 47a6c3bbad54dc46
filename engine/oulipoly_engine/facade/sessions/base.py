"""What the parts of the facade for sessions share: the state file, the meaning of an id, the accounts' scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.errors import ConfigInvalid, RunnerError, SessionNotFound
from oulipoly_engine.events import SessionsChanged
from oulipoly_engine.facade.base import upkeep
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.service.sessions.locate import Locator, find_session, find_typed

if TYPE_CHECKING:
    from pathlib import Path

    from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
    from oulipoly_engine.paths import Paths
    from oulipoly_engine.service.archive.archive import Archive
    from oulipoly_engine.store.base.db import Store
    from oulipoly_engine.store.live.pasts import Way

PATIENCE_S = 5.0  # with a storage script, where somebody looks on


class SessionPart(Part):
    """A part of what is asked and ordered about sessions.

    Every method blocks and may be called from any thread; it opens and closes this thread's connection.
    """

    @property
    def _copies(self) -> Path:
        """Return the folder of the copies of what was imported."""
        return self._home.paths.data / "session-files"

    @contextmanager
    def _session(self, text: str, *, writes: bool = False) -> Iterator[tuple[Store, ResolvedSession]]:
        """Lend the state file and what a person means by an id or the beginning of one.

        writes: refuse a state file that cannot be written before anything is done. Raises SessionNotFound and
        SessionAmbiguous.
        """
        with self._open_existing(text, writes=writes) as store:
            yield store, self._find(store, text)

    def _find(self, store: Store, text: str) -> ResolvedSession:
        try:
            return find_typed(store, text, self._home.now())
        except SessionNotFound:
            _refuse_unspoken(store, self._home.paths, text)
            raise

    @contextmanager
    def _session_or_fork(self, text: str) -> Iterator[tuple[Store, ResolvedSession, Way | None]]:
        """Lend a session, and the way to where it leaves its origin if that alone has it. Raises as `_session`."""
        from oulipoly_engine.store.live.pasts import find_way  # noqa: PLC0415 - only trees need it

        with self._open_existing(text) as store:
            try:
                session = self._find(store, text)
            except SessionNotFound:  # nothing was said in it yet
                way = find_way(store, text, has_begun=False)
                if way is None:
                    raise
                session = ResolvedSession(way.session_id, "", "", "", self._home.now())
            else:
                way = find_way(store, session.chain_id, has_begun=True)
            yield store, session, way

    @contextmanager
    def _exact_session(self, session_id: str, *, writes: bool = False) -> Iterator[tuple[Store, ResolvedSession]]:
        """Lend the state file and what a full id means, as the contract's commands take it. Raises as `_session`."""
        with self._open_existing(session_id, writes=writes) as store:
            yield store, find_session(store, session_id, self._home.now())

    @contextmanager
    def _open_existing(self, session_id: str, *, writes: bool = False) -> Iterator[Store]:
        """Lend the state file, which nothing about one session ever makes. Raises SessionNotFound."""
        path = self._home.paths.state_db
        if not path.exists():
            message = f"no session has the id {session_id}: there is no state file {path} yet"
            raise SessionNotFound(message, input=session_id)
        with self._home.lend_store() if writes else self._home.lend_store_to_read() as store:
            upkeep.enter_runs(self._home, store)
            yield store

    def _read_configuration(self) -> tuple[Mapping[str, Account], Mapping[str, SessionScripts]]:
        """Return accounts and scripts. Raises RunnerError: the contract has no code for a broken file (exit 1)."""
        files = self._home.quiet_files
        try:
            return files.accounts(), files.scripts()
        except ConfigInvalid as error:
            raise RunnerError(error.message) from error

    def _locator(self) -> Locator:
        """Return what runs the storage scripts. Raises RunnerError."""
        patience = None if self._home.checks_files else PATIENCE_S
        return self._home.wiring.locator(*self._read_configuration(), patience)

    def _archive(self, store: Store) -> Archive:
        """Return the kept copies of transcripts. Raises RunnerError."""
        return self._home.wiring.archive(store, *self._read_configuration())

    def _tell(self) -> None:
        """Tell who listens that a list of sessions would say something else now."""
        self._home.listeners.publish(SessionsChanged(self._home.now()))


def _refuse_unspoken(store: Store, paths: Paths, text: str) -> None:
    """Raise SessionNotFound, with what tells of it, for a live session or a terminal whose CLI has written nothing."""
    from oulipoly_engine.service.sessions.facets import list_unrecorded_terminals  # noqa: PLC0415 - as the next
    from oulipoly_engine.store.live import live_sessions  # noqa: PLC0415 - with the redactor, only where one is missing

    for session in list_unrecorded_terminals(store, paths):
        if session.chain_id.startswith(text):
            way = f"`agents terminal attach {session.chain_id}` shows it"
            raise SessionNotFound(f"nothing was said in terminal {session.chain_id} yet: {way}", input=text)
    sessions = live_sessions.find(store, text)
    if len(sessions) == 1:
        session_id = sessions[0].session_id
        message = f"nothing was said in session {session_id} yet: `agents session status {session_id[:8]}` tells of it"
        raise SessionNotFound(message, input=text)

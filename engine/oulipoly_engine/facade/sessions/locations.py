"""Where a session lies, and the right to change it that another program takes, by full ids as the contract has it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.sessions.resolve import ResolvedSession, choose_model
from oulipoly_engine.errors import ModelUnresolved, StorageUnsupported
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.records import Record
from oulipoly_engine.service.sessions.locate import Location, Locator
from oulipoly_engine.service.sessions.locate import document as location_document

if TYPE_CHECKING:
    from oulipoly_engine.service.sessions.lease import Lease, Release
    from oulipoly_engine.store.archive.copies import KeptCopy
    from oulipoly_engine.store.base.db import Store

__all__ = ["location_document"]


class HeldSession(Record):
    """A session whose lease was taken, and where it lies as far as that is known."""

    session: ResolvedSession
    lease: Lease
    storage_type: StorageType | None  # None: its account has no storage
    transcript: Path | None = None
    workspace: Path | None = None


class SessionLocations(SessionPart):
    """The places and leases of one user's sessions."""

    def locate(self, session_id: str) -> Location:
        """Return where a session lies, whole. Raises SessionNotFound, SessionAmbiguous and StorageUnsupported."""
        with self._exact_session(session_id) as (_, session):
            return self._locator().locate(session)

    def deleted_copy(self, text: str) -> KeptCopy | None:
        """Return the kept copy of a session whose transcript its CLI has deleted; None: it is there, or not kept."""
        from oulipoly_engine.service.reading.source import find_copy_of_deleted  # noqa: PLC0415 - only where something is missing

        with self._session(text) as (store, session):
            return find_copy_of_deleted(store, session)

    def hold(self, session_id: str, ttl_ms: int) -> HeldSession:
        """Take a session's lease: while it lives, nobody else may replace the session. ttl_ms: how long it lives.

        Holding a session does not need its transcript. Raises ModelUnresolved and SessionBusy.
        """
        self._home.refuse_if_read_only("take a lease")
        with self._exact_session(session_id) as (store, session):
            self._require_model(store, session)
            storage = _storage(self._locator(), session)
            lease = self._home.wiring.leases().acquire(session.session_id, session.account, ttl_ms)
        return HeldSession(session, lease, *storage)

    def release(self, session_id: str, token: str) -> Release:
        """Give a session's lease back; doing it twice is not an error."""
        self._home.refuse_if_read_only("give a lease back")
        with self._exact_session(session_id) as (_, session):
            return self._home.wiring.leases().release(session.session_id, token)

    def _require_model(self, store: Store, session: ResolvedSession) -> None:
        """Raise ModelUnresolved when a session of ours has no configured model any more; imported ones have none."""
        from oulipoly_engine.store.sessions import chains  # noqa: PLC0415 - `locate` does without

        home = self._home
        invoked = chains.latest_model(store, session.chain_id)
        choice = choose_model(None, invoked, session.model, home.quiet_files.model_names())
        if choice.missing is not None:
            raise ModelUnresolved(
                f"session {session.session_id} was made with model {choice.missing!r}, which is not configured: bring "
                f"its file back below {home.models_dir or home.paths.models}"
            )


def _storage(locator: Locator, session: ResolvedSession) -> tuple[StorageType | None, Path | None, Path | None]:
    try:
        kind = locator.storage(session).storage_type
    except StorageUnsupported:
        return None, None, None
    return kind, locator.transcript(session).path, locator.workspace(session).path

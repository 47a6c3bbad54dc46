"""Letting a session go on on another account."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.sessions.move import MoveReason
from oulipoly_engine.core.sessions.sessions import Session
from oulipoly_engine.errors import translate_system_errors
from oulipoly_engine.facade.base import upkeep
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.service.sessions.move import Mover, MoveResult, Plan
from oulipoly_engine.service.sessions.move import receipt as move_receipt
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions.split import SplitSession, find_split

__all__ = ["MoveResult", "Plan", "move_receipt"]


class SessionMoves(SessionPart):
    """The moves of one user's sessions."""

    def targets(self, session: Session) -> tuple[str, ...]:
        """Return the other accounts on which a session could go on: they can resume, and store alike."""
        accounts, _ = self._read_configuration()
        own = accounts.get(session.active.account)
        kind = None if own is None or own.storage is None else own.storage.storage_type
        if kind in (None, StorageType.OTHER):
            return ()
        return tuple(
            name
            for name, one in accounts.items()
            if name != session.active.account
            and one.resume is not None
            and one.storage is not None
            and one.storage.storage_type is kind
        )

    def plan(self, text: str, account: str, folder: Path | None = None) -> Plan:
        """Find out whether and how a session can move; nothing is changed. folder: where it goes on.

        Raises SessionNotFound, SessionAmbiguous, MoveRefused and StorageUnsupported.
        """
        with self._open_existing(text) as store:
            mover = self._mover(store)
            return mover.plan(mover.find(text, account), account, MoveReason.MANUAL, folder)

    def find_split(self) -> tuple[SplitSession, ...]:
        """Return the sessions that several chains have open, as after moves of before that were killed.

        `move` to one of their accounts joins two of them.
        """
        with self._home.lend_store() as store:
            return find_split(store)

    def preview(self, text: str, account: str) -> str:
        """Say what moving a session would do, in a sentence. Raises as `plan`."""
        plan = self.plan(text, account)
        if not plan.parts:
            return f"{account} has all of it already: nothing is copied, the session just goes on there"
        size = sum(part.source.stat().st_size - part.start for part in plan.parts)
        return f"{size:,} bytes are copied to {plan.target}; what {plan.segment.from_account} has stays where it is"

    @translate_system_errors()
    def carry_out(self, plan: Plan) -> MoveResult:
        """Do a move that was planned. Raises RunnerError."""
        self._home.refuse_if_read_only("move a session")
        segment = plan.segment
        self._home.extensions.guard_recorded("before_switch", segment.chain_id, target=segment.to_account)
        with self._home.lend_store() as store:
            moved = self._mover(store).carry_out(plan)
        self._tell()
        return moved

    def move(self, text: str, account: str) -> MoveResult:
        """Move a session to another account. Raises as `plan`."""
        self._home.refuse_if_read_only("move a session")
        return self.carry_out(self.plan(text, account))

    def read_moved(self, account: str) -> None:
        """Store the entries of what was moved to an account, if its reader is a bundled one."""
        with self._home.lend_store() as store:
            upkeep.read_placed(self._home, store, [account])

    def _mover(self, store: Store) -> Mover:
        return upkeep.mover(self._home, store, self._locator())

"""The one recovery at start: what killed processes can leave, and who settles it.

    change of the accounts    its journal     taken back            at every start, before anything is read
    removal of an account     its note        finished              the same
    replacement, move         its journal     finished or undone    before commands, and by faces that stay
    chat --no-session         its note        session forgotten     the same
    worktree, merge           `operations`    finished or undone    before orders on them, and by faces that stay
    restore of files          `operations`    told, with both ways  by faces that stay
    change of a package       `operations`    finished or undone    before the next change, and by faces that stay

To look costs a file's status, a folder's names or an index; what settles is imported only where something is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.accounts.setup import AccountSetup
from oulipoly_engine.facade.base.home import Home, Part

if TYPE_CHECKING:
    from oulipoly_engine.store.base.db import Store

# ruff: noqa: PLC0415 - hardly any start finds something left


class Recovery(Part):
    """What settles what killed processes of one user have left."""

    def __init__(self, home: Home, account_setup: AccountSetup) -> None:
        super().__init__(home)
        self._accounts = account_setup

    def settle_accounts(self) -> None:
        """Take back a change of the accounts and finish removals; what is done, or hinders it, is told."""
        self._tell(self._accounts.changes.settle, "a change of the accounts was cut off and is not taken back")
        self._tell(
            self._accounts.removals.finish_deletions, "the removal of an account was cut off and is not finished"
        )

    def _tell(self, settle: Callable[[], Iterable[str]], problem: str) -> None:
        try:
            for sentence in settle():
                self._home.note(sentence)
        except RunnerError as error:
            self._home.warn(f"Warning: {problem}: {error.message}")

    def settle_sessions(self) -> tuple[str, ...]:
        """Finish or undo what was cut off of sessions, and return a sentence for each. Raises RunnerError."""
        sentences: tuple[str, ...] = ()
        if self._has_unkept():
            from oulipoly_engine.facade.live.connections import LiveConnections
            from oulipoly_engine.service.live.protocol import Client

            sentences = LiveConnections(self._home, Client("agents")).forget_unkept()
        return sentences + self._home.wiring.recovery(self._home.store).run()

    def _has_unkept(self) -> bool:
        notes = self._home.paths.unkept_sessions
        return notes.is_dir() and any(notes.iterdir())

    def settle_at_start(self) -> tuple[str, ...]:
        """Settle all but the accounts, for a face that begins whatever comes of it; a problem is a sentence as well."""
        sentences: tuple[str, ...] = ()
        if self._home.read_only:
            return sentences
        try:
            if self._has_unkept() or self._home.wiring.has_journals():
                sentences = self.settle_sessions()
        except RunnerError as error:
            sentences = (error.message,)
        from oulipoly_engine.store.operations import operations

        with suppress(RunnerError), self._home.lend_store() as store:  # who needs the state file tells what is wrong
            self._home.settle_telemetry(store, is_on=self._home.files.settings().telemetry)
            if store.has_readers():
                self._drop_left_readers(store)
            if operations.find(store, "begun"):
                from oulipoly_engine.facade.packages.packages import Packages
                from oulipoly_engine.facade.worktrees.worktrees import Worktrees

                sentences += Worktrees(self._home).reconcile() + Packages(self._home).settle()
        return sentences

    def _drop_left_readers(self, store: Store) -> None:
        """Have nothing more written for extensions of sessions whose host was killed."""
        from oulipoly_engine.service.extensions.session_hooks import reader_of
        from oulipoly_engine.service.live import hosts
        from oulipoly_engine.store.outbox import events

        for reader in events.list_readers(store):
            session_id = reader.removeprefix(reader_of(""))
            if session_id != reader and not hosts.is_held(self._home.paths, session_id):
                events.unregister(store, reader)

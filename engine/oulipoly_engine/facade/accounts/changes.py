"""Changes of the accounts' files: nothing is written before `write`, and all that was written can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.config.base import mask
from oulipoly_engine.config.edit import account_edit, undo
from oulipoly_engine.config.edit.undo import Carry, Step
from oulipoly_engine.config.edit.write_files import FileChange
from oulipoly_engine.errors import AccountBusy, NameTaken, translate_system_errors
from oulipoly_engine.facade.accounts.base import AccountPart, refuse_if_running
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.service.accounts.new_account import check_name

if TYPE_CHECKING:
    from oulipoly_engine.config.edit.backup import Backup, Import

# ruff: noqa: PLC0415 - a rename needs the state file, an addition does not

__all__ = ["Step"]


class AccountChanges(AccountPart):
    """Additions, renames, removals, imports and set-ups, as files that change."""

    settled: Step | None = None  # what was cut off and is taken back by the start of this process

    def plan_rename(self, account: str, new: str) -> Step:
        """Return the changes that rename an account. Raises RunnerError."""
        self._check(account)
        check_name(new, self.names())
        files = account_edit.rename(self._home.paths, self._models, account, new)
        return Step(f"renamed the account {account} to {new}", files, (account, new))

    def export(self) -> Backup:
        """Return a backup of accounts and pools without secrets. Raises ConfigInvalid."""
        from oulipoly_engine.config.edit.backup import export

        return export(self._home.paths, self._models)

    def plan_import(self, text: str, source: Path) -> tuple[Import, Step]:
        """Return what a backup would bring in, and the changes that do it. Raises ConfigInvalid."""
        from oulipoly_engine.config.edit.backup import plan_import

        found = plan_import(text, source, self._home.paths, self._models)
        names = ", ".join((*found.accounts, *(f"the pool {name}" for name in found.pools))) or "nothing"
        return found, Step(f"imported {names}", found.files)

    def write(self, step: Step) -> None:
        """Write changes; an account's state follows its name. Raises RunnerError, and then nothing is changed."""
        self._home.refuse_if_read_only("change the configuration")
        if step.renamed is not None:
            self._refuse_old_rows(step.renamed[1])
        undo.write_step(self._home.paths.data, step, self._carry(step.renamed))
        self._home.tell_changed(change.path for change in step.files)

    def undo(self, agreed: Step | None = None) -> Step:
        """Put back what the last change has changed, and return that change. Raises RunnerError.

        agreed: what the user was asked about; nothing is undone where another change is the last one by now.
        """
        self._home.refuse_if_read_only("change the configuration")
        data = self._home.paths.data
        step = agreed or undo.last_step(data)
        undone = undo.undo_last(data, step, None if step is None else self._carry_back(step))
        self._home.tell_changed(change.path for change in undone.files)
        return undone

    def settle(self) -> Iterator[str]:
        """Take a change back that a kill has cut off, and yield a sentence of it. Raises RunnerError."""
        data = self._home.paths.data
        step = undo.pending_step(data)
        if step is not None:
            undo.take_back(data, step, self._carry_back(step))
            self.settled = step
            yield f"A change was cut off, and is taken back: {step.what}"

    def last_step(self) -> Step | None:
        """Return what would be undone next."""
        return undo.last_step(self._home.paths.data)

    def diff(self, files: Sequence[FileChange]) -> str:
        """Return changes as a unified diff, without the secrets in it."""
        documents = [text for change in files for text in (change.before, change.after) if text is not None]
        return mask.lines("".join(change.diff for change in files), documents)

    @contextmanager
    def _hold_sessions(self, account: str) -> Iterator[None]:
        """Keep moves, replacements and scans away for the block: what they store has the name that they began with.

        Raises RequestRefused, SessionBusy.
        """
        from oulipoly_engine.service.sessions.journal import JournalFolder
        from oulipoly_engine.service.sessions.move_files import hold_scans

        journals = JournalFolder(self._home.paths.data / "replace_journal")
        make_folder(journals.path)
        with hold_scans(self._home.paths.data / "turn-scan-locks", account), journals.exclusive() as is_ours:
            if not is_ours or journals.pending_sessions():
                raise AccountBusy("a session is being moved or rewritten: rename the account when that has ended")
            yield

    def _refuse_old_rows(self, account: str) -> None:
        """Refuse a name under which a removed account has left something: an undo could not take them apart again."""
        from oulipoly_engine.store.models.account_names import has_rows

        with self._home.lend_store() as store:
            if has_rows(store, account):
                message = f"the state file has the past of an account {account!r} that was removed: choose another name"
                raise NameTaken(message)

    def _carry_back(self, step: Step) -> Carry | None:
        return self._carry(None if step.renamed is None else (step.renamed[1], step.renamed[0]))

    def _carry(self, renamed: tuple[str, str] | None) -> Carry | None:
        """Return what writes files together with an account's new name in the state file; None: they are all."""
        if renamed is None:
            return None
        return partial(self._rename_state, *renamed)

    @translate_system_errors()
    def _rename_state(self, account: str, new: str, write: Callable[[], object]) -> None:
        """Rename an account in the state file and write the files; where they cannot be written, neither is done.

        Raises RunnerError.
        """
        from oulipoly_engine.store.models.account_names import rename_account

        with self._hold_sessions(account), self._home.lend_store() as store:
            refuse_if_running(store, account, "rename the account")
            with store.write():
                rename_account(store, account, new)
                write()
        old, place = (self._home.paths.data / "sessions" / name for name in (account, new))
        if old.is_dir() and not place.exists():
            old.rename(place)

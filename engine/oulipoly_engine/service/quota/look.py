"""Take one look at an account: ask its script, read what Codex has noted beside it, keep all that they gave."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from threading import Event

from oulipoly_engine.adapters.codex_rate_limits import CodexReading
from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.errors import AccountUnusable
from oulipoly_engine.records import Record
from oulipoly_engine.service.accounts.environment import read_environment
from oulipoly_engine.service.quota import codex_notes
from oulipoly_engine.service.quota.keeper import ReadAttempt, Reading, keep
from oulipoly_engine.service.quota.reader import SCRIPT_TIMEOUT_S, Answer, QuotaReader, find_secrets
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import quotas

_KEYRING_PATIENCE_S = 8.0  # nobody may sit there to unlock it


class Looker(Record):
    """Looks at accounts in one environment, for one store."""

    store: Store
    clock: Clock
    home: Path
    environ: Mapping[str, str]
    timeout_s: float | None = None  # of one script; None: the usual patience

    def look_at(
        self, account: Account, command: str | None, codex_root: str | None, stopped: Event
    ) -> tuple[ReadAttempt, float]:
        """Return what a look gave, and the seconds that the script took. Nothing is stored.

        command: of the quota script, None where there is none. codex_root: where Codex keeps its sessions, None for
        another CLI.
        """
        began_at = self.clock.now()
        prior = quotas.states(self.store, (account.name,))[account.name]
        answer = Answer()
        if command is not None:
            answer = self._ask(account, command, stopped, has_windows=bool(prior.windows))
        at = self.clock.now()
        if answer.failure is not None and stopped.is_set():
            return ReadAttempt(account.name, at, failure=answer.failure), answer.duration_s
        notes = self._codex_notes(account, codex_root, at)
        reading: Reading | None = Reading(answer.windows, began_at, at, duration_s=answer.duration_s)
        if command is None or answer.failure is not None:
            note = codex_notes.choose_note(notes, prior.refreshed_at, at)
            reading = None if note is None else Reading(note.windows, note.at, note.at, codex_notes.SOURCE)
        return ReadAttempt(account.name, at, reading, answer.failure, answer.http, notes), answer.duration_s

    def keep(self, look: ReadAttempt) -> None:
        """Store all that a look gave. Raises StoreUnusable, and then nothing of it is stored."""
        keep(self.store, look)

    def _ask(self, account: Account, command: str, stopped: Event, *, has_windows: bool) -> Answer:
        try:
            environ = read_environment(self.environ, account, _KEYRING_PATIENCE_S)
        except AccountUnusable as error:  # a failure like any other: it is told, and rests before it is tried again
            return Answer(failure=error.message)
        secrets = () if account.keyring is None else find_secrets(environ[account.keyring.variable])
        timeout_s = SCRIPT_TIMEOUT_S if self.timeout_s is None else self.timeout_s
        reader = QuotaReader(self.home, environ, stopped.is_set, timeout_s, secrets)
        return reader.read(command, account.auth_refresh_command, has_windows=has_windows)

    def _codex_notes(self, account: Account, root: str | None, now: datetime) -> tuple[CodexReading, ...]:
        if root is None:
            return ()
        looked_at = quotas.attempts(self.store, (account.name,))[account.name].last_attempt_at
        environ = arguments.environment(self.environ, account)
        return codex_notes.notes(codex_notes.folder_of(root, self.home, environ), looked_at, now)

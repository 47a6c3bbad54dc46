"""At each start: finish or forget what a killed replacement has left, and set aside what is neither.

The transcript decides. It is never written here: it was exchanged by one rename, so it is the new one or the old one,
or somebody else has changed it since.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from oulipoly_engine.clock import Clock, from_text
from oulipoly_engine.core import rewrite
from oulipoly_engine.core.canonical import Origin
from oulipoly_engine.core.lease import HeldLease
from oulipoly_engine.core.replacement import Journal, read_journal
from oulipoly_engine.core.rewrite import Reading
from oulipoly_engine.errors import TranscriptMalformed
from oulipoly_engine.process.alive import is_alive
from oulipoly_engine.service import replace_rows
from oulipoly_engine.service.lease import Leases
from oulipoly_engine.service.replace_journal import JournalFolder, Preimages, beside, guarded
from oulipoly_engine.store import replacements
from oulipoly_engine.store.db import Store

_LEASE = timedelta(seconds=300)  # of a replacement


@dataclass(frozen=True, slots=True)
class Recovery:
    """Puts right what lies in the journals' folder."""

    data: Path  # our data folder
    clock: Clock
    store: Callable[[], Store]  # opened when something needs it

    def run(self) -> tuple[str, ...]:
        """Look at everything that was left, and return a sentence for each session that it was about.

        Does nothing while a replacement is under way. Raises RunnerError for what cannot be read or written.
        """
        if not self._folder.path.is_dir():
            return ()
        with guarded(self._folder.path), self._folder.exclusive() as is_ours:
            if not is_ours:
                return ()
            told = [self._settle(session_id) for session_id in self._folder.pending_sessions()]
            self._clear_staging()
            for session_id in self._folder.canonical_sessions():
                self._drop_orphan(session_id)
            return tuple(text for text in told if text)

    def mend(self, session_id: str) -> None:
        """Settle what is left of one session; the caller holds its lease."""
        if self._folder.pending(session_id).exists():
            self._settle(session_id)

    @property
    def _folder(self) -> JournalFolder:
        return JournalFolder(self.data / "replace_journal")

    def _settle(self, session_id: str) -> str:
        pending = self._folder.pending(session_id)
        try:
            journal = read_journal(pending.read_bytes())
            if journal.session_id != session_id:
                raise ValueError(f"it is for another session, {journal.session_id!r}")  # noqa: TRY301 - as if unreadable
        except ValueError as error:
            return self._set_aside(session_id, f"its journal cannot be understood: {error}")
        reading = _reading(journal)
        found = None if reading is None else reading.sha256
        if reading is not None and found == journal.postimage_sha256 and reading.turns:
            replace_rows.apply(self.store(), journal, reading, self.clock.now())
            self._end(journal)
            return f"the replacement of session {session_id} that was cut off has been finished"
        if found == journal.preimage_sha256 or journal.preimage_sha256 is None:
            self._take_back(journal)
            self._end(journal)
            what = "that was cut off or refused had changed nothing"
            return f"the replacement of session {session_id} {what}, and was dropped"
        what = "cannot be read" if found is None else "is neither the old one nor the new one"
        return self._set_aside(session_id, f"its transcript {journal.jsonl_path} {what}")

    def _end(self, journal: Journal) -> None:
        with contextlib.suppress(OSError):
            beside(Path(journal.jsonl_path), journal.operation_uuid).unlink(missing_ok=True)
        self._folder.remove(journal.session_id)
        started = from_text(journal.started_at)
        self._leases.end_of_dead(journal.session_id, lambda held: _was_taken_by(held, started))

    def _take_back(self, journal: Journal) -> None:
        """Drop the note of a replacement that did not happen, and what was kept for it alone."""
        store = self.store()
        replacements.forget(store, journal.operation_uuid)
        with contextlib.suppress(OSError):
            kept = hashlib.sha256(Path(journal.jsonl_path).read_bytes()).hexdigest()
            if not replacements.is_kept(store, kept):
                Preimages(self.data / "preimages").drop(kept)

    def _set_aside(self, session_id: str, problem: str) -> str:
        place = self._folder.set_aside(session_id)
        return (
            f"a replacement of session {session_id} was cut off, and {problem}; nothing was changed, and its "
            f"journal was put into {place}: compare the transcript with {self._folder.canonical(session_id)}"
        )

    def _clear_staging(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            for path in self._folder.staging.iterdir():
                path.unlink(missing_ok=True)
            self._folder.staging.rmdir()

    def _drop_orphan(self, session_id: str) -> None:
        """Remove canonical lines without a journal, unless somebody may still come back to them."""
        if self._folder.pending(session_id).exists() or self._folder.quarantined(session_id):
            return
        if self._leases.live(session_id) is None:
            self._folder.canonical(session_id).unlink(missing_ok=True)

    @property
    def _leases(self) -> Leases:
        return Leases(self.data / "locks", self.clock)


def _reading(journal: Journal) -> Reading | None:
    """Return what an export of the transcript shows now, None when it cannot be read."""
    origin = Origin(journal.session_id, journal.account, journal.jsonl_path)
    try:
        return rewrite.read(journal.storage_type, Path(journal.jsonl_path).read_bytes(), origin)
    except (OSError, TranscriptMalformed, KeyError):
        return None


def _was_taken_by(held: HeldLease, started: datetime) -> bool:
    """Return whether a lease is the one of a replacement that began then, and its process has died.

    Nobody else could take one while that one lived.
    """
    return started <= held.created_at < started + _LEASE and not is_alive(held.owner_pid)

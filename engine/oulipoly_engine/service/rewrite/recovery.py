"""At each start: finish or forget what a killed replacement or move has left, and set aside what is neither.

The transcript decides. A replacement has exchanged it by one rename, so it is the new one or the old one, perhaps with
lines that its CLI has appended since, or somebody else has changed it. It is not written here, but for lines that its
CLI wrote into the former one at that very moment: they are put behind the new one. A move is finished when all of the
transcript lies on the target (`service/sessions/move_files.py`), and undone when it does not.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from oulipoly_engine.adapters.transcript_file import read_transcript
from oulipoly_engine.clock import Clock, from_text
from oulipoly_engine.core.accounts.accounts import LONGEST_LINE
from oulipoly_engine.core.rewrite import rewrite
from oulipoly_engine.core.rewrite.journal import Journal, read_journal
from oulipoly_engine.core.rewrite.rewrite import Reading
from oulipoly_engine.core.sessions.lease import HeldLease
from oulipoly_engine.core.sessions.move_journal import MoveJournal, read_move
from oulipoly_engine.core.transcripts.canonical import Origin
from oulipoly_engine.errors import RunnerError, SessionAmbiguous, SessionBusy, StoreUnusable, TranscriptMalformed
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.records import Record
from oulipoly_engine.service.rewrite import rows
from oulipoly_engine.service.rewrite.exchange import append, late_bytes
from oulipoly_engine.service.rewrite.preimages import Preimages, aside_of, beside
from oulipoly_engine.service.sessions import move_files
from oulipoly_engine.service.sessions.journal import JournalFolder, translate_errors
from oulipoly_engine.service.sessions.lease import Leases
from oulipoly_engine.service.sessions.move_files import Progress
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.rewrite import replacements
from oulipoly_engine.store.sessions import chains

_LEASE = timedelta(seconds=300)  # of a replacement and of a move


class Recovery(Record):
    """Puts right what lies in the journals' folder."""

    data: Path  # our data folder
    clock: Clock
    store: Callable[[], Store]  # opened when something needs it
    longest_line: Callable[[], int] = lambda: LONGEST_LINE  # asked where something is to be done

    def run(self) -> tuple[str, ...]:
        """Look at everything that was left, and return a sentence for each session that it was about.

        Does nothing while a replacement is under way. Raises RunnerError for what cannot be read or written.
        """
        if not self.journals.path.is_dir():
            return ()
        with translate_errors(self.journals.path), self.journals.exclusive() as is_ours:
            if not is_ours:
                return ()
            told = [self._settle(session_id) for session_id in self.journals.pending_sessions()]
            self._clear_staging()
            self.journals.drop_unfinished()
            self.preimages.drop_unfinished()
            for session_id in self.journals.canonical_sessions():
                self._drop_orphan(session_id)
            return tuple(text for text in told if text)

    def settle_moves(self, account: str) -> bool:
        """Settle what killed moves to an account have left, before its transcripts are read; False: not possible now.

        Raises StoreUnusable.
        """
        if not self._has_moves(account):
            return True
        try:
            self.run()
        except StoreUnusable:
            raise
        except RunnerError:  # the next command's start says why
            return False
        return not self._has_moves(account)

    def _has_moves(self, account: str) -> bool:
        """Tell whether a journal is there of a move to an account."""
        return any(move.to_account == account for move in self.journals.moves())

    def mend(self, session_id: str) -> None:
        """Settle what is left of one session; the caller holds its lease. Raises SessionBusy as `hold_scans`."""
        if not self.journals.pending_path(session_id).exists():
            return
        with contextlib.ExitStack() as stack:
            move = next((one for one in self.journals.moves() if one.session_id == session_id), None)
            if move is not None:  # other moves to that account may go on now, as none does where all are settled
                stack.enter_context(move_files.hold_scans(self.data / "turn-scan-locks", move.to_account))
            self._settle(session_id)

    @property
    def journals(self) -> JournalFolder:
        """Return the folder of the journals."""
        return JournalFolder(self.data / "replace_journal")

    @property
    def preimages(self) -> Preimages:
        """Return what was replaced."""
        return Preimages(self.data / "preimages")

    @property
    def leases(self) -> Leases:
        """Return the rights to change sessions."""
        return Leases(self.data / "locks", self.clock)

    def _settle(self, session_id: str) -> str:
        pending = self.journals.pending_path(session_id)
        try:
            data = pending.read_bytes()
            move = read_move(data)
            if move is not None:
                return self._settle_move(move)
            journal = read_journal(data)
            if journal.session_id != session_id:
                raise ValueError(f"it is for another session, {journal.session_id!r}")  # noqa: TRY301 - as if unreadable
        except ValueError as error:
            return self._set_aside(session_id, f"its journal cannot be understood: {error}")
        found = _find_state(journal, self.longest_line())
        if found.is_new:
            try:
                rows.apply(
                    self.store(),
                    journal,
                    found.reading,
                    self.clock.now(),
                    len(found.data),
                    longest_line=self.longest_line(),
                )
            except ValueError as error:  # one session's lines must not keep every command from starting
                self._clear(journal)
                return self._set_aside(session_id, f"its new transcript cannot be stored: {error}")
            carried = self._carry_over(journal)
            self._end(journal)
            return f"the replacement of session {session_id} that was cut off has been finished{carried}"
        if found.is_old or journal.preimage_sha256 is None:
            self._take_back(journal, found.data)
            self._end(journal)
            what = "that was cut off or refused had changed nothing"
            return f"the replacement of session {session_id} {what}, and was dropped"
        self._clear(journal)
        what = "cannot be read" if found is _UNREADABLE else "is neither the old one nor the new one"
        return self._set_aside(session_id, f"its transcript {journal.jsonl_path} {what}")

    def _settle_move(self, move: MoveJournal) -> str:
        """Finish a move whose transcript is copied, undo another one."""
        session_id, store = move.session_id, self.store()
        is_stored = chains.find_owner(store, move.chain_id) == move.to_account  # killed right behind that
        progress = Progress.COPIED if is_stored else move_files.look(move)
        what = f"the move of session {session_id} to account {move.to_account!r} that was cut off"
        if progress is Progress.SPLIT:
            move_files.drop_kept(move)
            place = self.journals.set_aside(session_id)
            return (
                f"{what} was left as it is, for the session has gone on on both accounts since: there are two sessions "
                f"of that id now; its journal was put into {place}"
            )
        told = f"{what} has been finished"
        try:
            if progress is Progress.COPIED and not is_stored:
                chains.move_segment(store, move_files.segment_of(move))
        except (SessionAmbiguous, SessionBusy) as error:
            progress, why = Progress.BEGUN, f", since {error.message}"
        else:
            why = ""
        if progress is Progress.BEGUN:
            move_files.undo(store, self.journals, move)
            told = f"{what} has been undone{why}"
        else:
            move_files.drop_kept(move)
        self.journals.remove(session_id, with_lines=False)
        self._end_lease(session_id, move.started_at)
        return told

    def _carry_over(self, journal: Journal) -> str:
        """Append what its CLI wrote into the former transcript just when we were killed, and say so."""
        path, aside = Path(journal.jsonl_path), aside_of(Path(journal.jsonl_path), journal.operation_uuid)
        row = replacements.find(self.store(), journal.operation_uuid)
        late = b"" if row is None else late_bytes(path, aside, row.preimage_size_bytes)
        if not late:
            return ""
        append(path, late)
        return f"; {len(late)} bytes that its CLI wrote into the former transcript stand behind the new one now"

    def _end(self, journal: Journal) -> None:
        self._clear(journal)
        self.journals.remove(journal.session_id, with_lines=True)
        self._end_lease(journal.session_id, journal.started_at)

    def _end_lease(self, session_id: str, started_at: str) -> None:
        started = from_text(started_at)
        self.leases.end_of_dead(session_id, lambda held: _was_taken_by(held, started))

    def _clear(self, journal: Journal) -> None:
        for place in (beside, aside_of):
            with contextlib.suppress(OSError):
                place(Path(journal.jsonl_path), journal.operation_uuid).unlink(missing_ok=True)

    def _take_back(self, journal: Journal, data: bytes) -> None:
        """Drop the note of a replacement that did not happen, and what was kept for it alone."""
        store = self.store()
        replacements.forget(store, journal.operation_uuid)
        kept = journal.preimage_file_sha256 or hashlib.sha256(data).hexdigest()
        if not replacements.is_kept(store, kept):
            self.preimages.drop(kept)

    def _set_aside(self, session_id: str, problem: str) -> str:
        place, lines = self.journals.set_aside(session_id), self.journals.canonical(session_id)
        advice = f": compare the transcript with {lines}" if lines.exists() else ""
        return (
            f"a change to session {session_id} was cut off, and {problem}; this start has changed nothing, and its "
            f"journal was put into {place}{advice}"
        )

    def _clear_staging(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            for path in self.journals.staging.iterdir():
                path.unlink(missing_ok=True)
            self.journals.staging.rmdir()

    def _drop_orphan(self, session_id: str) -> None:
        """Remove canonical lines without a journal, unless somebody may still come back to them."""
        if self.journals.pending_path(session_id).exists() or self.journals.is_quarantined(session_id):
            return
        if self.leases.live(session_id) is None:
            self.journals.canonical(session_id).unlink(missing_ok=True)


class _TranscriptState(Record):
    """What a transcript is now, without what its CLI has appended since."""

    data: bytes
    reading: Reading
    is_old: bool = False
    is_new: bool = False


_UNREADABLE = _TranscriptState(b"", Reading((), frozenset()))


def _find_state(journal: Journal, longest_line: int) -> _TranscriptState:
    origin = Origin(journal.session_id, journal.account, journal.jsonl_path)
    try:
        data = read_transcript(journal.jsonl_path, longest_line)
        begun = _find_beginning(data, (journal.postimage_file_sha256, journal.preimage_file_sha256))
        reading = rewrite.read(journal.storage_type, begun, origin)
    except (OSError, TranscriptMalformed, KeyError):
        return _UNREADABLE
    is_new = reading.sha256 == journal.postimage_sha256 and bool(reading.entries)
    return _TranscriptState(begun, reading, reading.sha256 == journal.preimage_sha256, is_new)


def _find_beginning(data: bytes, wanted: tuple[str | None, ...]) -> bytes:
    """Return the part of a transcript that has one of the hashes, if lines were appended to it since; else all of it.

    The longer one, for one of them may be the beginning of the other.
    """
    hashes = {one for one in wanted if one is not None}
    if not hashes or hashlib.sha256(data).hexdigest() in hashes:
        return data
    digest, place, found = hashlib.sha256(), 0, 0
    while end := data.find(b"\n", place) + 1:
        digest.update(data[place:end])
        place = end
        if digest.hexdigest() in hashes:
            found = end
    return data[:found] if found else data


def _was_taken_by(held: HeldLease, started: datetime) -> bool:
    """Return whether a lease is the one of a replacement that began then, and its process has died.

    Nobody else could take one while that one lived.
    """
    return started <= held.created_at < started + _LEASE and not is_alive(held.owner_pid)

"""One replacement under its lease, step by step; what a killed one leaves is described by its journal."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from oulipoly_engine.adapters.transcript_file import open_transcript, status_of
from oulipoly_engine.clock import Clock
from oulipoly_engine.core.rewrite.journal import Journal
from oulipoly_engine.core.rewrite.rewrite import Reading, Rewrite
from oulipoly_engine.core.sessions.lease import hash_of
from oulipoly_engine.core.transcripts.canonical import render
from oulipoly_engine.errors import PreimageMismatch, RunnerError, SessionBusy, TranscriptMalformed
from oulipoly_engine.records import Record
from oulipoly_engine.service.rewrite import rows
from oulipoly_engine.service.rewrite.exchange import Exchange, WrittenMeanwhile
from oulipoly_engine.service.rewrite.preimages import aside_of, beside
from oulipoly_engine.service.rewrite.recovery import Recovery
from oulipoly_engine.service.rewrite.target import Image, Target, check_forks, clear_projection, image_of
from oulipoly_engine.service.sessions.journal import prepare, translate_errors, write
from oulipoly_engine.service.sessions.lease import Lease
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.rewrite import replacements
from oulipoly_engine.store.rewrite.replacements import Replacement

Composer = Callable[[Target, Image, Reading], Rewrite]

_BLOCK = 1 << 20


class FinishedReplacement(Record):
    """A replacement that has happened."""

    preimage_sha256: str
    postimage_sha256: str
    committed_at: datetime
    is_other: bool  # whether the transcript changed at all
    notes: tuple[str, ...]


class Run(Record):
    """A replacement with the lease held and nobody else at the transcript."""

    store: Store
    locator: Locator
    clock: Clock
    recovery: Recovery  # which knows where all of it lies
    target: Target
    operation: str
    operation_uuid: str
    started_at: str
    lease: Lease
    undoes: str | None
    at_step: Callable[[str], None]

    def carry_out(self, compose: Composer, preimage_sha256: str | None, staged: bytes) -> FinishedReplacement:
        """Do it. staged: the input's canonical lines, for the journal of one that is refused for its preimage."""
        image = image_of(self.target.path, self.target.longest_line)
        reading = self.target.read(image.data)
        try:
            check_preimage(reading, preimage_sha256)
        except PreimageMismatch:
            # The contract leaves this journal to the next start, which drops it: nothing was replaced.
            self._publish(reading.sha256, hashlib.sha256(staged).hexdigest(), staged, staged.count(b"\n"), image)
            raise
        new = compose(self.target, image, reading)
        check_forks(self.target, image.data, new.data)
        lines = b"".join(map(render, new.reading.records))
        journal = self._publish(reading.sha256, new.reading.sha256, lines, len(new.reading.entries), image, new.data)
        self.at_step("journaled")
        is_other = new.data != image.data
        with ExitStack() as stack:
            exchange = stack.enter_context(self._exchange(image, journal, new)) if is_other else None
            self._verify(new)
            self.at_step("verified")
            notes = (*new.notes, *(clear_projection(self.locator, self.target) if is_other else ()))
            self.at_step("cleared")
            committed_at = self.clock.now()
            rows.apply(
                self.store, journal, new.reading, committed_at, len(new.data), longest_line=self.target.longest_line
            )
            self.at_step("committed")
            carried = exchange.carry_over() if exchange is not None else 0
        if carried:
            notes += (f"its CLI wrote {carried} bytes into the former transcript: they stand behind the new one now",)
        self.recovery.journals.remove(self.target.session.session_id, with_lines=True)
        self.at_step("cleaned")
        return FinishedReplacement(reading.sha256, new.reading.sha256, committed_at, is_other, notes)

    def _publish(
        self, preimage: str, postimage: str, lines: bytes, entries: int, image: Image, new_data: bytes | None = None
    ) -> Journal:
        session = self.target.session
        canonical = self.recovery.journals.canonical(session.session_id)
        journal = Journal(
            operation=self.operation,
            operation_uuid=self.operation_uuid,
            started_at=self.started_at,
            session_id=session.session_id,
            chain_id=session.chain_id,
            active_segment_id=session.segment_row_id,
            account=session.account,
            storage_type=self.target.storage_type,
            jsonl_path=str(self.target.path),
            preimage_sha256=preimage,
            postimage_sha256=postimage,
            canonical_records_path=str(canonical),
            expected_entry_count=entries,
            preimage_file_sha256=image.file_sha256,
            postimage_file_sha256=None if new_data is None else hashlib.sha256(new_data).hexdigest(),
        )
        write(canonical, lines)
        self.recovery.journals.publish(session.session_id, journal.to_bytes())
        return journal

    @contextmanager
    def _exchange(self, image: Image, journal: Journal, new: Rewrite) -> Iterator[Exchange]:
        """Put the new transcript in the old one's place; whatever fails before that leaves nothing behind.

        The old file stays at hand during the block, so that what comes into it after all is not lost.
        """
        temporary, aside = (
            beside(self.target.path, self.operation_uuid),
            aside_of(self.target.path, self.operation_uuid),
        )
        is_exchanged = False

        def on_renamed() -> None:
            nonlocal is_exchanged
            is_exchanged = True
            self.at_step("renamed")

        try:
            kept = self.recovery.preimages.keep(image.data)
            self.at_step("kept")
            replacements.begin(self.store, self._row(journal, kept, image, new))
            self.at_step("noted")
            with translate_errors(self.target.path), open_transcript(self.target.path) as old:
                prepare(temporary, new.data, image.state.st_mode & 0o7777)
                self.at_step("written")
                exchange = Exchange(self.target.path, image, old, temporary, len(new.data), aside)
                exchange.carry_out(lambda: self._check_still(image), on_renamed)
                yield exchange
                exchange.end()
        except BaseException as error:
            is_undone = isinstance(error, WrittenMeanwhile)
            if not is_exchanged or is_undone:
                self._forget((temporary, aside), image)
            if is_undone:
                raise self._describe_change(image) from error
            raise

    def _row(self, journal: Journal, kept: str, image: Image, new: Rewrite) -> Replacement:
        return Replacement(
            self.operation_uuid,
            self.operation,
            journal.session_id,
            journal.account,
            journal.chain_id,
            journal.jsonl_path,
            self.started_at,
            None,
            journal.preimage_sha256 or "",
            journal.postimage_sha256,
            kept,
            hashlib.sha256(new.data).hexdigest(),
            len(image.data),
            self.undoes,
        )

    def _check_still(self, image: Image) -> None:
        """Look once more, right before the rename, whether this is the transcript that was read, and the lease ours."""
        if not image.is_of(status_of(self.target.path)):
            raise self._describe_change(image)
        held = self.recovery.leases.live(self.lease.session_id)
        if held is None or held.token_hash != hash_of(self.lease.token):
            message = (
                f"the lease of session {self.lease.session_id} ran out before its transcript was replaced: try again"
            )
            raise SessionBusy(message) if held is not None else RunnerError(message)

    def _describe_change(self, image: Image) -> PreimageMismatch:
        with translate_errors(self.target.path), open_transcript(self.target.path, 0) as file:
            digest = hashlib.sha256()
            while block := file.read(_BLOCK):
                digest.update(block)
        message = f"the transcript {self.target.path} was written to meanwhile, so it is left as it is: export it again"
        return PreimageMismatch(message, expected=image.file_sha256, actual=digest.hexdigest())

    def _forget(self, files: Iterable[Path], image: Image) -> None:
        """Leave no trace of a replacement that does not happen; what cannot be removed, the next start removes."""
        for path in files:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        with contextlib.suppress(RunnerError):
            replacements.forget(self.store, self.operation_uuid)
            if not replacements.is_kept(self.store, image.file_sha256):
                self.recovery.preimages.drop(image.file_sha256)
            self.recovery.journals.remove(self.target.session.session_id, with_lines=True)

    def _verify(self, new: Rewrite) -> None:
        """Raise RunnerError unless the transcript is as it was written; its CLI may have appended to it."""
        size = len(new.data)
        with translate_errors(self.target.path), open_transcript(self.target.path) as file:
            data = file.read(size)
        try:
            is_as_wanted = data == new.data and self.target.read(data).sha256 == new.reading.sha256
        except TranscriptMalformed:
            is_as_wanted = False
        if not is_as_wanted:
            raise RunnerError(
                f"the transcript {self.target.path} is not as it was written: another program has changed it; the "
                "state file was left as it was, and the next start looks at the transcript again"
            )


def check_preimage(reading: Reading, expected: str | None) -> None:
    """Raise PreimageMismatch unless a transcript is the one that was exported."""
    actual = reading.sha256
    if expected is not None and expected.lower() != actual:
        message = "the transcript is not the one that was exported: export it again, and edit that"
        raise PreimageMismatch(message, expected=expected.lower(), actual=actual)

"""Replace the entries of a session: transcript and stored rows together, or neither; and take that back again.

The protocol is the contract's (6.4) and stands in `run`; what becomes of lines that a CLI appends meanwhile, in
`exchange`. Killed anywhere, the next start finds the journal and finishes or forgets (`recovery`).
Every replaced transcript is kept as it was, byte for byte.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.accounts.accounts import LONGEST_LINE, StorageType
from oulipoly_engine.core.rewrite import replacement_input as wanted_input
from oulipoly_engine.core.rewrite import rewrite
from oulipoly_engine.core.rewrite.journal import IMPORT_REPLACE, UNDO
from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord
from oulipoly_engine.core.rewrite.rewrite import Reading, Rewrite
from oulipoly_engine.core.rewrite.steps import Kind, Step, compare
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.transcripts.canonical import CanonicalRecord, Source, render
from oulipoly_engine.errors import NothingToUndo, PreimageMismatch, RequestRefused, RunnerError, SessionBusy
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.records import Record
from oulipoly_engine.service.rewrite.recovery import Recovery
from oulipoly_engine.service.rewrite.run import Composer, FinishedReplacement, Run, check_preimage
from oulipoly_engine.service.rewrite.target import Image, Target, alone, check_forks, image_of
from oulipoly_engine.service.sessions.journal import translate_errors, write
from oulipoly_engine.service.sessions.locate import Locator, describe_unsupported
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.rewrite import replacements
from oulipoly_engine.store.rewrite.replacements import Replacement

_LEASE_MS = 300_000


class Plan(Record):
    """What a replacement would do."""

    target: Target
    operation: str
    preimage_sha256: str
    postimage_sha256: str
    steps: tuple[Step, ...]  # every record's part, in the order of the new transcript
    notes: tuple[str, ...]  # what a person should know before going on
    size_bytes: int  # of the transcript now
    new_size_bytes: int

    @property
    def changes(self) -> tuple[Step, ...]:
        """Return the turns that do not stay as they are."""
        return tuple(step for step in self.steps if step.kind is not Kind.KEPT)

    def count(self, kind: Kind) -> int:
        """Return how many entries have a part."""
        return sum(step.is_entry and step.kind is kind for step in self.steps)


class Receipt(Record):
    """A replacement that has happened."""

    session_id: str
    account: str
    storage_type: StorageType
    operation: str
    preimage_sha256: str
    postimage_sha256: str
    path: str
    committed_at: str  # RFC 3339
    operation_uuid: str | None  # None: the transcript was as wanted, so there is nothing to undo
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """Return the contract's nine keys."""
        return {
            "session_id": self.session_id,
            "provider_name": self.account,
            "storage_type": self.storage_type.value,
            "operation": self.operation,
            "preimage_sha256": self.preimage_sha256,
            "postimage_sha256": self.postimage_sha256,
            "jsonl_path": self.path,
            "state_updated": True,
            "committed_at": self.committed_at,
        }


def _go_on(_step: str) -> None:
    """Do nothing at a step."""


class Replacer(Record):
    """Replaces sessions' entries."""

    store: Store
    locator: Locator
    clock: Clock
    data: Path  # our data folder
    at_step: Callable[[str], None] = _go_on  # told of each step of the protocol when it is done
    preimage_limit_bytes: int = 1 << 30  # of all that is kept for undoing, compressed; 0: no limit
    longest_line: int = LONGEST_LINE

    def parse(self, session: ResolvedSession, lines: bytes) -> tuple[ReplacementRecord, ...]:
        """Read canonical lines for a session. Raises ReplacementInvalid, naming the line."""
        return wanted_input.parse(lines, session.session_id, session.account)

    def current(self, session: ResolvedSession) -> Reading:
        """Return what an export of a session shows now.

        Raises StorageUnsupported, TranscriptMalformed, SessionBusy for a transcript that its CLI writes without rest,
        and RunnerError for one that cannot be read.
        """
        target = self._target(session)
        return target.read(image_of(target.path, self.longest_line).data)

    def plan(
        self, session: ResolvedSession, wanted: Sequence[ReplacementRecord], preimage_sha256: str | None = None
    ) -> Plan:
        """Return what a replacement would do; reads only, and takes no lease.

        Raises as `carry_out` does, but SessionBusy only for a transcript that never holds still: who holds the session
        now is told in the notes.
        """
        return self._make_plan(IMPORT_REPLACE, session, self._composer(wanted), preimage_sha256)

    def carry_out(
        self, session: ResolvedSession, wanted: Sequence[ReplacementRecord], preimage_sha256: str | None = None
    ) -> Receipt:
        """Replace a session's entries.

        preimage_sha256: the hash of the export that was edited; None: whatever is there is replaced.
        What its CLI appends meanwhile is not lost: it stands behind the new transcript, or nothing is replaced.
        Raises ReplacementInvalid and PreimageMismatch (nothing was touched), SessionBusy (a lease, or a live CLI),
        StorageUnsupported, SchemaIncompatible, TranscriptMalformed, and RunnerError when a file cannot be written or is
        not as it was written; the next start then puts right what was begun.
        """
        return self._replace(IMPORT_REPLACE, session, self._composer(wanted), preimage_sha256, wanted)

    def history(self, session: ResolvedSession) -> tuple[Replacement, ...]:
        """Return what happened to a session's transcript, the earliest first."""
        return replacements.of_session(self.store, session.chain_id, session.account, session.session_id)

    def can_undo(self, replacement: Replacement) -> bool:
        """Return whether what a replacement replaced is still kept."""
        return self._recovery.preimages.has(replacement.preimage_file_sha256)

    def plan_undo(self, session: ResolvedSession, operation_uuid: str | None = None) -> Plan:
        """Return what an undo would do; reads only. Raises as `undo` does, but SessionBusy only as `plan` does."""
        return self._make_plan(UNDO, session, self._restorer(self._choose(session, operation_uuid)), None)

    def undo(self, session: ResolvedSession, operation_uuid: str | None = None) -> Receipt:
        """Put a replaced transcript back as it was, byte for byte; an undo can be undone in turn, by its id.

        operation_uuid: None takes the latest replacement that stands.
        Raises RequestRefused when there is none, PreimageMismatch when the transcript has changed since, and otherwise
        as `carry_out` does.
        """
        chosen = self._choose(session, operation_uuid)
        return self._replace(UNDO, session, self._restorer(chosen), None, (), chosen.operation_uuid)

    # ---- what to write

    def _composer(self, wanted: Sequence[ReplacementRecord]) -> Composer:
        def compose(target: Target, image: Image, _reading: Reading) -> Rewrite:
            return rewrite.rewrite(target.storage_type, image.data, wanted, target.origin)

        return compose

    def _restorer(self, chosen: Replacement) -> Composer:
        def compose(target: Target, image: Image, reading: Reading) -> Rewrite:
            if image.file_sha256 != chosen.postimage_file_sha256:
                message = (
                    f"the transcript {target.path} has changed since the replacement {chosen.operation_uuid} of "
                    f"{chosen.committed_at}: what came later would be lost, so it is left as it is"
                )
                raise PreimageMismatch(message, expected=chosen.postimage_file_sha256, actual=image.file_sha256)
            if not self.can_undo(chosen):
                raise RequestRefused(
                    f"what the replacement {chosen.operation_uuid} replaced is not kept any more: it was given up for "
                    "preimage_limit_mb of config.toml, or removed"
                )
            data = self._recovery.preimages.read(chosen.preimage_file_sha256)
            before = target.read(data)
            return Rewrite(data, before, compare(reading.records, before.records), ())

        return compose

    def _choose(self, session: ResolvedSession, operation_uuid: str | None) -> Replacement:
        known = self.history(session)
        if operation_uuid is not None:
            found = next((one for one in known if one.operation_uuid == operation_uuid.lower()), None)
            if found is None:
                message = f"session {session.session_id} has no replacement {operation_uuid}: see `session undo --list`"
                raise NothingToUndo(message)
        else:
            standing = [one for one in known if one.operation == IMPORT_REPLACE and one.undone_at is None]
            if not standing:
                raise NothingToUndo(f"there is nothing to undo: no replacement of session {session.session_id} stands")
            found = standing[-1]
        if found.undone_at is not None:
            raise NothingToUndo(f"the replacement {found.operation_uuid} was already undone at {found.undone_at}")
        return found

    # ---- the protocol

    def _make_plan(
        self, operation: str, session: ResolvedSession, compose: Composer, preimage_sha256: str | None
    ) -> Plan:
        target = self._target(session)
        image = image_of(target.path, self.longest_line)
        reading = target.read(image.data)
        check_preimage(reading, preimage_sha256)
        new = compose(target, image, reading)
        check_forks(target, image.data, new.data)
        return Plan(
            target,
            operation,
            reading.sha256,
            new.reading.sha256,
            new.steps,
            (*new.notes, *self._holders(target)),
            len(image.data),
            len(new.data),
        )

    def _holders(self, target: Target) -> Iterator[str]:
        held = self._recovery.leases.live(target.session.session_id)
        if held is not None:
            yield f"the session is held until {to_text(held.expires_at)} by process {held.owner_pid}"
        try:
            with alone(target):
                pass
        except SessionBusy as error:
            yield error.message

    def _replace(
        self,
        operation: str,
        session: ResolvedSession,
        compose: Composer,
        preimage_sha256: str | None,
        wanted: Sequence[ReplacementRecord],
        undoes: str | None = None,
    ) -> Receipt:
        receipt = self._run_replacement(operation, session, compose, preimage_sha256, wanted, undoes)
        with contextlib.suppress(OSError, RunnerError):  # it has happened, whatever can be pruned
            self._prune()
        return receipt

    def _prune(self) -> None:
        """Give up what older replacements replaced, beyond the limit; only while nobody replaces."""
        sizes = self._recovery.preimages.sizes() if self.preimage_limit_bytes else {}
        excess = sum(sizes.values()) - self.preimage_limit_bytes
        if not sizes or excess <= 0:
            return
        with self._recovery.journals.exclusive() as is_ours:
            for digest in replacements.droppable(self.store) if is_ours else ():
                if excess <= 0:
                    break
                self._recovery.preimages.drop(digest)
                excess -= sizes.get(digest, 0)

    def _run_replacement(
        self,
        operation: str,
        session: ResolvedSession,
        compose: Composer,
        preimage_sha256: str | None,
        wanted: Sequence[ReplacementRecord],
        undoes: str | None,
    ) -> Receipt:
        replacements.require_shape(self.store)
        target = self._target(session)
        started_at, operation_uuid = to_text(self.clock.now()), str(uuid.uuid4())
        with self._recovery.journals.lock_shared(), self._stage(operation_uuid, target, wanted) as staged:
            self.at_step("staged")
            with self._recovery.leases.hold(session.session_id, session.account, _LEASE_MS) as lease:
                self.at_step("leased")
                self._recovery.mend(session.session_id)
                with alone(target):
                    run = Run(
                        self.store,
                        self.locator,
                        self.clock,
                        recovery=self._recovery,
                        target=target,
                        operation=operation,
                        operation_uuid=operation_uuid,
                        started_at=started_at,
                        lease=lease,
                        undoes=undoes,
                        at_step=self.at_step,
                    )
                    return _receipt(target, operation, operation_uuid, run.carry_out(compose, preimage_sha256, staged))

    @contextmanager
    def _stage(self, operation_uuid: str, target: Target, wanted: Sequence[ReplacementRecord]) -> Iterator[bytes]:
        """Have the input on the disk for the block: there must be room for it before anything is begun."""
        lines = b"".join(render(_canonical(one, target)) for one in wanted)
        folder = self._recovery.journals.staging
        path = folder / f"{operation_uuid}.canonical.jsonl"
        with translate_errors(folder):
            make_folder(folder)
        write(path, lines)
        try:
            yield lines
        finally:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
                folder.rmdir()  # another's input keeps it

    def _target(self, session: ResolvedSession) -> Target:
        storage_type = self.locator.storage(session).storage_type
        if storage_type is StorageType.OTHER:
            raise describe_unsupported(session, "its storage_type is not a format that can be replaced")
        answer = self.locator.transcript(session)
        if answer.path is None:
            raise describe_unsupported(session, answer.problem)
        return Target(session, storage_type, answer.path, self.longest_line)

    @property
    def _recovery(self) -> Recovery:
        return Recovery(self.data, self.clock, lambda: self.store, lambda: self.longest_line)


def _canonical(one: ReplacementRecord, target: Target) -> CanonicalRecord:
    """Return a wanted record as it would be exported; where it will lie is not known yet."""
    source = Source(target.storage_type.value, str(target.path), one.line, 0, 0, one.sha256)
    session = target.session
    return CanonicalRecord(
        session.session_id,
        session.account,
        one.entry_id,
        one.role,
        one.timestamp,
        one.content,
        source,
        one.is_unsupported,
    )


def _receipt(target: Target, operation: str, operation_uuid: str, done: FinishedReplacement) -> Receipt:
    return Receipt(
        target.session.session_id,
        target.session.account,
        target.storage_type,
        operation,
        done.preimage_sha256,
        done.postimage_sha256,
        str(target.path),
        to_text(done.committed_at),
        operation_uuid if done.is_other else None,
        done.notes,
    )

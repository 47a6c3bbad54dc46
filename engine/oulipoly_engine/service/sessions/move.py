"""Move a session to another account: its transcript is copied there, then its chain goes on there (contract, 5.4).

The source stays as it is. The files come first, the transcript last of them, and then the store, in one transaction.
What is about to be copied stands in a journal first: killed in between, the next start finishes the move or undoes it
(`service/rewrite/recovery.py`), and until then nobody reads the target's transcripts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from oulipoly_engine.adapters.scripts import places
from oulipoly_engine.adapters.transcript_file import is_transcript
from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.accounts.accounts import LONGEST_LINE, Account, StorageType
from oulipoly_engine.core.accounts.storage_root import storage_root
from oulipoly_engine.core.sessions.move import MoveReason
from oulipoly_engine.core.sessions.move_journal import MoveJournal
from oulipoly_engine.core.sessions.resolve import ResolvedSession, choose_elsewhere
from oulipoly_engine.errors import MoveRefused, RunnerError, SessionAmbiguous, SessionBusy
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.operations.operations import settled_if_it_fails
from oulipoly_engine.service.sessions import codex_home, copy_transcripts, move_files
from oulipoly_engine.service.sessions.copy_transcripts import Part
from oulipoly_engine.service.sessions.journal import JournalFolder
from oulipoly_engine.service.sessions.lease import Leases, busy
from oulipoly_engine.service.sessions.locate import Locator, find_typed
from oulipoly_engine.service.sessions.owner import open_elsewhere
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions import chains, copied_history
from oulipoly_engine.store.sessions.chains import SegmentMove

_LEASE_MS = 300_000
_LONGEST_NAME = 200  # characters; Claude Code cuts longer folder names there and adds a hash of the path


class Plan(Record):
    """A move that can be carried out."""

    segment: SegmentMove
    storage_type: StorageType
    source: Path  # the session's transcript
    target: Path  # the same on the other account
    parts: tuple[Part, ...]  # what is copied, in this order; empty where both accounts share their folder
    folder: tuple[Path, Path] | None  # claude's folder beside the transcript: large results, sub-agents
    first_line: int  # of the transcript's part that is copied; more than 1 after a compaction
    is_done: bool = False  # by an earlier move: nothing is left to do


class MoveResult(Record):
    """What a move did."""

    plan: Plan
    size_bytes: int  # of the transcript on the target
    files: int  # copied besides
    kept: Path | None  # where the former file of that name on the target lies now


def _do_nothing(_name: str) -> None:
    pass


class Mover(Record):
    """Moves sessions between the configured accounts."""

    store: Store
    locator: Locator
    leases: Leases
    clock: Clock
    journals: JournalFolder
    scan_locks: Path  # the folder of the locks that scans of accounts hold
    read: Callable[[str], object] = _do_nothing  # stores what an account's transcripts have that is not stored yet
    mend: Callable[[str], object] = _do_nothing  # settles what was cut off about a session whose lease we hold
    longest_line: Callable[[], int] = lambda: LONGEST_LINE  # of a transcript, bytes

    def movable(self, names: Iterable[str]) -> frozenset[str]:
        """Return the accounts between which sessions may be moved without being asked: those of Claude Code."""
        return frozenset(name for name in names if self._can_hold(name, StorageType.CLAUDE_CODE))

    def find(self, text: str, target: str) -> ResolvedSession:
        """Return what a person means by the id, or its beginning, of a session that shall go to an account.

        Where the target has it in a chain of its own, the other one is meant. Raises SessionNotFound, SessionAmbiguous.
        """
        try:
            session = find_typed(self.store, text, self.clock.now())
        except SessionAmbiguous:
            elsewhere = choose_elsewhere(chains.find_chains_by_prefix(self.store, text), target)
            if elsewhere is None:
                raise
            return elsewhere
        if session.account != target:
            return session
        owners = chains.find_owning_chains(self.store, session.session_id)
        return choose_elsewhere(owners, target) or session

    def plan(
        self, session: ResolvedSession, target: str, reason: MoveReason, working_directory: Path | None = None
    ) -> Plan:
        """Find out how a session gets to an account, and change nothing.

        working_directory: where the CLI will run; None: where the session has been. claude looks a session up by it.
        Raises MoveRefused, SessionBusy (it is open in a CLI, or leased), SessionAmbiguous (another chain has it open
        there), StorageUnsupported (its transcript cannot be found).
        """
        storage_type = self.locator.storage(session).storage_type
        source_root = self._root(session.account, storage_type, session.session_id)
        if target == session.account:
            origin = copied_history.find_origin(self.store, target, session.session_id)
            if origin is not None:
                return self._plan_again(session, origin, reason, storage_type, source_root)
            raise MoveRefused(f"session {session.session_id} is on account {target!r} already: nothing to do")
        target_root = self._root(target, storage_type, session.session_id)
        segment = SegmentMove(
            session.chain_id, session.account, target, session.session_id, reason.value, self.clock.now()
        )
        rival = chains.find_conflict(self.store, segment)
        self._refuse_open(segment, storage_type, source_root, *(() if rival is None else (target_root,)))
        source = self._transcript(session, source_root)
        planned = self._claude if storage_type is StorageType.CLAUDE_CODE else self._codex
        plan = planned(segment, source, source_root, target_root, working_directory)
        is_shared = plan.source.resolve() == plan.target.resolve()
        if rival is not None:
            plan = self._join(plan, rival, target_root, is_shared=is_shared)
        elif not is_shared:
            self._refuse_stranger(plan)
        return replace(plan, parts=(), folder=None, first_line=1) if is_shared else plan

    def _join(self, plan: Plan, rival: str, target_root: Path, *, is_shared: bool) -> Plan:
        """Return the plan for a target that has the session in a chain of its own, as after a copy by whatever means.

        Nothing is lost: that chain becomes part of ours where one transcript is the beginning of the other. Raises
        SessionAmbiguous where it is not.
        """
        segment = replace(plan.segment, joins=rival)
        part = plan.parts[-1]
        there = replace(part, target=self._rival_transcript(segment, target_root) or part.target)
        if is_shared or there.is_done or there.grows:
            return replace(plan, segment=segment)
        if there.is_ahead:
            ahead = replace(segment, is_ahead=True)
            return replace(plan, segment=ahead, target=there.target, parts=(), folder=None)
        if not there.target.exists():
            chains.check_move(self.store, plan.segment)  # refuses it: whose entries those are cannot be told
        message = (
            f"session {segment.session_id} has gone on on account {segment.from_account!r} ({part.source}) and on "
            f"{segment.to_account!r} ({there.target}): they are two sessions now; go on with one of them by its "
            f"id in agent-runner, {segment.chain_id} or {rival}"
        )
        raise SessionAmbiguous(message, input=segment.session_id)

    def _rival_transcript(self, segment: SegmentMove, root: Path) -> Path | None:
        session = ResolvedSession(segment.joins or "", "", segment.to_account, segment.session_id, segment.at)
        try:
            return self._transcript(session, root)
        except MoveRefused:
            return None

    def _plan_again(
        self, session: ResolvedSession, origin: str, reason: MoveReason, storage_type: StorageType, root: Path
    ) -> Plan:
        """Return the plan of a move that has been done: whoever was killed, or saw it fail, asks for it again."""
        transcript = self._transcript(session, root)
        segment = SegmentMove(
            session.chain_id, origin, session.account, session.session_id, reason.value, self.clock.now()
        )
        return Plan(segment, storage_type, transcript, transcript, (), None, 1, is_done=True)

    def carry_out(self, plan: Plan) -> MoveResult:
        """Do it. Raises as `plan` does, and RunnerError where no journal can be written; then nothing has changed."""
        if plan.is_done:
            return MoveResult(plan, plan.target.stat().st_size, 0, None)
        started_at, segment = to_text(self.clock.now()), plan.segment
        with self.journals.lock_shared(), self.leases.hold(segment.session_id, segment.from_account, _LEASE_MS):
            self.mend(segment.session_id)
            chains.check_move(self.store, segment)
            if any(part.target.exists() for part in plan.parts):
                self.read(segment.to_account)  # once it is set aside, nobody looks into it any more
            with move_files.hold_scans(self.scan_locks, segment.to_account):
                return self._carry_out(self._look_again(plan), started_at)

    def _look_again(self, plan: Plan) -> Plan:
        """Return the plan as it is now that no other move to the account goes on.

        One that did may have brought a forked rollout's parent, or have taken it back. Raises MoveRefused.
        """
        if plan.storage_type is not StorageType.CODEX_SESSION or not plan.parts:
            return plan
        segment = plan.segment
        source_root = self._root(segment.from_account, plan.storage_type, segment.session_id)
        target_root = self._root(segment.to_account, plan.storage_type, segment.session_id)
        return self._codex(segment, plan.source, source_root, target_root, None)

    def _carry_out(self, plan: Plan, started_at: str) -> MoveResult:
        segment = replace(plan.segment, at=self.clock.now())
        parts = plan.parts if plan.folder is None else (*copy_transcripts.list_folder(*plan.folder), *plan.parts)
        with self._journal(segment, parts, started_at):
            done = [copy_transcripts.carry(part, to_text(segment.at)) for part in parts]
            chains.move_segment(self.store, segment)
        last = done[-1] if done else None
        size_bytes = plan.target.stat().st_size if last is None else last.size_bytes
        kept = None if last is None or last.kept is None or not last.kept.exists() else last.kept
        return MoveResult(plan, size_bytes, max(0, len(done) - 1), kept)

    @contextmanager
    def _journal(self, segment: SegmentMove, parts: tuple[Part, ...], started_at: str) -> Iterator[None]:
        """Have the journal for the block, which leaves nothing behind where it fails."""
        if not parts:  # both accounts share their folder: the store alone changes, at once
            yield
            return
        try:
            files = move_files.list_files(parts)
        except OSError as error:
            message = f"{error.filename} cannot be read: {error.strerror or error}; nothing was moved"
            raise MoveRefused(message) from error
        journal = MoveJournal(
            segment.session_id,
            segment.chain_id,
            segment.from_account,
            segment.to_account,
            segment.reason,
            started_at,
            to_text(segment.at),
            files,
            segment.joins,
            segment.parents,
        )
        self.journals.publish(segment.session_id, journal.to_bytes())
        with settled_if_it_fails(lambda _why: self._undo(journal)):
            yield
        move_files.drop_kept(journal)
        with contextlib.suppress(RunnerError):  # it has happened, as the next start sees
            self.journals.remove(segment.session_id, with_lines=False)

    def _undo(self, journal: MoveJournal) -> None:
        if chains.find_owner(self.store, journal.chain_id) != journal.to_account:  # else ^C came just behind it
            move_files.undo(self.store, self.journals, journal)
        self.journals.remove(journal.session_id, with_lines=False)

    def _claude(
        self, segment: SegmentMove, source: Path, source_root: Path, target_root: Path, working_directory: Path | None
    ) -> Plan:
        name = _project_name(source, source_root, target_root, working_directory)
        target = target_root / name / f"{segment.session_id}.jsonl"
        start, first_line = self._start(segment, source)
        beside = source.with_name(segment.session_id)
        has_folder = beside.is_dir() and not beside.is_symlink()
        folder = (beside, target.with_name(segment.session_id)) if has_folder else None
        part = Part(source, target, start)
        return Plan(segment, StorageType.CLAUDE_CODE, source, target, (part,), folder, first_line)

    def _start(self, segment: SegmentMove, source: Path) -> tuple[int, int]:
        """Return the byte and the line from which a transcript is copied: what lies before a compaction stays."""
        boundary = chains.last_boundary(self.store, segment.from_account, segment.session_id)
        if boundary is None:
            return 0, 1
        try:
            found = copy_transcripts.first_line_with(source, boundary, self.longest_line())
        except OSError as error:
            raise MoveRefused(f"the transcript {source} cannot be read: {error.strerror or error}") from error
        if found is None:
            raise MoveRefused(
                f"session {segment.session_id} was compacted at turn {boundary}, which {source} does not hold: the "
                "file is not the one that was ingested; run `agents session scan --again`"
            )
        return found

    def _codex(
        self, segment: SegmentMove, source: Path, source_root: Path, target_root: Path, _workplace: Path | None
    ) -> Plan:
        target = target_root / _below(source, source_root)
        parents = self._codex_parents(segment, source, source_root, target_root)
        parts = (*parents.values(), Part(source, target))
        segment = replace(segment, parents=tuple(parents))
        return Plan(segment, StorageType.CODEX_SESSION, source, target, parts, None, 1)

    def _codex_parents(
        self, segment: SegmentMove, source: Path, source_root: Path, target_root: Path
    ) -> dict[str, Part]:
        """Return the rollouts that a forked one builds on and that the target lacks by session, the eldest first."""
        account = self.locator.accounts[segment.to_account]
        found: dict[str, Part] = {}
        current, seen = source, {segment.session_id}
        while True:
            try:
                rollout = codex_home.read_rollout(current)
            except OSError as error:
                raise MoveRefused(f"the rollout {current} cannot be read: {error.strerror or error}") from error
            if rollout is None:
                message = f"the rollout {current} does not begin with a session_meta record: codex would not take it"
                raise MoveRefused(message)
            problem = codex_home.refusal(rollout, account, target_root)
            if problem is not None:
                message = f"session {segment.session_id} cannot go to account {segment.to_account!r}: {problem}"
                raise MoveRefused(message)
            if rollout.parent is None or rollout.parent in seen:
                return dict(reversed(found.items()))
            seen.add(rollout.parent)
            current = self._parent_rollout(segment, rollout.parent, source_root)
            part = Part(current, target_root / _below(current, source_root))
            if not part.target.exists():
                found[rollout.parent] = part
            elif not part.agrees_up_to(rollout.parent_bytes):
                raise MoveRefused(
                    f"session {segment.session_id} was forked from {rollout.parent}, of which account "
                    f"{segment.to_account!r} has another version, {part.target}: move that file away first"
                )

    def _parent_rollout(self, segment: SegmentMove, parent: str, source_root: Path) -> Path:
        path = places.locate_codex(places.Folder(source_root), parent)
        if path is None:
            raise MoveRefused(
                f"session {segment.session_id} was forked from {parent}, whose rollout is not below {source_root}: "
                "codex could not go on with it anywhere"
            )
        return path

    def _root(self, name: str, storage_type: StorageType, session_id: str) -> Path:
        """Return an account's folder of transcripts. Raises MoveRefused when it cannot take or give a session."""
        account = self.locator.accounts.get(name)
        problem = _unfit(account, name, storage_type)
        root = None if account is None else storage_root(account, self.locator.home)
        if problem is None and root is None:
            problem = f"the scripts of [{name}.session_storage] do not say in which folder its sessions lie"
        if problem is not None or root is None:
            raise MoveRefused(f"session {session_id} cannot be moved: {problem}")
        return root

    def _can_hold(self, name: str, storage_type: StorageType) -> bool:
        account = self.locator.accounts.get(name)
        if account is None or _unfit(account, name, storage_type) is not None:
            return False
        return storage_root(account, self.locator.home) is not None

    def _refuse_open(self, segment: SegmentMove, storage_type: StorageType, *roots: Path) -> None:
        lease = self.leases.live(segment.session_id)
        if lease is not None:
            raise busy(lease, self.leases.path(segment.session_id))
        owners = (open_elsewhere(storage_type, root, segment.session_id) for root in roots)
        owner = next(filter(None, owners), None)
        if owner is not None:
            raise SessionBusy(f"session {segment.session_id} is open ({owner}): leave it there, then move it")

    def _transcript(self, session: ResolvedSession, root: Path) -> Path:
        """Return the transcript: where the locator says, else the file of that name below claude's projects."""
        answer = self.locator.transcript(session)
        if answer.path is not None:
            return answer.path
        found = next(filter(is_transcript, root.glob(f"*/{session.session_id}.jsonl")), None)
        if found is None:
            raise MoveRefused(f"session {session.session_id} cannot be moved: {answer.problem}")
        return found.parent.resolve() / found.name

    def _refuse_stranger(self, plan: Plan) -> None:
        """Refuse to replace a transcript on the target that is not known to be an older state of this one."""
        part = plan.parts[-1]
        copy_transcripts.refuse_link(part.target)
        if not part.target.exists() or part.is_done or part.grows:
            return
        segment = plan.segment
        if not chains.has_segment(self.store, segment.chain_id, segment.to_account, segment.session_id):
            raise MoveRefused(
                f"account {segment.to_account!r} has a transcript of session {segment.session_id} that goes another "
                f"way, {part.target}: move that file away first"
            )


def receipt(plan: Plan, moved: MoveResult | None) -> dict[str, object]:
    """Return what `session move` prints; moved: None where nothing was done."""
    segment = plan.segment
    return {
        "session_id": segment.session_id,
        "chain_id": segment.chain_id,
        "from_provider": segment.from_account,
        "provider_name": segment.to_account,
        "storage_type": plan.storage_type.value,
        "reason": segment.reason,
        "source_path": str(plan.source),
        "jsonl_path": str(plan.target),
        "first_line": plan.first_line,
        "dry_run": moved is None,
        "bytes": plan.source.stat().st_size - plan.parts[-1].start if moved is None and plan.parts else _bytes(moved),
        "files_beside": None if moved is None else moved.files,
        "kept_path": None if moved is None or moved.kept is None else str(moved.kept),
    }


def _bytes(moved: MoveResult | None) -> int:
    return 0 if moved is None else moved.size_bytes


def _unfit(account: Account | None, name: str, storage_type: StorageType) -> str | None:
    if account is None:
        return f"there is no account {name!r}; `agents account list` shows them"
    if account.resume is None:
        return f"account {name!r} has no [{name}.resume] table, so nothing could go on there"
    if account.storage is None:
        return f"account {name!r} has no [{name}.session_storage] block"
    if storage_type is StorageType.OTHER:
        return "its storage_type is neither claude_code nor codex_session, the only ones that can be moved"
    if account.storage.storage_type is not storage_type:
        return (
            f"its transcript is of type {storage_type.value}, and account {name!r} keeps "
            f"{account.storage.storage_type.value}"
        )
    return None


def _project_name(source: Path, source_root: Path, target_root: Path, working_directory: Path | None) -> str:
    """Return the name of the folder in which claude will look the session up.

    The hash in a long name is Claude Code's own: it is taken from a folder that has it already.
    """
    below = _below(source, source_root).parts
    present = below[0] if len(below) > 1 else source.parent.name
    if working_directory is None:
        return present
    try:
        place = str(working_directory.resolve(strict=True))
    except (OSError, RuntimeError):
        place = str(working_directory)
    name = places.encode_project_dir(place)
    if len(name) <= _LONGEST_NAME:
        return name
    beginning = f"{name[:_LONGEST_NAME]}-"
    known = [present, *(entry.name for entry in os.scandir(target_root))] if target_root.is_dir() else [present]
    found = next((entry for entry in known if entry.startswith(beginning)), None)
    if found is None:
        raise MoveRefused(
            f"the path of {working_directory} is too long for a name that could be told beforehand: start the CLI of "
            "the other account there once, then move the session"
        )
    return found


def _below(path: Path, root: Path) -> Path:
    """Return a path below a root, links resolved; its bare name where it lies elsewhere."""
    try:
        return path.resolve().relative_to(root.resolve())
    except (ValueError, OSError, RuntimeError):
        return Path(path.name)

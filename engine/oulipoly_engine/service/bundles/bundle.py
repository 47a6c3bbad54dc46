"""Pack a session: the transcripts of its segments with all they need, and what is known of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.adapters.transcript_file import open_transcript
from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.archive.bundle import (
    BundledFile,
    BundledSegment,
    BundleRefused,
    Manifest,
    Role,
    member_name,
    read_manifest,
    rollout_day,
    write_manifest,
)
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.errors import RunnerError, SessionNotFound, StorageUnsupported
from oulipoly_engine.records import Record, field, replace
from oulipoly_engine.service.archive.archive import Archive
from oulipoly_engine.service.bundles.bundle_file import write_bundle
from oulipoly_engine.service.sessions.locate import Locator, describe_unsupported
from oulipoly_engine.service.transcripts.files import own_folder
from oulipoly_engine.store.archive.bundled import StoredSegment, chain_row
from oulipoly_engine.store.base.db import Store

_BLOCK = 1 << 20
_FIRST_LINE = 16 << 20  # bytes; a session_meta holds the instructions, some 100 kB
_MOST_PARENTS = 100


class _Source(Record):
    """A file that goes into a bundle, before it is counted and hashed."""

    role: Role
    session_id: str
    name: str
    open: Callable[[], BinaryIO]


class Packing(Record, frozen=False):
    """A bundle that is ready to be written."""

    manifest: Manifest
    missing: tuple[str, ...]
    _open: Mapping[str, Callable[[], BinaryIO]] = field(default_factory=dict)  # by member

    def write(self, write: Callable[[bytes], object]) -> None:
        """Write it. Raises RunnerError when a file was rewritten or cannot be read any more."""
        write_bundle(self.manifest, self._contents, write)

    def _contents(self, file: BundledFile) -> Iterator[bytes]:
        with _open_to_read(file.name, self._open[file.member]) as source:
            while block := source.read(_BLOCK):
                yield block


class Bundler(Record):
    """Packs sessions."""

    store: Store
    locator: Locator
    archive: Archive
    clock: Clock

    def pack(self, session: ResolvedSession) -> Packing:
        """Find and hash all that belongs to a session's chain.

        Raises StorageUnsupported when the transcript of its active segment is neither there nor kept, or cannot be
        placed elsewhere, and RunnerError for what cannot be read.
        """
        chain = chain_row(self.store, session.chain_id)
        if chain is None:
            message = f"the session {session.chain_id} is gone: it was removed a moment ago"
            raise SessionNotFound(message, input=session.chain_id)
        segments: list[BundledSegment] = []
        missing: list[str] = []
        opened: dict[str, Callable[[], BinaryIO]] = {}
        for row in chain.segments:
            is_active = (row.account, row.session_id) == (session.account, session.session_id)
            owner = replace(session, account=row.account, session_id=row.session_id)
            try:
                segments.append(self._segment(owner, row, opened))
            except StorageUnsupported as error:
                if is_active:
                    raise
                missing.append(error.message)
        manifest = Manifest(
            chain_id=chain.chain_id,
            model=chain.model,
            created_at=to_text(self.clock.now()),
            last_used_at=chain.last_used_at,
            segments=tuple(segments),
            name=chain.name,
            note=chain.note,
        )
        try:
            read_manifest(write_manifest(manifest))
        except BundleRefused as error:  # what nobody could unbundle is not to be found out there
            raise describe_unsupported(session, f"no machine would take it: {error}") from error
        return Packing(manifest, tuple(missing), opened)

    def _segment(
        self, session: ResolvedSession, row: StoredSegment, opened: dict[str, Callable[[], BinaryIO]]
    ) -> BundledSegment:
        kind = self.locator.storage(session).storage_type
        if kind is StorageType.OTHER:
            raise describe_unsupported(session, "its storage_type is not a format that can be carried elsewhere")
        files = []
        for source in self._sources(session, kind):
            member = member_name(len(opened) + 1, source.role)
            with _open_to_read(source.name, source.open) as file:
                size, digest = _hash(file)
            opened[member] = source.open
            files.append(BundledFile(member, source.role, source.session_id, source.name, size, digest))
        workspace = self.locator.workspace(session).path
        return BundledSegment(
            account=row.account,
            session_id=row.session_id,
            storage_type=kind,
            started_at=row.started_at,
            ended_at=row.ended_at,
            last_turn_id=row.last_turn_id,
            workspace=None if workspace is None else str(workspace),
            files=tuple(files),
        )

    def _sources(self, session: ResolvedSession, kind: StorageType) -> list[_Source]:
        """Return a session's files: Codex's parents, what lies in Claude's own folder, the transcript last."""
        answer = self.locator.transcript(session)
        if answer.path is None:
            return self._find_kept_sources(session, kind, answer.problem)
        own = _of_path(Role.TRANSCRIPT, session.session_id, answer.path, _own_name(session, kind, answer.path))
        if kind is StorageType.CLAUDE_CODE:
            parts = [_of_path(Role.PART, session.session_id, path, part) for part, path in own_folder(answer.path)]
            return [*parts, own]
        return [*self._parents(session, answer.path), own]

    def _find_kept_sources(self, session: ResolvedSession, kind: StorageType, problem: str) -> list[_Source]:
        copies = self.archive.parts(session.account, session.session_id)
        if not copies:
            raise describe_unsupported(session, f"{problem}; and no copy of it is kept")
        transcript, *parts = copies
        sources = [
            _Source(Role.PART, session.session_id, copy.part, partial(self.archive.open, copy)) for copy in parts
        ]
        name = _own_name(session, kind, transcript.path)
        return [*sources, _Source(Role.TRANSCRIPT, session.session_id, name, partial(self.archive.open, transcript))]

    def _parents(self, session: ResolvedSession, rollout: Path) -> list[_Source]:
        """Return the rollouts that a Codex fork goes on from, the eldest first; a fork holds no copy of them."""
        found: list[_Source] = []
        seen, path = {session.session_id}, rollout
        while len(seen) < _MOST_PARENTS:
            parent = _find_fork_origin(path)
            if parent is None or parent in seen:
                break
            seen.add(parent)
            answer = self.locator.transcript(replace(session, session_id=parent))
            if answer.path is None:
                break  # the fork is as incomplete there as it is here
            path = answer.path
            found.insert(0, _of_path(Role.PARENT, parent, path, _own_name(session, StorageType.CODEX_SESSION, path)))
        return found


def _own_name(session: ResolvedSession, kind: StorageType, path: Path) -> str:
    """Return the name under which a transcript will be found elsewhere."""
    if kind is StorageType.CLAUDE_CODE:
        return f"{session.session_id}.jsonl"
    try:
        rollout_day(path.name)
    except ValueError as error:
        raise describe_unsupported(session, str(error)) from error
    return path.name


def _of_path(role: Role, session_id: str, path: Path, name: str) -> _Source:
    return _Source(role, session_id, name, partial(_open_path, path))


def _open_path(path: Path) -> BinaryIO:
    return open_transcript(path)


def _find_fork_origin(rollout: Path) -> str | None:
    """Return the thread whose history a rollout's first line refers to."""
    try:
        with open_transcript(rollout) as file:
            record = json.loads(file.readline(_FIRST_LINE))
    except (OSError, ValueError, RecursionError):
        return None
    payload = record.get("payload") if isinstance(record, dict) else None
    base = payload.get("history_base") if isinstance(payload, dict) else None
    parent = base.get("thread_id") if isinstance(base, dict) else None
    return parent.lower() if isinstance(parent, str) else None


def _hash(file: BinaryIO) -> tuple[int, str]:
    digest, size = sha256(), 0
    while block := file.read(_BLOCK):
        digest.update(block)
        size += len(block)
    return size, digest.hexdigest()


@contextmanager
def _open_to_read(name: str, open_file: Callable[[], BinaryIO]) -> Iterator[BinaryIO]:
    try:
        with open_file() as file:
            yield file
    except OSError as error:
        raise RunnerError(f"{name} cannot be read for the bundle: {error.strerror or error}") from error

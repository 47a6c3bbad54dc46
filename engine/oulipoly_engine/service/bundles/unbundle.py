"""Unpack a session: everything is checked before the first file is written, and a kill leaves nothing half there.

The bundle is staged in our own folder first. Then each file gets its place by one rename, the transcript last, and at
the end the rows are written; a run that was killed is simply done again, for what is there already counts as done.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.archive.bundle import BundledFile, Manifest, Role
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.bundles.bundle_file import BundleInvalid, BundleReader
from oulipoly_engine.service.bundles.placement import Placement, PlaceTaken, choose_workspace, place, provider_warning
from oulipoly_engine.service.transcripts.atomic_file import FileExists, new_file, temporary_of
from oulipoly_engine.service.transcripts.files import Home
from oulipoly_engine.store.archive.bundled import StoredChain, StoredSegment, adopt
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions import copied_history
from oulipoly_engine.store.transcripts import entries

_BLOCK = 1 << 20
_FIRST_LINE = 16 << 20  # bytes
_SUFFIX = "unbundling"
_PATIENCE_S = 30.0  # for another one that unpacks


class Receipt(Record):
    """What came of a bundle."""

    manifest: Manifest
    placements: tuple[Placement, ...]
    workspace: Path
    chain_id: str | None  # here; None: nothing was written
    was_known: bool = False  # a chain here has held the session already
    warnings: tuple[str, ...] = ()


class _StagedFiles(Record, frozen=False):
    """The checked files of a bundle."""

    folder: Path | None  # None: they were only checked
    first_lines: dict[str, Mapping[str, object]] = field(default_factory=dict)  # of rollouts, by member

    def path(self, file: BundledFile) -> Path:
        assert self.folder is not None  # noqa: S101 - nothing is placed that was not staged
        return self.folder / file.member.rpartition("/")[2]


class Unbundler(Record):
    """Unpacks sessions."""

    store: Store
    homes: Mapping[str, Home]
    models: Collection[str]  # that are configured
    staging: Path  # a folder of ours
    clock: Clock
    placed: Callable[[Path], None] | None = None  # told of each file that has just got its place

    def unpack(
        self, raw: BinaryIO, *, account: str | None = None, cwd: Path | None = None, dry_run: bool = False
    ) -> Receipt:
        """Check a bundle, put its files where this machine's CLIs look for them, and make its chain known.

        Raises BundleInvalid, PlaceTaken, AccountUnusable and UsageInvalid before anything is written, and RunnerError
        for what the disk refuses.
        """
        reader = BundleReader(raw)
        manifest = reader.manifest()
        workspace = choose_workspace(manifest, cwd)
        placements = place(manifest, self.homes, account, workspace)
        self._require_room(manifest, placements)
        with self._hold_staging(dry_run=dry_run) as folder:
            staged = _StagedFiles(folder)
            self._stage(reader, manifest, staged)
            warnings = self._warnings(placements, staged)
            if dry_run:
                return Receipt(manifest, placements, workspace, None, warnings=warnings)
            placements = place(manifest, self.homes, account, workspace)  # a slow pipe leaves time for much
            self._mark_copied(placements)
            for placement in placements:
                self._write(placement, staged)
        chain_id, was_known = adopt(self.store, self._chain(manifest, placements), to_text(self.clock.now()))
        return Receipt(manifest, placements, workspace, chain_id, was_known, warnings)

    def _stage(self, reader: BundleReader, manifest: Manifest, staged: _StagedFiles) -> None:
        kinds = {file.member: segment.storage_type for segment in manifest.segments for file in segment.files}
        for file in manifest.files:
            head = bytearray()
            wants_head = kinds[file.member] is StorageType.CODEX_SESSION
            with _target(staged, file) as write:
                for block in reader.member(file):
                    write(block)
                    if wants_head and len(head) < _FIRST_LINE and b"\n" not in head:
                        head += block
            if wants_head:
                staged.first_lines[file.member] = _session_meta(bytes(head), file)
        reader.end()

    def _require_room(self, manifest: Manifest, placements: tuple[Placement, ...]) -> None:
        """Raise RunnerError unless all of it fits, on our disk and on the accounts'; what it says is checked later."""
        needs = [(self.staging, sum(file.size_bytes for file in manifest.files))]
        for placement in placements:
            new = sum(one.file.size_bytes for one in placement.files if not one.is_there)
            if new:
                needs.append((self.homes[placement.account].root, new))
        needed: dict[int, int] = {}
        for folder, size in needs:
            there = next(one for one in (folder, *folder.absolute().parents) if one.is_dir())
            device = there.stat().st_dev
            needed[device] = needed.get(device, 0) + size
            free = shutil.disk_usage(there).free
            if needed[device] > free:
                message = f"the bundle needs {needed[device] >> 20} MB, and {there} has room for {free >> 20} MB"
                raise RunnerError(message)

    def _warnings(self, placements: tuple[Placement, ...], staged: _StagedFiles) -> tuple[str, ...]:
        found = (
            provider_warning(staged.first_lines[one.file.member], self.homes[placement.account])
            for placement in placements
            for one in placement.files
            if one.file.member in staged.first_lines and one.file.role is Role.TRANSCRIPT
        )
        return tuple(warning for warning in found if warning is not None)

    def _mark_copied(self, placements: tuple[Placement, ...]) -> None:
        """Note that what the sessions have said was no work of the accounts, but for what these are known to have done.

        Before any file is placed, for a scan may come at any time; a mark without a file does no harm.
        """
        at = to_text(self.clock.now())
        with self.store.write():
            for placement in placements:
                for session_id in {one.file.session_id for one in placement.files if not one.is_there}:
                    if not entries.count(self.store, placement.account, session_id).entries:
                        copied_history.mark(self.store, placement.account, session_id, None, at)

    def _write(self, placement: Placement, staged: _StagedFiles) -> None:
        for one in placement.files:
            if one.is_there:
                temporary_of(one.path, _SUFFIX).unlink(missing_ok=True)  # a kill came just behind its naming
                continue
            try:
                make_folder(one.path.parent)
                with staged.path(one.file).open("rb") as source, new_file(one.path, suffix=_SUFFIX) as file:
                    shutil.copyfileobj(source, file, _BLOCK)
            except FileExists as error:
                message = f"{one.path} appeared a moment ago: run it again, which goes on from here"
                raise PlaceTaken(message, path=str(one.path)) from error
            except OSError as error:
                message = (
                    f"{one.path} cannot be written: {error.strerror or error}; run it again, which goes on from here"
                )
                raise RunnerError(message) from error
            if self.placed is not None:
                self.placed(one.path)

    def _chain(self, manifest: Manifest, placements: tuple[Placement, ...]) -> StoredChain:
        segments = tuple(
            StoredSegment(
                placement.account,
                placement.segment.session_id,
                placement.segment.started_at,
                placement.segment.ended_at,
                placement.segment.last_turn_id,
            )
            for placement in placements
            if placement.left_out is None
        )
        model = manifest.model if manifest.model in self.models else UNKNOWN_MODEL
        return StoredChain(manifest.chain_id, model, manifest.last_used_at, segments, manifest.name, manifest.note)

    @contextmanager
    def _hold_staging(self, *, dry_run: bool) -> Iterator[Path | None]:
        """Hold the staging folder, empty; what a killed run left in it goes."""
        if dry_run:
            yield None
            return
        try:
            with self._lock():
                folder = self.staging / "files"
                shutil.rmtree(folder, ignore_errors=True)
                make_folder(folder)
                try:
                    yield folder
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
        except OSError as error:
            message = f"the bundle cannot be staged in {self.staging}: {error.strerror or error}; free some space"
            raise RunnerError(message) from error

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with hold_lock(self.staging / "unbundle.lock", _PATIENCE_S) as is_ours:
            if not is_ours:
                raise RunnerError("another process is unpacking a bundle: try again when it is done")
            yield


@contextmanager
def _target(staged: _StagedFiles, file: BundledFile) -> Iterator[Callable[[bytes], object]]:
    """Yield what takes a file's bytes."""
    if staged.folder is None:
        yield len
        return
    descriptor = open_private(staged.path(file), os.O_WRONLY | os.O_EXCL)
    with os.fdopen(descriptor, "wb", buffering=_BLOCK) as target:
        yield target.write


def _session_meta(head: bytes, file: BundledFile) -> Mapping[str, object]:
    """Return a rollout's first record, whose id must be the session's: Codex goes by it, not by the file's name."""
    try:
        record = json.loads(head.partition(b"\n")[0])
    except (ValueError, RecursionError):
        record = None
    payload = record.get("payload") if isinstance(record, dict) else None
    inner = payload.get("id") if isinstance(payload, dict) else None
    if not isinstance(record, dict) or not isinstance(inner, str) or inner.lower() != file.session_id:
        message = f"the bundle cannot be taken, and nothing was written: {file.name} is another session's rollout"
        raise BundleInvalid(message)
    return record

"""Sessions as one file each, to carry them to another machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.core.archive.bundle import Manifest
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.base import upkeep
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.facade.sessions.values import Unpacked, translate_disk_errors
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import open_regular
from oulipoly_engine.service.bundles.bundle import Bundler
from oulipoly_engine.service.bundles.placement import PlacedFile
from oulipoly_engine.service.bundles.unbundle import Receipt, Unbundler
from oulipoly_engine.service.transcripts.atomic_file import new_file
from oulipoly_engine.store.base.db import Store

__all__ = ["PlacedFile", "Receipt"]


class Packed(Record):
    """A bundle that was written."""

    path: Path
    size_bytes: int
    manifest: Manifest
    missing: tuple[str, ...]  # what belongs to the session and could not be had


class SessionBundles(SessionPart):
    """The bundles of one user's sessions."""

    def pack(self, text: str, path: Path, *, force: bool = False) -> Packed:
        """Pack a session with all that resuming it elsewhere needs. Raises FileExists unless it may be replaced."""
        self._home.refuse_if_read_only("write files")
        with self._session(text) as (store, session):
            packing = self._bundler(store).pack(session)
            with translate_disk_errors(path), new_file(path, force=force) as file:
                packing.write(file.write)
        return Packed(path, path.stat().st_size, packing.manifest, packing.missing)

    def send(self, text: str, write: Callable[[bytes], object]) -> None:
        """Pack a session, and hand the bundle over piece by piece."""
        with self._session(text) as (store, session):
            self._bundler(store).pack(session).write(write)

    def plan(self, path: Path, account: str | None = None, folder: Path | None = None) -> Unpacked:
        """Check a bundle and say what unpacking it would do; nothing is written. Raises as `unpack`."""
        return _summarise_receipt(self._receive_file(path, account, folder, dry_run=True))

    def unpack(self, path: Path, account: str | None = None, folder: Path | None = None) -> Unpacked:
        """Unpack a session so that it goes on here: on the account of the same name, in the folder that it was in.

        Raises RunnerError for a bundle that is none, no account that takes it, a file in the way, a folder that is not
        here.
        """
        self._home.refuse_if_read_only("unpack a session")
        done = self._receive_file(path, account, folder, dry_run=False)
        self.read_unpacked(done)
        return _summarise_receipt(done)

    def receive(self, raw: BinaryIO, account: str | None, folder: Path | None, *, dry_run: bool) -> Receipt:
        """Unpack a bundle from a stream, or only check it. Raises as `unpack`."""
        if not dry_run:
            self._home.refuse_if_read_only("unpack a session")
        with self._home.lend_store() as store:
            done = self._unbundler(store).unpack(raw, account=account, cwd=folder, dry_run=dry_run)
        if not dry_run:
            self._tell()
        return done

    def read_unpacked(self, receipt: Receipt) -> None:
        """Store the entries of what was unpacked, as far as the accounts' readers are bundled ones."""
        accounts = [one.account for one in receipt.placements if one.left_out is None]
        with self._home.lend_store() as store:
            upkeep.read_placed(self._home, store, accounts)
        self._tell()

    def _receive_file(self, path: Path, account: str | None, folder: Path | None, *, dry_run: bool) -> Receipt:
        try:
            with open_regular(path) as raw:
                return self.receive(raw, account, folder, dry_run=dry_run)
        except OSError as error:
            raise RunnerError(f"the bundle {path} cannot be read: {error.strerror or error}") from error

    def _bundler(self, store: Store) -> Bundler:
        return Bundler(store, self._locator(), self._archive(store), self._home.clock)

    def _unbundler(self, store: Store) -> Unbundler:
        home = self._home
        homes, models = self._archive(store).homes, home.quiet_files.model_names()
        return Unbundler(store, homes, models, home.paths.data / "unbundling", home.clock)


def _summarise_receipt(done: Receipt) -> Unpacked:
    last = done.placements[-1]
    files = sum(len(one.files) for one in done.placements if one.left_out is None)
    return Unpacked(last.segment.session_id, last.account, done.workspace, files, done.was_known, done.warnings)

"""What the app orders about the files of conversations: copies, exports, bundles; a part of the facade for sessions.

As there, every method blocks, may be called from any thread, and opens and closes this thread's connection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine import stopping
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.sessions.sessions import Conversation
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade.values import (
    FORMATS,
    SUFFIXES,
    Exported,
    ExportWish,
    Unpacked,
    file_names,
    limited,
    refused,
    wanted,
    written,
)
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.service.transcripts.atomic_file import new_file
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions.sessions import conversations

if TYPE_CHECKING:
    from oulipoly_engine.clock import Clock
    from oulipoly_engine.facade.home import Home
    from oulipoly_engine.service.archive.archive import Archive
    from oulipoly_engine.service.archive.keeper import ArchiveKeeper, Kept
    from oulipoly_engine.service.bundles.unbundle import Receipt, Unbundler
    from oulipoly_engine.service.reading.documents import Documents, Preview
    from oulipoly_engine.service.reading.export import Exporter

_PATIENCE_S = 20.0  # for another process that archives
_KEEPING_S = 2.0  # of copying after a scan; the next one goes on


class SessionFiles:
    """The files of one user's conversations."""

    _home: Home
    _clock: Clock
    _stored: Callable[[], AbstractContextManager[Store]]
    _now: Callable[[], datetime]
    _tell: Callable[[], None]
    _locator: Callable[[], Locator]
    _session: Callable[[Store, str], ResolvedSession]
    _conversation: Callable[[Store, str], Conversation]
    _refuse_if_read_only: Callable[[str], None]

    def archive(self, chain_ids: Sequence[str]) -> str:
        """Keep copies of what the conversations' accounts have written; return what came of it, in a sentence."""
        self._refuse_if_read_only("archive")
        with self._stored() as store:
            parts = [one.active for one in conversations(store, chain_ids)]
            keeper = self._keeper(store)
            _kept(keeper, {part.account for part in parts})
            kept = sum(keeper.archive.kept(part.account, part.session_id) is not None for part in parts)
        self._tell()
        return f"{kept} of {len(parts)} conversations are in the archive"

    def archive_all(self) -> str:
        """Keep copies of what every account has written; return what came of it, in a sentence."""
        self._refuse_if_read_only("archive")
        with self._stored() as store:
            done = _kept(self._keeper(store), None)
        self._tell()
        stopping.check()
        return f"{done.kept} of {done.looked_at} files kept anew"

    def restore(self, chain_id: str) -> str:
        """Put a kept copy back where its CLI had it; return what came of it, in a sentence."""
        self._refuse_if_read_only("restore a transcript")
        with self._stored() as store:
            part = self._conversation(store, chain_id).active
            done = self._archive(store).restore(part.account, part.session_id)
        self._tell()
        return f"{len(done)} file{'s' * (len(done) != 1)} put back: {done[0].path}"

    def preview(self, chain_id: str, wish: ExportWish, turns: int = 20) -> Preview | str:
        """Return the first turns as they would be shown; of canonical lines the first ones as text."""
        with self._stored() as store:
            session = self._session(store, chain_id)
            if wish.format == "canonical-jsonl":
                with self._exporter(store).exported(session) as export:
                    return "".join(block.decode("utf-8", "replace") for block in limited(export.blocks(), 4_000))
            return self._documents(store).preview(session, turns, wanted(wish), redacting=wish.redacting)

    def export(self, chain_id: str, wish: ExportWish, path: Path, *, force: bool = False) -> Exported:
        """Write a conversation to a file, whole or not at all."""
        self._refuse_if_read_only("write files")
        if wish.format not in FORMATS:
            message = f"there is no format {wish.format!r}: {', '.join(FORMATS)}"
            raise UsageInvalid(message)
        with self._stored() as store:
            session = self._session(store, chain_id)
            if wish.format == "canonical-jsonl":
                with self._exporter(store).exported(session) as export:
                    return written(path, export.blocks(), force=force)
            from oulipoly_engine.core.transcripts.document_head import Format  # noqa: PLC0415 - only documents need it
            from oulipoly_engine.service.reading.documents import Style  # noqa: PLC0415 - as above

            style = Style(Format(wish.format), wanted(wish), wish.redacting)
            with self._documents(store).rendered(session, style) as document:
                return written(path, document.blocks(), force=force)

    def export_names(self, found: Sequence[Conversation], wish: ExportWish) -> tuple[str, ...]:
        """Return the file names that are offered, no two alike."""
        return file_names([one.active for one in found], SUFFIXES.get(wish.format, "txt"))

    def bundle(self, chain_id: str, path: Path, *, force: bool = False) -> Exported:
        """Pack a conversation with all that resuming it elsewhere needs."""
        self._refuse_if_read_only("write files")
        from oulipoly_engine.service.bundles.bundle import Bundler  # noqa: PLC0415 - only who packs needs it

        with self._stored() as store:
            session = self._session(store, chain_id)
            packing = Bundler(store, self._locator(), self._archive(store), self._clock).pack(session)
            with refused(path), new_file(path, force=force) as file:
                packing.write(file.write)
        return Exported(path, path.stat().st_size, packing.missing)

    def plan_unbundle(self, path: Path, account: str | None = None, folder: Path | None = None) -> Unpacked:
        """Check a bundle and say what unpacking it would do; nothing is written. Raises as `unbundle`."""
        with self._stored() as store:
            return self._unpacked(store, path, account, folder, dry_run=True)

    def unbundle(self, path: Path, account: str | None = None, folder: Path | None = None) -> Unpacked:
        """Unpack a conversation so that it goes on here: on the account of the same name, in the folder that it was in.

        Raises RunnerError for a bundle that is none, no account that takes it, a file in the way, a folder that is not
        here.
        """
        self._refuse_if_read_only("unpack a conversation")
        with self._stored() as store:
            done = self._unpacked(store, path, account, folder, dry_run=False)
        with suppress(RunnerError):  # it is unpacked; the next scan reads its turns
            self.scan()
        self._tell()
        return done

    def scan(self) -> int:
        """Read what the CLIs have written."""
        raise NotImplementedError

    # ---- parts

    def _unpacked(
        self, store: Store, path: Path, account: str | None, folder: Path | None, *, dry_run: bool
    ) -> Unpacked:
        try:
            with path.open("rb") as raw:
                done = self._unbundler(store).unpack(raw, account=account, cwd=folder, dry_run=dry_run)
        except OSError as error:
            message = f"the bundle {path} cannot be read: {error.strerror or error}"
            raise RunnerError(message) from error
        return _told(done)

    def _unbundler(self, store: Store) -> Unbundler:
        from oulipoly_engine.service.bundles.unbundle import Unbundler  # noqa: PLC0415 - only who unpacks needs it

        homes, models = self._archive(store).homes, self._home.configured().models
        return Unbundler(store, homes, tuple(models), self._home.paths.data / "unbundling", self._clock)

    def _keep_copies(self, store: Store) -> None:
        """Keep copies after a scan; nothing is refused for its failing."""
        if not self._home.configured().settings.archive:
            return
        from oulipoly_engine.service.archive.keeper import after_scan  # noqa: PLC0415 - 20 ms, only after a scan

        with suppress(RunnerError):
            after_scan(self._keeper(store), _KEEPING_S)

    def _keeper(self, store: Store) -> ArchiveKeeper:
        from oulipoly_engine.service.archive.keeper import ArchiveKeeper  # noqa: PLC0415 - only who archives needs it

        return ArchiveKeeper(self._archive(store), self._home.configured().settings.archive_limit_bytes)

    def _archive(self, store: Store) -> Archive:
        from oulipoly_engine.service.archive.archive import Archive  # noqa: PLC0415 - not for the list
        from oulipoly_engine.service.transcripts.files import homes  # noqa: PLC0415 - as above

        configured, paths = self._home.configured(), self._home.paths
        known = {home.account: home for home in homes(configured.accounts, configured.scripts, paths.home)}
        return Archive(store, paths.data / "archive", known, self._clock)

    def _documents(self, store: Store) -> Documents:
        from oulipoly_engine.service.reading.documents import Documents  # noqa: PLC0415 - only documents need it

        return Documents(store, self._locator(), self._archive(store))

    def _exporter(self, store: Store) -> Exporter:
        from oulipoly_engine.service.reading.export import Exporter  # noqa: PLC0415 - only an export needs it

        return Exporter(store, self._locator())


def _kept(keeper: ArchiveKeeper, accounts: set[str] | None) -> Kept:
    done = keeper.keep(accounts, wait_s=_PATIENCE_S)
    if done.is_busy:
        message = "another process is archiving right now: try again in a moment"
        raise RunnerError(message)
    if done.problem is not None:
        raise RunnerError(done.problem)
    return done


def _told(done: Receipt) -> Unpacked:
    last = done.placements[-1]
    files = sum(len(one.files) for one in done.placements if one.left_out is None)
    return Unpacked(last.segment.session_id, last.account, done.workspace, files, done.was_known, done.warnings)

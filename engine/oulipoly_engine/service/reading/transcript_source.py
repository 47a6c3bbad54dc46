"""Where a conversation can be looked at: its CLI's file, the kept copy in the archive, or our own rows."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.transcripts.document_head import Origin
from oulipoly_engine.errors import RunnerError, StorageUnsupported
from oulipoly_engine.service.archive.archive import Archive
from oulipoly_engine.service.reading.pages import FilePages, Pages, StoredPages
from oulipoly_engine.service.sessions.locate import Locator, unsupported
from oulipoly_engine.store.archive.copies import KeptCopy
from oulipoly_engine.store.base.db import Store

_BLOCK = 1 << 20
_EPOCH = from_text("1970-01-01T00:00:00Z")


def opened(store: Store, locator: Locator, archive: Archive, account: str, session_id: str, path: str | None) -> Pages:
    """Open a session. path: its file, where it is known.

    Raises StorageUnsupported when neither file nor kept copy nor stored turn is there.
    """
    session = ResolvedSession("", "", account, session_id, _EPOCH)
    kind, found, problem = _file(locator, session, path)
    if found is not None:
        try:
            return FilePages(found, kind)
        except OSError as error:
            problem = f"{found} cannot be read: {error.strerror or error}"
    kept = archive.kept(account, session_id)
    if kept is not None and kind is not StorageType.OTHER:
        return _copy(archive, kept, kind)
    stored = StoredPages(store, account, session_id)
    if not len(stored):
        raise unsupported(session, f"{problem}; and no turn of it is stored")
    return stored


def _file(locator: Locator, session: ResolvedSession, path: str | None) -> tuple[StorageType, Path | None, str]:
    """Return the format, the file if there is one, and why there is none."""
    kind = StorageType.OTHER
    with suppress(StorageUnsupported):
        kind = locator.storage(session).storage_type
    if kind is StorageType.OTHER and path is not None:
        kind = StorageType.CODEX_SESSION if Path(path).name.startswith("rollout-") else StorageType.CLAUDE_CODE
    if kind is StorageType.OTHER:
        return kind, None, "its format is not known"
    if path is not None and Path(path).is_file():
        return kind, Path(path), ""
    try:
        answer = locator.transcript(session)
    except RunnerError as error:
        return kind, None, error.message
    return kind, answer.path, answer.problem


def _copy(archive: Archive, kept: KeptCopy, kind: StorageType) -> FilePages:
    """Unpack a kept copy into a file without a name. Raises ArchiveDamaged."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the pages close it
    try:
        with archive.open(kept) as source:
            while block := source.read(_BLOCK):
                file.write(block)
        file.flush()
        return FilePages(kept.path, kind, Origin.ARCHIVE, file)
    except BaseException:
        file.close()
        raise

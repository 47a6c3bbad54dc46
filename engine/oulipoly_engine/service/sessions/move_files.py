"""The files of a move as its journal names them: how far a killed one came, and taking back what it has copied."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

from oulipoly_engine.adapters import codex_threads, live_owner
from oulipoly_engine.adapters.transcript_file import open_transcript
from oulipoly_engine.clock import from_text
from oulipoly_engine.core.sessions.move_journal import JournaledFile, MoveJournal
from oulipoly_engine.errors import SessionBusy
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.process.open_files import OpenForWriting, hold_writers
from oulipoly_engine.service.sessions.copy_transcripts import Part, kept_path, temporary_of
from oulipoly_engine.service.sessions.journal import JournalFolder
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.store.sessions.chains import SegmentMove

_PATIENCE_S = 30.0  # for a scan of the target that is under way


class Progress(StrEnum):
    """How far a move came, told by its transcript, which is copied last and gets its name at once.

    Where the target had the transcript before, the other files tell it.
    """

    COPIED = "copied"  # all of it lies on the target
    BEGUN = "begun"  # it does not, or its source has grown since: the session went on where it was
    SPLIT = "split"  # it does, and both have grown: the session went on on both accounts


def list_files(parts: Sequence[Part]) -> tuple[JournaledFile, ...]:
    """Return what a journal says of files that are about to be copied. Raises OSError."""
    return tuple(
        JournaledFile(
            str(part.source),
            str(part.target),
            part.start,
            part.source.stat().st_size - part.start,
            not part.target.exists(),
        )
        for part in parts
    )


def look(journal: MoveJournal) -> Progress:
    """Look how far a killed move came."""
    transcript = journal.files[-1]
    source, target = _size(transcript.source), _size(transcript.target)
    if source is None and target is not None and target >= transcript.size_bytes:
        return Progress.COPIED  # the only one that there is
    telling = (transcript,) if transcript.is_new else journal.files
    if target is None or not all(map(_is_copied, telling)):
        return Progress.BEGUN
    if source == transcript.start + transcript.size_bytes:
        return Progress.COPIED
    return Progress.BEGUN if target == transcript.size_bytes else Progress.SPLIT


def undo(store: Store, journals: JournalFolder, journal: MoveJournal) -> None:
    """Have the target as it was before, but for what others have written there since; may be done again.

    What cannot be removed stays, and so does what others build on. Where other moves may go on, the caller keeps them
    away from the account (`hold_scans`). Raises StoreUnusable.
    """
    sessions = _sessions_of(journal)
    for file in reversed(journal.files):
        target, kept = Path(file.target), kept_path(Path(file.target), journal.at)
        session_id = sessions.get(file.target)
        with suppress(OSError, OpenForWriting):
            temporary_of(target).unlink(missing_ok=True)
            if not target.exists() and kept.exists():
                kept.rename(target)
            elif (file.is_new or kept.exists()) and _is_ours(file):
                if session_id is not None and _is_needed(store, journals, journal, file, session_id):
                    _note_copy(store, journal, session_id)
                else:
                    _take_back(file, kept)
        _drop_beginning(target, kept)
        _drop_empty(target.parent, Path(journal.files[-1].target).parent)


def drop_kept(journal: MoveJournal) -> None:
    """Remove what a move has kept beside its copies, where these have all of it."""
    for file in journal.files:
        _drop_beginning(Path(file.target), kept_path(Path(file.target), journal.at))


def segment_of(journal: MoveJournal) -> SegmentMove:
    """Return what a move was to change in the store."""
    return SegmentMove(
        journal.chain_id,
        journal.from_account,
        journal.to_account,
        journal.session_id,
        journal.reason,
        from_text(journal.at),
        joins=journal.joins,
        parents=journal.parents,
    )


@contextmanager
def hold_scans(locks: Path, account: str) -> Iterator[None]:
    """Keep scans of an account and other moves to it away for the block. Raises SessionBusy while one goes on.

    locks: the folder of the locks that scans of accounts hold.
    """
    with hold_lock(locks / f"{account}.lock", _PATIENCE_S) as is_ours:
        if not is_ours:
            message = f"the transcripts of account {account!r} are being read by another process: try again later"
            raise SessionBusy(message)
        yield


def _sessions_of(journal: MoveJournal) -> dict[str, str]:
    """Return the sessions that files are the transcripts of, by target; large results and their like are none's."""
    sessions = (*journal.parents, journal.session_id)
    targets = [file.target for file in journal.files]
    return dict(zip(reversed(targets), reversed(sessions), strict=False))


def _is_needed(
    store: Store, journals: JournalFolder, journal: MoveJournal, file: JournaledFile, session_id: str
) -> bool:
    """Tell whether another session of the target builds on a copy: that of a move which found it there, say."""
    if session_id == journal.session_id:
        is_known = chains.find_conflict(store, segment_of(journal)) is not None
    else:
        is_known = chains.chain_of(store, journal.to_account, session_id) is not None
    if is_known:
        return True
    former_bytes = -1 if file.is_new else _size(str(kept_path(Path(file.target), journal.at))) or 0
    home = live_owner.codex_home(Path(file.target))
    forks = () if home is None else codex_threads.forks_of(home, session_id)
    if any(fork.end_byte_offset > former_bytes for fork in forks):
        return True
    others = (move for move in journals.moves() if move.session_id != journal.session_id)
    return any(look(move) is not Progress.BEGUN for move in others if file.target in _sessions_of(move))


def _note_copy(store: Store, journal: MoveJournal, session_id: str) -> None:
    if chains.chain_of(store, journal.to_account, session_id) is None:
        with store.write():
            chains.note_copy(store, segment_of(journal), session_id)


def _take_back(file: JournaledFile, kept: Path) -> None:
    """Remove a copy, or put what it replaced in its place again; not where somebody else writes into it.

    Whoever opens it to write meanwhile waits until it is back. Raises OSError, OpenForWriting.
    """
    target, is_former_kept = Path(file.target), kept.exists()
    aside = temporary_of(target)
    with open_transcript(target) as copy, hold_writers(copy) as hold:
        if not _is_ours(file) or hold.is_wanted():
            return
        with suppress(OSError):  # a file system without second names
            os.link(target, aside)
        if is_former_kept:
            kept.rename(target)
        else:
            target.unlink()
        if hold.is_wanted() and aside.exists():
            if is_former_kept:
                os.link(target, kept)
            aside.rename(target)
        aside.unlink(missing_ok=True)


def _drop_beginning(target: Path, kept: Path) -> None:
    """Remove what was kept beside a file that has all of it, unless somebody still writes into it."""
    with suppress(OSError, OpenForWriting), open_transcript(kept) as file, hold_writers(file) as hold:
        if Part(target, kept).grows and not hold.is_wanted():
            kept.unlink()


def _drop_empty(folder: Path, project: Path) -> None:
    """Remove a folder below the transcript's one, and those above it, as far as they hold nothing any more."""
    with suppress(OSError):
        while project in folder.parents:
            folder.rmdir()
            folder = folder.parent


def _is_ours(file: JournaledFile) -> bool:
    """Tell whether a target is what was copied, and nothing else."""
    return _size(file.target) == file.size_bytes and _is_copied(file)


def _is_copied(file: JournaledFile) -> bool:
    """Tell whether the target begins with the bytes that were to be copied."""
    return Part(Path(file.source), Path(file.target), file.start).agrees_up_to(file.size_bytes)


def _size(path: str) -> int | None:
    try:
        return Path(path).stat().st_size
    except OSError:
        return None

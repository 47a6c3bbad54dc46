"""The files of a move as its journal names them: how far a killed one came, and taking back what it has copied."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from oulipoly_engine.core.sessions.move_journal import JournaledFile, MoveJournal
from oulipoly_engine.service.sessions.copy_transcripts import Part, kept_path, temporary_of


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


def undo(journal: MoveJournal) -> None:
    """Have the target as it was before, but for what others have written there since; may be done again.

    What cannot be removed stays.
    """
    for file in reversed(journal.files):
        target = Path(file.target)
        with suppress(OSError):
            temporary_of(target).unlink(missing_ok=True)
        is_ours = _size(file.target) == file.size_bytes and _is_copied(file)
        with suppress(OSError):
            kept = kept_path(target, journal.at)
            if kept.exists() and (is_ours or not target.exists()):
                kept.rename(target)
            elif kept.exists() and kept.samefile(target):
                kept.unlink()
            elif file.is_new and is_ours:
                target.unlink()
        _drop_empty(target.parent, Path(journal.files[-1].target).parent)


def _drop_empty(folder: Path, project: Path) -> None:
    """Remove a folder below the transcript's one, and those above it, as far as they hold nothing any more."""
    with suppress(OSError):
        while project in folder.parents:
            folder.rmdir()
            folder = folder.parent


def _is_copied(file: JournaledFile) -> bool:
    """Tell whether the target begins with the bytes that were to be copied."""
    return Part(Path(file.source), Path(file.target), file.start).agrees_up_to(file.size_bytes)


def _size(path: str) -> int | None:
    try:
        return Path(path).stat().st_size
    except OSError:
        return None

"""Changes of the configuration that can be undone: the last ones are kept beside the state file.

The note of a change is one of the files that are written with it, so there is never a change without one. It repeats
what was in the files, so it is readable by its owner alone.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from oulipoly_engine.config.edit.folders import (
    FolderChange,
    check_undo,
    forget_kept,
    keep_folder,
    place_folder,
    put_back,
)
from oulipoly_engine.config.edit.mcp_files import EntryChange, put_entries, take_entries_back
from oulipoly_engine.config.edit.write_files import FileChange, read_text, write
from oulipoly_engine.errors import ChangedSince, ConfigInvalid, NothingToUndo
from oulipoly_engine.records import Record, replace

_KEPT = 20  # changes; all those of one set-up count as one
_FILE = "configuration-undo.json"
_FOLDER = "configuration-undo"  # of folders that were replaced


class Step(Record):
    """One change that can be undone."""

    what: str  # in the past tense, for people: "added the account work"
    files: tuple[FileChange, ...]
    renamed: tuple[str, str] | None = None  # an account's name before and after
    folders: tuple[FolderChange, ...] = ()
    entries: tuple[EntryChange, ...] = ()  # of others' files
    run: str = ""  # of the set-up agent, that made it

    @property
    def places(self) -> tuple[Path, ...]:
        """Return what it changes."""
        changes: tuple[FileChange | FolderChange | EntryChange, ...] = (*self.files, *self.folders, *self.entries)
        return tuple(dict.fromkeys(one.path for one in changes))


def write_step(data: Path, step: Step) -> None:
    """Write a change of the configuration so that it can be undone. data: our data folder. Raises ConfigInvalid."""
    place = data / _FILE
    before = read_text(place)
    folders = tuple(keep_folder(one, data / _FOLDER) for one in step.folders)
    step = replace(step, files=tuple(map(_remember_form, step.files)), folders=folders)
    steps = _drop_old([*_read(before), step])
    files = [*step.files, *put_entries(step.entries)]
    write([FileChange(place, before, _render(steps)), *files])
    _forget_kept(data, steps)
    done: list[FolderChange] = []
    try:
        for one in step.folders:
            if one.source is not None:
                place_folder(one.source, one.after, one.path, one.before)
                done.append(one)
    except ConfigInvalid:
        for one in done:
            put_back(one, data / _FOLDER)
        write([FileChange(change.path, change.after, change.before) for change in files])
        write([FileChange(place, _render(steps), before)])
        _forget_kept(data, _read(before))
        raise


def _drop_old(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the changes that are kept: whoever lets a model set things up can take all of it back."""
    units: set[object] = set()
    for number in range(len(steps) - 1, -1, -1):
        units.add(steps[number].run or number)
        if len(units) > _KEPT:
            return steps[number + 1 :]
    return steps


def last_step(data: Path) -> Step | None:
    """Return the change that would be undone next. Raises ConfigInvalid."""
    steps = _read(read_text(data / _FILE))
    return steps[-1] if steps else None


def undo_last(data: Path, agreed: Step | None = None) -> Step:
    """Put the files of the last change back as they were.

    agreed: what somebody has seen as the last change and agreed to undo; None: whatever it is.

    Raises RequestRefused where another one was made meanwhile, where there is no change, or where a file was changed
    since; nothing is written then. Whoever is cut off does the same again: the note goes last.
    """
    place = data / _FILE
    before = read_text(place)
    steps = _read(before)
    if not steps:
        message = (
            "there is nothing to undo: no account was added, renamed, removed or imported here, and nothing was copied"
        )
        raise NothingToUndo(message)
    if agreed not in (None, steps[-1]):
        message = f"the last change is another one meanwhile, so nothing was undone: {steps[-1].what}"
        raise ChangedSince(message)
    for folder in steps[-1].folders:
        check_undo(folder)
    back = [
        FileChange(change.path, now, change.before, change.mode, change.link)
        for change in steps[-1].files
        for now in (_now(change),)
    ]
    links = [change for change in back if _leads_to_it(change)]
    entries = take_entries_back(steps[-1].entries)
    write([*(change for change in back if change.before != change.after and change not in links), *entries])
    for change in links:
        change.path.symlink_to(str(change.link))
    for folder in steps[-1].folders:
        put_back(folder, data / _FOLDER)
    write([FileChange(place, before, _render(steps[:-1]))])
    _forget_kept(data, steps[:-1])
    for empty in sorted({change.path.parent for change in back if change.after is None}, reverse=True):
        with suppress(OSError):  # not empty: something else is in it
            empty.rmdir()
    return steps[-1]


def _remember_form(change: FileChange) -> FileChange:
    """Note of a file that is deleted who may read it, and where it leads if it is a link."""
    if change.before is None or change.after is not None:
        return change
    try:
        link = os.readlink(change.path) if change.path.is_symlink() else None  # noqa: PTH115 - as it is written
        return replace(change, mode=stat.S_IMODE(change.path.stat().st_mode), link=link)
    except OSError:
        return change


def _leads_to_it(change: FileChange) -> bool:
    """Tell whether a link alone was deleted, and what it led to says the same as then."""
    if change.link is None or change.before is not None:
        return False
    return read_text(change.path.parent / change.link) == change.after


def _now(change: FileChange) -> str | None:
    """Return what a changed file says; whoever was cut off before it was written has left it as it was."""
    now = read_text(change.path)
    if now not in (change.before, change.after):
        message = f"{change.path} was changed since, so nothing was undone: change it back by hand"
        raise ChangedSince(message)
    return now


def _render(steps: Sequence[Step]) -> str:
    return json.dumps([_document(step) for step in steps], ensure_ascii=False, indent=1, default=str) + "\n"


def _document(step: Step) -> dict[str, object]:
    files = [
        {"path": str(one.path), "before": one.before, "after": one.after, "mode": one.mode, "link": one.link}
        for one in step.files
    ]
    folders = [
        {"path": str(one.path), "before": one.before, "after": one.after, "kept": one.kept} for one in step.folders
    ]
    entries = [
        {"path": str(one.path), "keys": one.keys, "before": one.before, "after": one.after, "present": one.present}
        for one in step.entries
    ]
    told = {"what": step.what, "renamed": step.renamed, "files": files, "folders": folders, "entries": entries}
    return {**told, "run": step.run}


def _read(text: str | None) -> list[Step]:
    """Read the kept changes. Raises ConfigInvalid for a file that is none of ours."""
    try:
        return [_step(one) for one in json.loads(text or "[]")]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        message = f"{_FILE} in the data folder is damaged, so no change can be kept in it: delete it"
        raise ConfigInvalid(message) from error


def _step(told: Any) -> Step:  # noqa: ANN401 - JSON
    # Notes of an older version have neither modes nor links.
    files = tuple(
        FileChange(Path(one["path"]), one["before"], one["after"], one.get("mode", 0o600), one.get("link"))
        for one in told["files"]
    )
    renamed = told["renamed"]
    # Notes of an older version have neither folders nor entries.
    folders = tuple(
        FolderChange(Path(one["path"]), one["before"], one["after"], kept=one["kept"])
        for one in told.get("folders", ())
    )
    entries = tuple(
        EntryChange(Path(one["path"]), tuple(one["keys"]), one["before"], one["after"], one["present"])
        for one in told.get("entries", ())
    )
    names = None if renamed is None else (str(renamed[0]), str(renamed[1]))
    return Step(str(told["what"]), files, names, folders, entries, str(told.get("run", "")))


def _forget_kept(data: Path, steps: Sequence[Step]) -> None:
    forget_kept(data / _FOLDER, {one.kept for step in steps for one in step.folders})

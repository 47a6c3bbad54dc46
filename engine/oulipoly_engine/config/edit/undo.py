"""Changes of the configuration that can be undone: the last ones are kept beside the state file.

The note of a change is one of the files that are written with it, so there is never a change without one. It repeats
what was in the files, so it is readable by its owner alone.

A change and an undo are journalled before their first write, and the journal goes last:

    journal, files and state file in any order, note, no journal

Whoever finds a journal while nobody works on the configuration takes that change back, by the way of an undo: each of
its files is as it was before or after. One that is neither was edited by hand; then nothing is written, and the journal
stays until the user has decided.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
from oulipoly_engine.config.edit.write_files import FileChange, hold_folders, read_text, remove_left, write
from oulipoly_engine.errors import ChangedSince, ConfigInvalid, NothingToUndo, RequestRefused
from oulipoly_engine.paths import CONFIGURATION_JOURNAL
from oulipoly_engine.private_files import make_folder, sync_folder
from oulipoly_engine.records import Record, replace

# Writes the files of a change by calling what it gets, together with what else the change consists of.
Carry = Callable[[Callable[[], object]], None]

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


def write_step(data: Path, step: Step, carry: Carry | None = None) -> None:
    """Write a change of the configuration so that it can be undone. data: our data folder.

    Raises ConfigInvalid, and RequestRefused while an earlier change is neither finished nor taken back.
    """
    with _hold_journal(data):
        folders = tuple(keep_folder(one, data / _FOLDER) for one in step.folders)
        noted = replace(step, files=tuple(map(_remember_form, step.files)), folders=folders)
        if pending_step(data) is not None:
            raise RequestRefused(_cut_off(data))
        _carry_out(data, noted, lambda: _write_step(data, noted), carry)


def _write_step(data: Path, step: Step) -> None:
    place = data / _FILE
    before = read_text(place)
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


def _write_only(write_files: Callable[[], object]) -> None:
    write_files()


def pending_step(data: Path) -> Step | None:
    """Return the change that is under way, or that was cut off. Raises ConfigInvalid."""
    text = read_text(data / CONFIGURATION_JOURNAL)
    return None if text is None else _read(text, CONFIGURATION_JOURNAL)[0]


def find_edited(step: Step) -> tuple[Path, ...]:
    """Return the files of a change that are as they were neither before nor after it."""
    return tuple(one.path for one in step.files if read_text(one.path) not in (one.before, one.after))


def take_back(data: Path, step: Step, carry: Carry | None = None) -> None:
    """Take a change back that was cut off, if nobody has done so meanwhile.

    Raises RequestRefused where a file was changed since, and ConfigInvalid while somebody works on the configuration;
    nothing is written then, and the journal stays.
    """
    with _hold_journal(data):
        if pending_step(data) == _read(_render([step]))[0]:
            (carry or _write_only)(lambda: _put_back(data, step))
            written = [change.path for change in step.files] + [entry.path for entry in step.entries]
            remove_left([*written, data / _FILE])
            _drop_journal(data)


@contextmanager
def _hold_journal(data: Path) -> Iterator[None]:
    """Let nobody else change the configuration or take a change back. Raises ConfigInvalid."""
    folder = data / _FOLDER
    try:
        make_folder(folder)
    except OSError as error:
        raise ConfigInvalid(f"{folder} cannot be written, so nothing was: {error.strerror}") from error
    with hold_folders([folder]):
        yield


def _carry_out(data: Path, step: Step, write_files: Callable[[], object], carry: Carry | None) -> None:
    """Journal a change and do it. What fails has put back by itself what it had written; a kill has not."""
    place = data / CONFIGURATION_JOURNAL
    write([FileChange(place, read_text(place), _render([step]))])
    try:
        (carry or _write_only)(write_files)
    except Exception:
        _drop_journal(data)
        raise
    _drop_journal(data)


def _drop_journal(data: Path) -> None:
    (data / CONFIGURATION_JOURNAL).unlink(missing_ok=True)
    with suppress(OSError):  # where the file system has no way to
        sync_folder(data)  # else a power cut could bring the journal back, and the next start undo what is done


def _cut_off(data: Path) -> str:
    journal = data / CONFIGURATION_JOURNAL
    return f"a change of the accounts was cut off and is not taken back yet ({journal}): `agents doctor` says why"


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


def undo_last(data: Path, agreed: Step | None = None, carry: Carry | None = None) -> Step:
    """Put the files of the last change back as they were.

    agreed: what somebody has seen as the last change and agreed to undo; None: whatever it is.

    Raises RequestRefused where another one was made meanwhile, where there is no change, or where a file was changed
    since; nothing is written then. Whoever is cut off does the same again: the note goes last.
    """
    with _hold_journal(data):
        steps = _read(read_text(data / _FILE))
        if not steps:
            raise NothingToUndo(
                "there is nothing to undo: no account was added, renamed, removed or imported here, nothing was "
                "copied, and no setting was set"
            )
        step = steps[-1]
        if agreed not in (None, step):
            raise ChangedSince(f"the last change is another one meanwhile, so nothing was undone: {step.what}")
        if pending_step(data) not in (None, step):
            raise RequestRefused(_cut_off(data))
        _carry_out(data, step, lambda: _put_back(data, step), carry)
    return step


def _put_back(data: Path, step: Step) -> None:
    """Put back what a change has changed, as far as it has come, and take it out of the note, which goes last."""
    place = data / _FILE
    before = read_text(place)
    steps = _read(before)
    for folder in step.folders:
        check_undo(folder)
    back = [
        FileChange(change.path, now, change.before, change.mode, change.link)
        for change in step.files
        for now in (_now(change),)
    ]
    links = [change for change in back if _leads_to_it(change)]
    entries = take_entries_back(step.entries)
    write([*(change for change in back if change.before != change.after and change not in links), *entries])
    for change in links:
        change.path.symlink_to(str(change.link))
    for folder in step.folders:
        put_back(folder, data / _FOLDER)
    if steps and steps[-1] == _read(_render([step]))[0]:
        steps = steps[:-1]
        write([FileChange(place, before, _render(steps))])
    _forget_kept(data, steps)
    for empty in sorted({change.path.parent for change in back if change.after is None}, reverse=True):
        with suppress(OSError):  # not empty: something else is in it
            empty.rmdir()


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
        raise ChangedSince(f"{change.path} was changed since, so nothing was undone: change it back by hand")
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


def _read(text: str | None, name: str = _FILE) -> list[Step]:
    """Read the kept changes. name: of the file. Raises ConfigInvalid for a file that is none of ours."""
    try:
        return [_step(one) for one in json.loads(text or "[]")]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        message = f"{name} in the data folder is damaged, so no change can be kept in it: delete it"
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

"""Changes of the configuration that can be undone: the last ones are kept beside the state file.

The note of a change is one of the files that are written with it, so there is never a change without one. It repeats
what was in the files, so it is readable by its owner alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from oulipoly_engine.config.edit.write_files import FileChange, read_text, write
from oulipoly_engine.errors import ConfigInvalid, RequestRefused
from oulipoly_engine.records import Record

_KEPT = 20
_FILE = "configuration-undo.json"


class Step(Record):
    """One change that can be undone."""

    what: str  # in the past tense, for people: "added the account work"
    files: tuple[FileChange, ...]
    renamed: tuple[str, str] | None = None  # an account's name before and after


def write_step(data: Path, step: Step) -> None:
    """Write a change of the configuration so that it can be undone. data: our data folder. Raises ConfigInvalid."""
    place = data / _FILE
    before = read_text(place)
    steps = [*_read(before), step][-_KEPT:]
    write([FileChange(place, before, _render(steps)), *step.files])


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
        message = "there is nothing to undo: no account was added, renamed, removed or imported here"
        raise RequestRefused(message)
    if agreed not in (None, steps[-1]):
        message = f"the last change is another one meanwhile, so nothing was undone: {steps[-1].what}"
        raise RequestRefused(message)
    back = [FileChange(change.path, now, change.before) for change in steps[-1].files for now in (_now(change),)]
    write([change for change in back if change.before != change.after])
    write([FileChange(place, before, _render(steps[:-1]))])
    for folder in sorted({change.path.parent for change in back if change.after is None}, reverse=True):
        with suppress(OSError):  # not empty: something else is in it
            folder.rmdir()
    return steps[-1]


def _now(change: FileChange) -> str | None:
    """Return what a changed file says; whoever was cut off before it was written has left it as it was."""
    now = read_text(change.path)
    if now not in (change.before, change.after):
        message = f"{change.path} was changed since, so nothing was undone: change it back by hand"
        raise RequestRefused(message)
    return now


def _render(steps: Sequence[Step]) -> str:
    return json.dumps([_document(step) for step in steps], ensure_ascii=False, indent=1) + "\n"


def _document(step: Step) -> dict[str, object]:
    files = [{"path": str(one.path), "before": one.before, "after": one.after} for one in step.files]
    return {"what": step.what, "renamed": step.renamed, "files": files}


def _read(text: str | None) -> list[Step]:
    """Read the kept changes. Raises ConfigInvalid for a file that is none of ours."""
    try:
        return [_step(one) for one in json.loads(text or "[]")]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        message = f"{_FILE} in the data folder is damaged, so no change can be kept in it: delete it"
        raise ConfigInvalid(message) from error


def _step(told: Any) -> Step:  # noqa: ANN401 - JSON
    files = tuple(FileChange(Path(one["path"]), one["before"], one["after"]) for one in told["files"])
    renamed = told["renamed"]
    return Step(str(told["what"]), files, None if renamed is None else (str(renamed[0]), str(renamed[1])))

"""What a file that a model wants written would change, checked against the disk and the configuration's own rules."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from oulipoly_engine.config.base import mask
from oulipoly_engine.config.base.problem import Level
from oulipoly_engine.config.edit.undo import Step
from oulipoly_engine.config.edit.write_files import FileChange, read_text
from oulipoly_engine.config.parse import accounts
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.table import recognise_cli
from oulipoly_engine.core.setup.actions import WriteConfig
from oulipoly_engine.core.setup.places import Target, check_account_file, file_warning, find_target
from oulipoly_engine.core.text.redact import REDACTED, redact
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record
from oulipoly_engine.service.accounts.file_edit import FileEdit

_PROGRAM_MODE = 0o700
_MOST_PROBLEMS = 5
_DOTS = "•••"  # what `mask` puts in a secret's place


class FilePlan(Record):
    """A file that would be written."""

    path: Path
    step: Step
    diff: str  # whole: the new text has no secrets
    warning: str

    @property
    def is_needed(self) -> bool:
        """Return whether it says something else than the file does."""
        return any(change.before != change.after for change in self.step.files)


def plan_file(asked: WriteConfig, paths: Paths, environ: Mapping[str, str], cli: Cli | None = None) -> FilePlan:
    """Return what would be written; nothing is. Raises RequestRefused and ConfigInvalid with what is wrong.

    cli: the one that the set-up is about alone.
    """
    target = find_target(asked.path, PurePosixPath(paths.config), PurePosixPath(paths.home))
    path = Path(target.path)
    check_place(target)
    if cli is not None:
        check_account_file(target, cli)
    text = asked.content if asked.content.endswith("\n") or not asked.content else f"{asked.content}\n"
    _check_text(text)
    before = read_text(path)
    change = FileChange(path, before, text, _PROGRAM_MODE if target.is_program else 0o600)
    if not target.is_program:
        _check_configuration(path, text, paths)
    if cli is not None and path == paths.providers:
        _check_accounts(before or "", text, paths, cli)
    other = shutil.which(path.name, path=environ.get("PATH")) if target.is_program else None
    if other is not None and Path(other) == path:
        other = None
    diff = mask.old_lines(change.diff, [before or ""])  # what was there may have secrets
    return FilePlan(path, Step(f"wrote {path}", (change,)), diff, file_warning(target, before, text, other))


def check_place(target: Target) -> None:
    """Refuse a place that links lead out of its root, or that is not a regular file. Raises RequestRefused."""
    root, path = Path(target.root), Path(target.path)
    try:
        places = (path.parent.resolve(), path.resolve())
        is_inside = all(one.is_relative_to(root.resolve()) for one in places)
        is_other = os.path.lexists(path) and not stat.S_ISREG(path.stat().st_mode)
    except (OSError, RuntimeError) as error:  # links in a circle, a name that is too long
        raise RequestRefused(f"{str(path)[:200]} is refused: nothing can be written there") from error
    if not is_inside:
        raise RequestRefused(f"{path} is refused: a link leads out of {target.root}")
    if is_other:
        raise RequestRefused(f"{path} is refused: it is there already, and not a regular file")


def _check_accounts(before: str, after: str, paths: Paths, cli: Cli) -> None:
    """Refuse a change of other CLIs' accounts. A new one whose program is not known may be a wrapper of this CLI."""
    old, new = (accounts.parse(paths, text.encode()).value for text in (before, after))
    for name in old.keys() | new.keys():
        forms = [one for one in (old.get(name), new.get(name)) if one is not None]
        found = [recognise_cli(one, paths.home) for one in forms]
        is_own = all(one is not None and one.cli.name == cli.name for one in found)
        is_new = name not in old and found == [None]
        if old.get(name) != new.get(name) and not (is_own or is_new):
            message = f"the account {name} is not of {cli.title}, which this set-up is about alone: leave it as it is"
            raise RequestRefused(message)


def _check_text(text: str) -> None:
    if "\0" in text:
        raise RequestRefused("the content has a NUL: write text")
    if REDACTED in text or _DOTS in text:
        raise RequestRefused(
            "the content has what stands for a hidden secret, which would be lost: change another file, or let the user"
            " change this one"
        )
    if redact(text) != text:
        raise RequestRefused("the content has what looks like a key or a password: ask for keys by api_key_entry")


def _check_configuration(path: Path, text: str, paths: Paths) -> None:
    """Refuse what the configuration's own rules call an error."""
    try:
        edit = FileEdit(paths, path.relative_to(paths.config).as_posix().removesuffix(path.suffix))
    except UsageInvalid:  # none of the files that have rules
        return
    if edit.path != path:
        return
    with edit:
        edit.put(text)
        errors = [problem.text for problem in edit.problems() if problem.level is Level.ERROR]
    if errors:
        raise RequestRefused("it does not load: " + "; ".join(errors[:_MOST_PROBLEMS]))

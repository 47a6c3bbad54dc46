"""A configuration file in the user's editor: a copy is edited and checked, and written only where it is right.

The check sees the copy among all other files, by links to them, so that it finds what a change breaks elsewhere.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.config import app_file
from oulipoly_engine.config.base.problem import Level, Problem
from oulipoly_engine.config.check import check
from oulipoly_engine.config.edit.write_files import FileChange, read_text, write
from oulipoly_engine.config.layers import PROJECT_FILES, find_project_file
from oulipoly_engine.config.model_files import is_name
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import ConfigInvalid, UsageInvalid
from oulipoly_engine.paths import PROJECT_FOLDER, Paths
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.process.user_programs import edit
from oulipoly_engine.records import replace

_FOLDERS = {"models": ".toml", "agents": ".md"}

_PREFIX = "agents-config-"
_KEPT = ".kept"  # marks a copy that has what could not be written
_DAY_S = 86_400.0


class FileEdit:
    """One file while it is edited; a context, behind which the copy is gone.

    name: "config", "providers", "sessions", "app", "project", "models/NAME" or "agents/NAME". Raises UsageInvalid for
    another one.
    """

    def __init__(
        self,
        paths: Paths,
        name: str,
        models_dir: Path | None = None,
        agents_dir: Path | None = None,
        saved: Callable[[Path], None] | None = None,
    ) -> None:
        """Name the file. saved: is called with it once it is written."""
        self._saved = saved
        self._paths = paths
        self._folders = {"models": models_dir or paths.models, "agents": agents_dir or paths.agents}
        self.path = self._find(name)
        self._before = read_text(self.path)
        self._is_kept = False
        self._known = frozenset(_text_of(problem) for problem in self._check(paths))

    def __enter__(self) -> FileEdit:
        """Make the copy, for our user's eyes only."""
        _remove_left_copies()
        self._mirror = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = _lock(self._mirror)
        for entry in self._entries(self._paths.config):
            if entry.name not in self._folders:
                (self._mirror / entry.name).symlink_to(entry)
        for name, folder in self._folders.items():
            make_folder(self._mirror / name)
            for entry in self._entries(folder):
                (self._mirror / name / entry.name).symlink_to(entry)
        self._copy = self._mirror / self.path.name
        if self.path.parent in self._folders.values():
            (folder_name,) = (name for name, folder in self._folders.items() if folder == self.path.parent)
            self._copy = self._mirror / folder_name / self.path.name
        if self._is_of_project:
            self._copy = self._mirror / PROJECT_FOLDER / self.path.name
            make_folder(self._copy.parent)
        self._copy.unlink(missing_ok=True)
        write_private(self._copy, (self._before or "").encode())
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the copy, unless it has what could not be written."""
        if not self._is_kept:
            shutil.rmtree(self._mirror, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)

    @property
    def is_changed(self) -> bool:
        """Return whether the copy says something else than the file did; one that is gone says nothing."""
        return read_text(self._copy) not in (None, self._before or "")

    def open_editor(self) -> str | None:
        """Wait until the user leaves the editor; return what is wrong when there is none to start."""
        return edit(self._copy)

    def put(self, text: str) -> None:
        """Put a text into the copy, in place of an editor."""
        write_private(self._copy, text.encode())

    def problems(self) -> tuple[Problem, ...]:
        """Return what is wrong with the copy, and what it makes wrong with other files."""
        paths = replace(self._paths, config=self._mirror, cache=None)
        if self._is_of_project:
            paths = replace(paths, above=replace(paths.above, project=self._copy.parent))
        found = check(paths, models_dir=paths.models, agents_dir=paths.agents)
        problems = tuple(replace(problem, file=self._real(problem.file)) for problem in found)
        if self._is_of_project:  # elsewhere it warns alone: a stranger's slip stops nobody, one's own is not written
            own = [problem for problem in problems if problem.file == self.path]
            return tuple(replace(problem, level=Level.ERROR) for problem in own)
        return tuple(one for one in problems if one.file == self.path or _text_of(one) not in self._known)

    def save(self) -> None:
        """Write the copy's text in the file's place.

        Raises ConfigInvalid where that has changed meanwhile or cannot be written; the copy stays then.
        """
        text = read_text(self._copy)
        if text is None:
            raise ConfigInvalid(f"{self.path} is as it was: the editor's copy is gone")
        try:
            write([FileChange(self.path, self._before, text)])
        except ConfigInvalid as error:
            self._is_kept = True
            write_private(self._mirror / _KEPT, b"")
            raise ConfigInvalid(f"{error}; what you wrote is in {self._copy}") from error
        if self._saved is not None:
            self._saved(self.path)

    def _check(self, paths: Paths) -> tuple[Problem, ...]:
        folders = self._folders
        return check(replace(paths, cache=None), models_dir=folders["models"], agents_dir=folders["agents"])

    @property
    def _is_of_project(self) -> bool:
        return self.path.parent.name == PROJECT_FOLDER

    def _real(self, file: Path) -> Path:
        if file == self._copy:
            return self.path
        folder = self._folders.get(file.parent.name) if file.parent.parent == self._mirror else None
        if folder is not None:
            return folder / file.name
        return self._paths.config / file.relative_to(self._mirror) if file.is_relative_to(self._mirror) else file

    @staticmethod
    def _entries(folder: Path) -> list[Path]:
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def _find(self, name: str) -> Path:
        project = self._paths.above.project or Path.cwd() / PROJECT_FOLDER
        known = {
            "config": self._paths.settings,
            "providers": self._paths.providers,
            "sessions": self._paths.sessions,
            "app": app_file.path_of(self._paths),
            "project": find_project_file(project) or project / PROJECT_FILES[1],
        }
        folder, slash, stem = name.partition("/")
        if slash and folder in self._folders and is_name(stem):
            return self._folders[folder] / f"{stem.removesuffix(_FOLDERS[folder])}{_FOLDERS[folder]}"
        found = known.get(name.removesuffix(".toml"))
        if found is None:
            near = nearest(name, known)
            hint = f"did you mean {near[0]!r}?" if near else f"say {', '.join(known)}, models/NAME or agents/NAME"
            raise UsageInvalid(f"there is no configuration file {name[:80]!r}: {hint}")
        return found


def _text_of(problem: Problem) -> str:
    """Return what tells a problem from others, whatever line it stands in."""
    return f"{problem.file}\n{problem.key}\n{problem.message}"


def _remove_left_copies() -> None:
    """Remove the copies of edits that were killed a day ago or longer: accounts' secrets may stand in them.

    A copy that has what could not be written stays.
    """
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found = place.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mtime > time.time() - _DAY_S:
                continue
            lock = None if (place / _KEPT).exists() else _lock(place)
            if lock is not None:  # else somebody edits it
                shutil.rmtree(place, ignore_errors=True)
                os.close(lock)


def _lock(folder: Path) -> int | None:
    """Hold a folder as long as what is returned is open; None: somebody else does, or nobody can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor

"""The whole configuration as it can be read, with everything that is wrong in it; nothing of it stops the reader.

Who keeps reading may hand in what was read before: it stands in for a file that is broken now, half a file that an
editor is just writing included. config.toml has no stand-in, since every run takes the defaults then.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from oulipoly_engine.config import app_file, load, small_files
from oulipoly_engine.config.base.problem import Loaded, Problem
from oulipoly_engine.config.check import check
from oulipoly_engine.config.layers import mark_project
from oulipoly_engine.core.accounts.accounts import Account, Model, SessionScripts, Settings
from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record, field

T = TypeVar("T")
Fingerprint = tuple[tuple[object, ...], ...]  # (path, modified in ns, size), at last the project's settings


class Configured(Record):
    """What the files say; a broken entry is missing and stands among the problems."""

    accounts: Mapping[str, Account] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)
    scripts: Mapping[str, SessionScripts] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    problems: tuple[Problem, ...] = ()
    views: tuple[SavedView, ...] = ()  # of the list of sessions
    header: str = ""  # template of the app's first line; empty: the app's own
    read_at: datetime | None = None  # when a clock was at hand
    broken: tuple[Problem, ...] = ()  # of the files for which an earlier reading stands in
    stood_in_at: datetime | None = None  # when that earlier reading was made


class Places(Record):
    """Where the files lie."""

    paths: Paths
    models_dir: Path | None = None
    agents_dir: Path | None = None

    def fingerprint(self) -> Fingerprint:
        """Return what changes whenever any of the files does, or whether a person trusts the project's."""
        paths, models, agents = self.paths, self.models_dir or self.paths.models, self.agents_dir or self.paths.agents
        single = (paths.providers, paths.settings, paths.sessions, paths.config / "app.toml")
        many = (path for folder in (models, agents, paths.config / "themes") for path in _inside(folder))
        marks = (*map(_mark, (*single, *many)), mark_project(paths))
        return tuple(mark for mark in marks if mark is not None)

    def read(self, before: Configured | None = None, now: datetime | None = None) -> Configured:
        """Read every file that a choice needs, and say what is wrong with them.

        before: the last reading, which stands in for files that are broken now; None: there was none.
        """
        accounts = small_files.read_accounts(self.paths)
        sessions = small_files.read_sessions(self.paths)
        settings = small_files.read_settings(self.paths)
        broken: list[Problem] = []
        if before is not None:
            accounts = _substitute(accounts, before.accounts, broken)
            sessions = _substitute(sessions, before.scripts, broken)
        models: dict[str, Model] = {}
        problems = list(accounts.problems)
        for name in load.list_models(self.paths, self.models_dir):
            found = load.read_model(self.paths, name, self.models_dir, accounts.value)
            problems += found.problems
            if found.value is not None:
                models[name] = found.value
            elif before is not None and name in before.models:
                models[name] = before.models[name]
                broken += found.errors
        problems += (*sessions.problems, *settings.problems, *small_files.read_runtimes(self.paths).problems)
        app = app_file.read(self.paths).value
        return Configured(
            accounts.value,
            models,
            sessions.value,
            settings.value,
            tuple(problems),
            app.views,
            app.status.get("header", ""),
            now,
            tuple(broken),
            _age_of(before) if broken else None,
        )

    def examine(self) -> tuple[Problem, ...]:
        """Return every problem, those between files and those of missing programs included."""
        return check(self.paths, models_dir=self.models_dir, agents_dir=self.agents_dir)


def _substitute(loaded: Loaded[T], before: T, broken: list[Problem]) -> Loaded[T]:
    """Return what was read before where nothing of the file can be read now, and add why to `broken`."""
    lost = [problem for problem in loaded.errors if not problem.key]
    broken += lost
    return Loaded(before, loaded.problems) if lost else loaded


def _age_of(before: Configured | None) -> datetime | None:
    """Return when the files were last read whole."""
    return None if before is None else before.stood_in_at or before.read_at


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _mark(path: Path) -> tuple[str, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return str(path), status.st_mtime_ns, status.st_size

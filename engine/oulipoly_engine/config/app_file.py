"""app.toml and themes/*.toml: how the full-screen app looks and which keys it takes."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.config import small_files, snapshot
from oulipoly_engine.config.base.app_settings import AppSettings, ThemeFile
from oulipoly_engine.config.base.problem import Loaded, Problem
from oulipoly_engine.config.packages_file import enabled_resources
from oulipoly_engine.core.accounts.resource_lists import is_path, is_switched_off
from oulipoly_engine.paths import Paths

_NAME = "app.toml"

THEME_SUFFIXES = (".toml", ".json")


def path_of(paths: Paths) -> Path:
    """Return where the app's settings lie."""
    return paths.config / _NAME


def is_app_file(path: Path) -> bool:
    """Tell whether one of the configuration files is the app's."""
    return path.name == _NAME


def read(paths: Paths) -> Loaded[AppSettings]:
    """Return app.toml's settings and what stands above them.

    What is wrong in the file counts as not written, and every problem is a warning.

    But for `read_only`: who has written that, however badly, does not want anything to be changed.
    """
    path = path_of(paths)

    def parse(raw: bytes | None) -> Loaded[AppSettings]:
        from oulipoly_engine.config.parse import app  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return app.parse(path, raw)

    below = snapshot.read(paths, path, "app", Loaded[AppSettings], parse, absent=Loaded(AppSettings()))
    if not paths.above.says_anything:
        return below
    from oulipoly_engine.config.layers import put_above  # noqa: PLC0415 - hardly any run has any

    return put_above(paths, below, "AppTable")


def read_themes(paths: Paths) -> Loaded[tuple[ThemeFile, ...]]:
    """Return the themes of the folder `themes`, of the setting and of packages, but for those that are switched off.

    One with an error is left out, and said as a warning.
    """
    entries = small_files.read_settings(paths).value.themes
    folder = paths.config / "themes"
    files = [path for suffix in THEME_SUFFIXES for path in sorted(folder.glob(f"*{suffix}"))] if folder.is_dir() else []
    files += [Path(entry).expanduser() for entry in entries if is_path(entry)]
    known = {path.stem for path in files}
    brought = (theme for theme in enabled_resources(paths, "themes", entries) if theme.has_short_name)
    files += [theme.path for theme in brought if theme.path.suffix in THEME_SUFFIXES and theme.name not in known]
    themes: list[ThemeFile] = []
    problems: list[Problem] = []
    for path in (path for path in files if not is_switched_off(entries, path.stem)):
        loaded = _read_theme(paths, path)
        problems += loaded.problems
        if loaded.value is not None:
            themes.append(loaded.value)
    return Loaded(tuple(themes), tuple(problems))


def _read_theme(paths: Paths, path: Path) -> Loaded[ThemeFile | None]:
    def parse(raw: bytes | None) -> Loaded[ThemeFile | None]:
        from oulipoly_engine.config.parse import app  # noqa: PLC0415 - as in `read`

        return app.parse_theme(path, raw)

    return snapshot.read(paths, path, "theme", Loaded[ThemeFile | None], parse)

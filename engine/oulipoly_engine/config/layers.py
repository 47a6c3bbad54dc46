"""The settings that stand above the user's own files, read without a schema as long as nothing has changed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from oulipoly_engine.config import snapshot
from oulipoly_engine.config.base.layers import Layer, LayerName, LayerValues, Stated, choose_of_project
from oulipoly_engine.config.base.problem import Loaded
from oulipoly_engine.config.parse import settings_keys
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.paths import Paths
from oulipoly_engine.regular_files import read_regular

if TYPE_CHECKING:
    from oulipoly_engine.config.base.app_settings import AppSettings
    from oulipoly_engine.core.accounts.accounts import Settings

SettingsT = TypeVar("SettingsT", "Settings", "AppSettings")

OPTION = "--set "  # begins the source of what the command line says
PROJECT_FILES = ("settings.json", "settings.toml")  # the first that is there counts
_SHAPE = Loaded[dict[str, Stated]]

# ruff: noqa: PLC0415 - the schema takes 100 ms, only what has changed needs it


def put_above(paths: Paths, below: Loaded[SettingsT], table: str) -> Loaded[SettingsT]:
    """Return settings of one of the user's own files with what stands above them. table: the name of its class."""
    settings = below.value
    problems = below.problems
    for layer in read_above(paths):
        own = {key: each.value for key, each in layer.values.items() if each.table == table}
        settings = settings_keys.change(settings, own)
        problems += layer.problems
    return Loaded(settings, problems)


def read_above(paths: Paths) -> Iterator[Layer]:
    """Yield the layers above the user's own files, the lowest first; one that states nothing is left out.

    Raises UsageInvalid for what `--set` gives and is no setting.
    """
    above = paths.above
    if above.project is not None and (path := find_project_file(above.project)) is not None:
        yield _layer_of_project(paths, above.project, path)
    if above.environment:
        yield _layer_of_texts(paths, "environment", above.environment)
    if above.options:
        yield _layer_of_texts(paths, "command line", above.options)


def find_project_file(folder: Path) -> Path | None:
    """Return the file of settings in a project's folder."""
    # What is no file counts too, and cannot be read: who has put it there believes that it holds.
    return next((path for name in PROJECT_FILES if _is_there(path := folder / name)), None)


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError as error:
        return error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
    return True


def mark_project(paths: Paths) -> tuple[str, str, bool] | None:
    """Return what changes with a project's settings, and with whether a person trusts them; None: there are none."""
    folder = paths.above.project
    path = None if folder is None else find_project_file(folder)
    if folder is None or path is None:
        return None
    _, digest = read_project(paths, folder, path)
    return str(path), digest, paths.above.is_trusted(folder, digest)


def read_project(paths: Paths, folder: Path, path: Path) -> tuple[Loaded[LayerValues], str]:
    """Return the settings of a project's file, and what stands for them where a person trusts them: a SHA-256."""
    loaded, raw = _read_project(paths, path)
    return loaded, "" if raw is None else _digest(folder, path, raw)


def _read_project(paths: Paths, path: Path) -> tuple[Loaded[LayerValues], bytes | None]:
    from oulipoly_engine.config.base.problem import Level, Problem

    try:
        raw = read_regular(path)
    except OSError as error:
        is_link = isinstance(error, FileNotFoundError)
        why = f"the file cannot be read: {'it is a link to nothing' if is_link else error.strerror}"
        fix = "put a readable file in its place, or remove it"
        return Loaded({}, (Problem(Level.WARNING, path, None, "", why, fix),)), None

    def parse() -> Loaded[LayerValues]:
        from oulipoly_engine.config.parse import layers

        return layers.parse_project(path, raw)

    return snapshot.read_bytes(paths, f"project:{path}", raw, _SHAPE, parse), raw


def _digest(folder: Path, path: Path, raw: bytes) -> str:
    data = os.fsencode(folder) + b"\0" + path.name.encode() + b"\0" + raw
    # As `random` does it: hashlib loads OpenSSL, which takes 3 of the 5 ms that all settings may take.
    for name in ("_sha256", "_sha2"):  # Python 3.11, later ones
        with suppress(ImportError):
            digest: str = import_module(name).sha256(data).hexdigest()
            return digest
    from hashlib import sha256

    return sha256(data).hexdigest()


def _layer_of_project(paths: Paths, folder: Path, path: Path) -> Layer:
    loaded, raw = _read_project(paths, path)
    needs_trust = raw is not None and any(stated.in_project == "trusted" for stated in loaded.value.values())
    is_trusted = needs_trust and paths.above.is_trusted(folder, _digest(folder, path, raw or b""))
    values, ignored = choose_of_project(loaded.value, is_trusted=is_trusted)
    return Layer("project", values, ignored, loaded.problems)


def _layer_of_texts(paths: Paths, name: LayerName, texts: Mapping[str, str]) -> Layer:
    def parse() -> Loaded[LayerValues]:
        from oulipoly_engine.config.parse import layers

        if name == "environment":
            return layers.parse_environment(texts)
        return layers.parse_texts(texts, OPTION)

    loaded = snapshot.read_bytes(paths, name, msgspec.msgpack.encode(sorted(texts.items())), _SHAPE, parse)
    if loaded.problems and name == "command line":
        problem = loaded.problems[0]
        raise UsageInvalid(f"{problem.file}: {problem.message}: {problem.fix}")
    return Layer(name, loaded.value, problems=loaded.problems)

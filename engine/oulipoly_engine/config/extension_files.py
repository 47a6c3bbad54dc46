"""Manifests of extensions: `extension.toml` in a folder, or the block of one in a file of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from oulipoly_engine.config import snapshot
from oulipoly_engine.config.base.layers import NOT_TRUSTED, Ignored
from oulipoly_engine.config.base.problem import Level, Loaded, Problem
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.extensions.manifest import FILE, Manifest
from oulipoly_engine.paths import Paths

_FOLDER = "extensions"  # of a project, as of the user
_MOST = 500  # of one folder


def list_places(folder: Path) -> Iterator[Path]:
    """Yield what may be an extension: folders with a manifest, and Python files."""
    try:
        names = sorted(folder.iterdir())[:_MOST]
    except OSError:
        return
    for path in names:
        if path.name.startswith((".", "_")):
            continue
        if path.suffix == ".py" or (path / FILE).exists():
            yield path


def list_of_project(project: Path | None) -> tuple[Path, ...]:
    """Return what may be an extension in a project's folder of settings, trusted or not."""
    return () if project is None else tuple(list_places(project / _FOLDER))


def digest_of_places(places: tuple[Path, ...]) -> str:
    """Return what a person trusts who lets a project's extensions ask for rights: which there are, not what they hold.

    What they hold is what they ask for each by themselves.
    """
    return sha256(b"extensions\0" + b"\0".join(map(os.fsencode, places))).hexdigest()


def list_trusted(paths: Paths) -> tuple[Path, ...]:
    """Return a project's extensions that may ask a person for rights."""
    project = paths.above.project
    places = list_of_project(project)
    if project is None or not places or not paths.above.is_trusted(project, digest_of_places(places)):
        return ()
    return places


def list_ignored(paths: Paths) -> tuple[Ignored, ...]:
    """Return the extensions of a project that nobody trusts."""
    places = list_of_project(paths.above.project)
    if not places or list_trusted(paths):
        return ()
    return tuple(Ignored(f"{_FOLDER}/{place.name}", str(place), NOT_TRUSTED) for place in places)


def read_values(path: Path) -> Mapping[str, Any]:
    """Return the settings of an extension; none where there is no file. Raises ValueError where it cannot be read."""
    file = toml_file.read(path)
    if file.failure is not None:
        raise ValueError(file.failure.brief)
    return file.data


def read_manifest(paths: Paths, place: Path) -> Loaded[Manifest | None]:
    """Return what the extension in a folder or file declares; None: it is not usable, and the problems say why."""
    path = place / FILE if place.is_dir() else place

    def parse(raw: bytes | None) -> Loaded[Manifest | None]:
        from oulipoly_engine.config.parse import extensions  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return extensions.parse(path, raw)

    missing = Problem(Level.ERROR, path, None, "", "there is no such file", "write it, or remove its folder")
    return snapshot.read(paths, path, "extension", Loaded[Manifest | None], parse, absent=Loaded(None, (missing,)))

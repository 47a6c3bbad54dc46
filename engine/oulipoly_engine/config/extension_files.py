"""Manifests of extensions: `extension.toml` in a folder, or the block of one in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.config import snapshot
from oulipoly_engine.config.base.problem import Level, Loaded, Problem
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.extensions.manifest import FILE, Manifest
from oulipoly_engine.paths import Paths


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

"""Which packages are installed, and what they bring for whoever uses it: the lock file, read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from oulipoly_engine.core.accounts.resource_lists import is_switched_off
from oulipoly_engine.core.packages.lock import FILE, Kind, Lock, read_lock
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular

_MOST = 16 << 20  # bytes


class Resource(Record):
    """An extension, skill, prompt or theme of a package that is switched on."""

    kind: Kind
    package: str  # the name of its folder
    name: str
    path: Path  # an extension's folder or file, a skill's folder, a prompt's or theme's file
    has_short_name: bool  # no package before its own, in order of names, has one of this name

    @property
    def full_name(self) -> str:
        """Return the name that no other one has."""
        return f"{self.package}:{self.name}"


def load_lock(folder: Path) -> Lock:
    """Return what is installed; where nothing ever was, that costs one look for a file. Raises ConfigInvalid.

    folder: `Paths.packages`.
    """
    path = folder / FILE
    if not os.path.lexists(path):
        return Lock()
    try:
        data = read_regular(path, _MOST)
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be read: {error.strerror or error}: check its rights") from error
    return read_lock(data, str(path))


def enabled_resources(paths: Paths, kind: Kind, switches: Sequence[str] = ()) -> tuple[Resource, ...]:
    """Return what installed packages bring of a kind and nobody has switched off, in order of packages and names.

    One that was installed for a project counts there alone. switches: the setting of the kind's name; `!NAME`,
    `!PACKAGE:NAME` and `!PACKAGE` switch off; an extension's own name does so where extensions are listed. A lock file
    that is broken gives nothing, so that all else works: `pkg list` and the check of the configuration say what is
    wrong.
    """
    folder = paths.packages
    project = "" if paths.above.project is None else str(paths.above.project.parent)
    try:
        lock = load_lock(folder)
    except ConfigInvalid:
        return ()
    resources: list[Resource] = []
    for package, installed in sorted(lock.packages.items()):
        if installed.project not in ("", project):
            continue
        for part in installed.parts:
            names = [package, f"{package}:{part.name}"]
            if kind != "extensions":
                names.append(part.name)
            if part.kind != kind or part.problem or any(is_switched_off(switches, name) for name in names):
                continue
            is_first = all(part.name != resource.name for resource in resources)
            path = folder / installed.digest / part.path
            resources.append(Resource(kind, package, part.name, path, is_first))
    return tuple(resources)

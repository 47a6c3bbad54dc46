"""What installed packages bring: extensions, skills, prompts and themes for whoever uses them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oulipoly_engine.config.packages_file import load_lock
from oulipoly_engine.core.accounts.resource_lists import is_switched_off
from oulipoly_engine.core.packages.lock import Kind
from oulipoly_engine.records import Record


class Resource(Record):
    """One of them that is switched on."""

    kind: Kind
    package: str  # the name of its folder
    name: str
    path: Path  # an extension's folder or file, a skill's folder, a prompt's or theme's file
    has_short_name: bool  # no package before its own, in order of names, has one of this name

    @property
    def full_name(self) -> str:
        """Return the name that no other one has."""
        return f"{self.package}:{self.name}"


def enabled_resources(folder: Path, kind: Kind, switches: Sequence[str] = ()) -> tuple[Resource, ...]:
    """Return what installed packages bring of a kind and nobody has switched off, in order of packages and names.

    folder: of packages, `Paths.packages`; without any the price is one look for a file. switches: the setting of the
    kind's name; `!NAME`, `!PACKAGE:NAME` and `!PACKAGE` switch off. Raises ConfigInvalid where the lock file is broken.
    """
    lock = load_lock(folder)
    resources: list[Resource] = []
    for package, installed in sorted(lock.packages.items()):
        for part in installed.parts:
            names = (package, part.name, f"{package}:{part.name}")
            if part.kind != kind or part.problem or any(is_switched_off(switches, name) for name in names):
                continue
            is_first = all(part.name != resource.name for resource in resources)
            path = folder / installed.digest / part.path
            resources.append(Resource(kind, package, part.name, path, is_first))
    return tuple(resources)

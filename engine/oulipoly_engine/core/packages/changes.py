"""What one content of a package has and another has not: files, and what its extensions may do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from oulipoly_engine.core.extensions.manifest import Manifest
from oulipoly_engine.core.packages.tree import PackageFile
from oulipoly_engine.records import Record


class Rights(Record):
    """What the extensions of a package ask for, each `EXTENSION: WHAT`."""

    permissions: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()  # that it has started: MCP servers, and extensions out of process


class Difference(Record):
    """Of one list."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class Changes(Record):
    """What another content changes."""

    added: tuple[str, ...] = ()  # paths
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    permissions: Difference = Difference()
    hooks: Difference = Difference()
    programs: Difference = Difference()

    @property
    def rights(self) -> Mapping[str, Difference]:
        """Return what changes besides files, by its name."""
        return {"permissions": self.permissions, "hooks": self.hooks, "programs": self.programs}

    @property
    def grows(self) -> bool:
        """Tell whether a person must look: something may be done that could not be done before."""
        return any(difference.added for difference in self.rights.values())


def rights_of(extensions: Iterable[Manifest]) -> Rights:
    """Return what extensions ask for."""
    declared = tuple(extensions)
    return Rights(
        tuple(sorted(f"{each.name}: {permission}" for each in declared for permission in each.permissions)),
        tuple(sorted(f"{each.name}: {hook}" for each in declared for hook in each.hooks)),
        tuple(sorted(f"{each.name}: {' '.join(argv)}" for each in declared for argv in _programs(each))),
    )


def _programs(extension: Manifest) -> Iterator[tuple[str, ...]]:
    if extension.tier == "process" and extension.command:
        yield extension.command
    for server in extension.mcp_servers:
        yield (*(f"{name}={value}" for name, value in sorted(server.env.items())), server.command, *server.args)


def compare(
    before: Sequence[PackageFile], after: Sequence[PackageFile], rights_before: Rights, rights_after: Rights
) -> Changes:
    """Return what another content changes."""
    old = {file.path: file for file in before}
    new = {file.path: file for file in after}
    return Changes(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(path for path in new.keys() & old.keys() if new[path] != old[path])),
        permissions=_differ(rights_before.permissions, rights_after.permissions),
        hooks=_differ(rights_before.hooks, rights_after.hooks),
        programs=_differ(rights_before.programs, rights_after.programs),
    )


def _differ(before: Sequence[str], after: Sequence[str]) -> Difference:
    return Difference(
        tuple(each for each in after if each not in before), tuple(each for each in before if each not in after)
    )

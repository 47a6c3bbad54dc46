"""The lock file: which packages are installed, from where, at which content. Version 1. Pure.

It alone says what counts. What lies beside it is made to fit it, so that a package changes in one step: the new lock
file takes the place of the old one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

from oulipoly_engine.core.packages.refusals import PackageMissing
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.records import Record, prepare, replace

Kind = Literal["extensions", "skills", "prompts", "themes"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SourceKind = Literal["folder", "archive", "npm", "git", "url"]
VERSION = 1
FILE = "packages-lock.json"
MOST_PREVIOUS = 3  # earlier contents that a rollback finds
_INTEGRITY = "sha256-"


class Part(Record):
    """What a package brings for one user of it."""

    kind: Kind
    name: str  # matches `names.NAME`
    path: str  # in the package: an extension's folder or file, a skill's folder, a prompt's or theme's file
    problem: str = ""  # why it is listed and not used; empty: it is used


class Installed(Record):
    """One content of a package, as it was taken in."""

    name: str  # as its manifest has it: `@foo/oxi-tools`
    version: str
    source: str  # as it was given; a path is absolute
    source_type: SourceKind
    integrity: str  # `sha256-` and the hexadecimal digest of its list of files
    installed_at: str  # RFC 3339
    description: str = ""
    commit: str = ""  # of git
    scope: Literal["user", "project"] = "user"
    project: str = ""  # the folder in which it counts alone; empty: it counts everywhere
    dependencies: Mapping[str, str] = {}  # said, not installed
    parts: tuple[Part, ...] = ()
    previous: tuple[Installed, ...] = ()  # the last one first; these have no previous ones

    @property
    def digest(self) -> str:
        """Return what its folder is called."""
        return self.integrity.removeprefix(_INTEGRITY)


class Lock(Record):
    """The whole file."""

    version: int = VERSION
    packages: Mapping[str, Installed] = {}  # by the names of their folders

    def find(self, name: str) -> tuple[str, Installed]:
        """Return a package by its folder's name or its own. Raises PackageMissing."""
        for folder, installed in self.packages.items():
            if name in (folder, installed.name):
                return folder, installed
        known = ", ".join(self.packages) or "none is"
        raise PackageMissing(f"no package {name[:80]!r} is installed; installed: {known}")

    def put(self, folder: str, installed: Installed) -> Lock:
        """Return the lock with a package in place of the one of that name, which a rollback finds."""
        before = self.packages.get(folder)
        past = () if before is None else (replace(before, previous=()), *before.previous)
        kept = tuple(each for each in past if each.integrity != installed.integrity)[:MOST_PREVIOUS]
        return replace(self, packages={**self.packages, folder: replace(installed, previous=kept)})

    def without(self, folder: str) -> Lock:
        """Return the lock without a package."""
        return replace(self, packages={name: each for name, each in self.packages.items() if name != folder})

    def clashes(self) -> tuple[tuple[Kind, str, tuple[str, ...]], ...]:
        """Return what several packages bring under one name: kind, name, packages; the first has the short name."""
        owners: dict[tuple[Kind, str], list[str]] = {}
        for folder, installed in sorted(self.packages.items()):
            for part in installed.parts:
                if not part.problem:
                    owners.setdefault((part.kind, part.name), []).append(folder)
        return tuple((kind, name, tuple(folders)) for (kind, name), folders in owners.items() if len(folders) > 1)

    def digests(self) -> frozenset[str]:
        """Return the digests of all contents that are installed or that a rollback finds."""
        every = (each for current in self.packages.values() for each in (current, *current.previous))
        return frozenset(each.digest for each in every)


def integrity_of(digest: str) -> str:
    """Return a digest as the lock has it."""
    return f"{_INTEGRITY}{digest}"


def read_lock(data: bytes, path: str) -> Lock:
    """Read the file. Raises ConfigInvalid, naming path and field, for what is none of this version."""
    try:
        lock = msgspec.json.decode(data, type=prepare(Lock))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"{path} cannot be read: {error}: move it away, and install the packages anew") from error
    if lock.version != VERSION:
        raise ConfigInvalid(f"{path} has version {lock.version}, and this program knows {VERSION}: use a newer one")
    return lock


def write_lock(lock: Lock) -> bytes:
    """Return the file's content: JSON, one key a line, names in order."""
    ordered = replace(lock, packages=dict(sorted(lock.packages.items())))
    return msgspec.json.format(msgspec.json.encode(ordered), indent=2) + b"\n"

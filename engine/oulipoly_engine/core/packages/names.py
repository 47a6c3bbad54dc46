"""Names of packages and of what they bring. Pure."""

from __future__ import annotations

import re

from oulipoly_engine.core.extensions.manifest import NAME
from oulipoly_engine.core.packages.refusals import PackageRefused

# Behind a slash and in settings a package's name stands where these stand for something of ours.
_OURS = frozenset({"agents", "blobs", "builtin", "cli", "extension", "prompt", "project", "skill", "theme", "user"})
_UNFINISHED = "unfinished-"  # what a package is called while it is looked at
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NPM = re.compile(
    r"(?P<name>(@[a-z0-9][a-z0-9._~-]{0,80}/)?[a-z0-9][a-z0-9._~-]{0,120})(@(?P<version>[\w.+^~*-]{1,80}))?"
)


def folder_name(name: str) -> str:
    """Return what a package's folder is called: `foo-oxi-tools` for `@foo/oxi-tools`. Raises PackageRefused."""
    safe = re.sub(r"[^a-z0-9_-]", "-", name.removeprefix("@").lower())
    if not NAME.fullmatch(safe):
        raise PackageRefused(f"{name[:80]!r} is not a name for a package: letters, digits, `-` and `_`, at most 64")
    if safe in _OURS or _DIGEST.fullmatch(safe) or safe.startswith(_UNFINISHED):
        raise PackageRefused(f"the package's name {name!r} is one of ours: rename it in its manifest")
    return safe


def part_name(file_name: str) -> str:
    """Return the name of what a package brings, from its file's; empty: none can be made of it."""
    safe = re.sub(r"[^a-z0-9_-]", "-", file_name.lower()).strip("-_")
    return safe if NAME.fullmatch(safe) else ""


def parse_npm(source: str) -> tuple[str, str]:
    """Return name and version, empty for the newest, of `npm:NAME[@VERSION]`. Raises PackageRefused."""
    parsed = _NPM.fullmatch(source.removeprefix("npm:"))
    if parsed is None:
        raise PackageRefused(f"{source[:120]!r} is not npm:NAME, npm:@SCOPE/NAME or one of them with @VERSION")
    return parsed["name"], parsed["version"] or ""

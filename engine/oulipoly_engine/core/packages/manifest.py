"""What a package says of itself, and what it brings: by its manifest, or by where files lie. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

import msgspec

from oulipoly_engine.core.extensions import manifest as extension
from oulipoly_engine.core.packages.lock import KINDS, Kind, Part
from oulipoly_engine.core.packages.names import part_name
from oulipoly_engine.core.packages.refusals import PackageRefused
from oulipoly_engine.records import Record, prepare, replace

FILES = ("package.toml", "oxi-package.toml", "package.json")  # the first of them counts
_TABLES = ("agent-runner", "oxi", "pi")  # of a package.json, which says there what it brings
_SKILL = "SKILL.md"
_MOST = 100  # entries of a list
_LONGEST_VERSION = 64  # characters
_LONGEST_DESCRIPTION = 500
_ENDS: Mapping[Kind, tuple[str, ...]] = {
    "extensions": (".py",),
    "skills": (),
    "prompts": (".md",),
    "themes": (".toml", ".json"),
}
_FOREIGN = (".ts", ".js", ".mjs", ".so", ".wasm")  # extensions of other programs


class Manifest(Record):
    """A package's manifest. None: it does not say, so that what lies in the usual folders counts."""

    name: str
    version: str = "0.0.0"
    description: str = ""
    extensions: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    prompts: tuple[str, ...] | None = None
    themes: tuple[str, ...] | None = None
    dependencies: Mapping[str, str] = {}


def read_manifest(file: str, table: Mapping[str, Any], fallback: str) -> Manifest:
    """Return what a manifest says. file: its name; empty: there is none. fallback: the name of a package without one.

    Raises PackageRefused, which names the field.
    """
    if file == "package.json":
        table = _of_npm(table)
    if file != "":
        # A manifest that lists one kind brings of the others what it lists: nothing.
        listed = any(kind in table for kind in KINDS)
        table = dict.fromkeys(KINDS, ()) | dict(table) if listed else table
    try:
        manifest = msgspec.convert({"name": fallback, **table}, prepare(Manifest))
    except msgspec.ValidationError as error:
        raise PackageRefused(f"{file} cannot be used: {error}: correct it in the package") from error
    if len(manifest.version) > _LONGEST_VERSION or any(len(getattr(manifest, kind) or ()) > _MOST for kind in KINDS):
        most = f"a version of more than {_LONGEST_VERSION} characters, or a list of more than {_MOST}"
        raise PackageRefused(f"{file} cannot be used: it has {most}: correct it in the package")
    return replace(manifest, description=" ".join(manifest.description.split())[:_LONGEST_DESCRIPTION])


def _of_npm(table: Mapping[str, Any]) -> Mapping[str, Any]:
    plain = {key: table[key] for key in ("name", "version", "description", "dependencies") if key in table}
    brings: Mapping[str, Any] = next((table[name] for name in _TABLES if isinstance(table.get(name), dict)), {})
    return plain | {kind: brings[kind] for kind in KINDS if kind in brings}


def find_parts(manifest: Manifest, files: Sequence[str]) -> tuple[Part, ...]:
    """Return what a package brings. files: the paths of all its files."""
    parts: dict[tuple[Kind, str], Part] = {}
    for kind in KINDS:
        listed: tuple[str, ...] | None = getattr(manifest, kind)
        patterns = _usual(kind, files) if listed is None else listed
        for part in _listed(kind, patterns, files):
            named = replace(part, name=part.name or part_name(manifest.name))
            problem = "its name cannot be used" if not named.name else named.problem
            if (kind, named.name) in parts and parts[kind, named.name].path != named.path:
                problem = "another one of the package has its name"
                named = replace(named, name=part_name(named.path))
            parts.setdefault((kind, named.name), replace(named, problem=problem))
    return tuple(parts.values())


def _usual(kind: Kind, files: Sequence[str]) -> tuple[str, ...]:
    if kind == "skills":
        return ("",)
    if kind == "extensions" and extension.FILE in files:
        return ("",)
    return (kind,) if any(path.startswith(f"{kind}/") for path in files) else ()


def _listed(kind: Kind, patterns: Sequence[str], files: Sequence[str]) -> Iterator[Part]:
    without = [_plain(pattern[1:]) for pattern in patterns if pattern.startswith("!")]
    for pattern in (_plain(pattern) for pattern in patterns if not pattern.startswith("!")):
        places = _match(pattern, files)
        if not places:
            yield Part(kind, part_name(PurePosixPath(pattern).stem), pattern, "it is not in the package")
        for place in places:
            for part in _expand(kind, place, files):
                if not any(_match(unwanted, [part.path]) for unwanted in without):
                    yield part


def _plain(pattern: str) -> str:
    plain = pattern.removeprefix("./").strip("/")
    return "" if plain == "." else plain


def _match(pattern: str, files: Sequence[str]) -> list[str]:
    """Return the file or the folder of a path, or all that a pattern means; `""` is the package itself."""
    if pattern == "" or pattern in files or any(path.startswith(f"{pattern}/") for path in files):
        return [pattern]
    folders = {str(folder) for path in files for folder in PurePosixPath(path).parents} - {"."}
    return sorted(path for path in {*files, *folders} if fnmatchcase(path, pattern))


def _expand(kind: Kind, place: str, files: Sequence[str]) -> Iterator[Part]:
    """Yield what a file or a folder of a package brings of a kind."""
    below = [path for path in files if path == place or not place or path.startswith(f"{place}/")]
    if kind == "skills":
        yield from (_of_folder(kind, path, _SKILL) for path in below if PurePosixPath(path).name == _SKILL)
        return
    if kind == "extensions":
        folders = [path for path in below if PurePosixPath(path).name == extension.FILE]
        yield from (_of_folder(kind, path, extension.FILE) for path in folders)
        owned = tuple(path.removesuffix(extension.FILE) for path in folders)
        below = [path for path in below if not path.startswith(owned)] if owned else below
    for path in below:
        file = PurePosixPath(path)
        if path != place and str(file.parent) != (place or "."):
            continue
        if file.suffix in _ENDS[kind]:
            yield Part(kind, part_name(file.stem), path)
        elif kind == "extensions" and file.suffix in _FOREIGN and not file.name.endswith(".d.ts"):
            yield Part(kind, part_name(file.stem), path, "it is written for another program")


def _of_folder(kind: Kind, path: str, file: str) -> Part:
    folder = path.removesuffix(file).rstrip("/")
    return Part(kind, part_name(PurePosixPath(folder).name), folder)

"""Extensions, skills, prompts and themes that are found without a list naming them. Who adds a place adds it here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.config import prompt_files
from oulipoly_engine.config.packages_file import enabled_resources
from oulipoly_engine.core.packages.lock import Kind
from oulipoly_engine.paths import Paths

_KINDS: Mapping[str, Kind] = {"extension": "extensions", "skill": "skills", "prompt": "prompts", "theme": "themes"}
_FILES = {  # below the folder of the type
    "extension": ("*.py", "*/extension.py", "*/extension.toml"),
    "skill": ("*/SKILL.md",),
    "prompt": ("*.md",),
    "theme": ("*.toml", "*.json"),
}


def find_resources(paths: Paths, kind: str) -> Mapping[str, Path]:
    """Return what there is of a type, by name. kind: one of `core.accounts.resource_lists.TYPES`."""
    folder = paths.config / f"{kind}s"
    places: dict[str, Path] = {}
    for pattern in _FILES[kind]:
        for path in sorted(folder.glob(pattern)) if folder.is_dir() else ():
            places.setdefault(path.stem if path.parent == folder else path.parent.name, path)
    if kind == "prompt":
        files = prompt_files.read_of_project(paths.above.project)
        is_trusted = bool(files.texts) and paths.above.is_trusted(files.folder.parent, files.digest)
        for name in files.texts if is_trusted else ():
            places.setdefault(name, files.folder / f"{name}.md")
    for brought in enabled_resources(paths, _KINDS[kind]):
        places[brought.full_name] = brought.path
    return places

"""Extensions, skills, prompts and themes: which there are, which are switched on, and switching them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oulipoly_engine.config.edit.settings_edit import as_toml
from oulipoly_engine.config.load import load_settings
from oulipoly_engine.config.origins import Statement, read_origins
from oulipoly_engine.config.resources import find_resources
from oulipoly_engine.core.accounts.resource_lists import TYPES, is_path, is_switched_off, switch
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record
from oulipoly_engine.service.accounts.settings import Settings


class Resource(Record):
    """An extension, a skill, a prompt or a theme."""

    type: str  # one of TYPES
    name: str
    is_on: bool
    place: str  # where it lies; empty: it is not there, or nobody has looked
    said_by: Statement | None  # the setting that names it; None: none does


def parse_type(text: str) -> str:
    """Return a type by its name or the plural. Raises UsageInvalid."""
    kind = text.lower().removesuffix("s")
    if kind in TYPES:
        return kind
    near = nearest(text, (*TYPES, *(f"{kind}s" for kind in TYPES)))
    hint = f"did you mean {near[0]}?" if near else f"write {', '.join(TYPES)}"
    raise UsageInvalid(f"there is no type {text[:80]!r}: {hint}")


def list_resources(paths: Paths, kinds: Sequence[str] = TYPES) -> tuple[Resource, ...]:
    """Return what is found or named by a list, by type and name."""
    settings = load_settings(paths).value
    holding = {origin.key: origin.holds for origin in read_origins(paths).settings}
    resources: list[Resource] = []
    for kind in kinds:
        entries: tuple[str, ...] = getattr(settings, f"{kind}s")
        files = find_resources(paths, kind)
        named = {entry.removeprefix("!") for entry in entries}
        for name in sorted({*files, *named}):
            place = str(files.get(name, name if is_path(name) else ""))
            said_by = holding[f"{kind}s"] if name in named else None
            resources.append(Resource(kind, name, not is_switched_off(entries, name), place, said_by))
    return tuple(resources)


def switch_resource(settings: Settings, kind: str, name: str, *, is_on: bool, folder: Path | None = None) -> str:
    """Switch one on or off in the user's own list, or in that of the project around a folder; say what was done.

    Raises UsageInvalid for a name that nothing has, and as a setting that is saved.
    """
    paths = settings.paths
    if is_path(name):
        name = str(Path(name).expanduser().absolute())
        if is_on and not Path(name).exists():
            raise UsageInvalid(f"there is nothing at {name}")
    key = f"settings.{kind}s"
    own = settings.find(key)[1]
    setting = own if folder is None else settings.of_project(own, folder)
    is_known = name in find_resources(paths, kind)
    entries = setting.items if setting.text else own.items
    if not is_known and name not in {entry.removeprefix("!") for entry in entries} and not (is_on and is_path(name)):
        known = [resource.name for resource in list_resources(paths, (kind,))]
        near = nearest(name, known)
        others = f"there are {', '.join(known[:8])}" if known else "there is none"
        hint = f"did you mean {near[0]!r}?" if near else others
        raise UsageInvalid(f"there is no {kind} {name[:80]!r}: {hint}")
    changed = switch(entries, name, is_on=is_on, is_known=is_known)
    below = () if folder is None else own.items
    settings.save(setting, "" if changed == below else as_toml([*changed]), what=f"switched {kind} {name}")
    return name

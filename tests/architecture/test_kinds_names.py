"""Names of wires and CLIs stand in their bundles: who switches on a name asks the bundle instead."""

import ast
from collections import Counter
from pathlib import Path

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.live.wires.table import WIRES

_ROOT = Path(__file__).parents[2]
_BUNDLES = ("core/accounts/clis/", "core/live/wires/", "drivers/")
_NAMES = {*CLIS, *WIRES}


def _strings_in(path: Path):
    """Yield the texts of a module that are values, each as it stands there."""
    source = path.read_text(encoding="utf-8")
    if not any(f"{quote}{name}{quote}" in source for name in _NAMES for quote in "\"'"):
        return  # to parse all modules takes seconds
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _own_of_a_kind(place: str) -> bool:
    """Tell whether a module is of one CLI or wire alone, by its own name or its folder's."""
    return any(name in part for part in place.removesuffix(".py").split("/") for name in _NAMES)


def test_names_of_kinds_stand_in_their_bundles_alone():
    found: Counter[str] = Counter()
    for package in ("engine/oulipoly_engine", "tui/oulipoly_tui"):
        for path in (_ROOT / package).rglob("*.py"):
            place = path.relative_to(_ROOT / package).as_posix()
            if not place.startswith(_BUNDLES) and not _own_of_a_kind(place):
                found[place] += sum(text in _NAMES for text in _strings_in(path))

    assert {} == dict(+found)

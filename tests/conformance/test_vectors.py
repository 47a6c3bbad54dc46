"""Run every behaviour vector through the driver of its area.

Vectors are the `*.json` files of `../shared/vectors` beside this repository and of the folder that `$CONFORMANCE_DIR`
names, each searched with its subfolders. A file is `{"vectors": [...]}` or a plain list; a vector is an object with
`id`, `area` (`family.topic`), `input` and its expectation.

The driver of area `family.topic` stands in `drivers/family.py`, which exposes

    DRIVERS: dict[str, Callable[[dict, Path], None]]      # area -> driver

and a driver is `def drive(vector: dict, tmp_path: Path) -> None`: it takes the whole vector, runs the product on its
input and asserts the expectation. `tmp_path` is the test's own empty folder. A file whose drivers run our command has
`COMMANDS = None`, which becomes the fixture `commands`: what it runs is forked from a process that has imported us.
Driver files are loaded by path, so they cannot import one another. An area without a driver fails, unless `pending.py`
names it with the issue that will bring it.
"""

from __future__ import annotations

import importlib.util
import json
import os
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[2] / "shared" / "vectors"


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"conformance_{path.parent.name}_{path.stem}", path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PENDING = _load(HERE / "pending.py").PENDING


@cache
def _family(name: str) -> ModuleType | None:
    path = HERE / "drivers" / f"{name}.py"
    return _load(path) if path.exists() else None


def _drivers(family: str) -> dict:
    module = _family(family)
    return {} if module is None else module.DRIVERS


def _pending_issue(area: str) -> str | None:
    return PENDING.get(area, PENDING.get(area.partition(".")[0]))


def _folders() -> list[Path]:
    named = os.environ.get("CONFORMANCE_DIR")
    return [folder for folder in (SHARED, Path(named) if named else None) if folder is not None and folder.is_dir()]


def _vectors() -> list[tuple[str, dict]]:
    """List (test id, vector), in one order for every worker."""
    found = []
    for place, folder in enumerate(_folders()):
        for path in sorted(folder.rglob("*.json")):
            content = json.loads(path.read_text(encoding="utf-8"))
            vectors = content if isinstance(content, list) else content["vectors"]
            prefix = "" if place == 0 else f"{folder.name}/"
            found += [(f"{prefix}{path.stem}:{vector['id']}", vector) for vector in vectors]
    return found


VECTORS = _vectors()


def _parameters() -> list:
    if not VECTORS:
        absent = pytest.mark.skip(reason="no vectors: neither ../shared/vectors nor $CONFORMANCE_DIR holds any")
        return [pytest.param({}, marks=absent, id="no-vectors")]
    return [pytest.param(vector, id=test_id, marks=_marks(vector["area"])) for test_id, vector in VECTORS]


def _marks(area: str) -> tuple:
    issue = _pending_issue(area)
    return () if issue is None else (pytest.mark.skip(reason=f"pending, {area}: {issue}"),)


@pytest.mark.parametrize("vector", _parameters())
def test_vector(vector, tmp_path, commands):
    area = vector["area"]
    family = area.partition(".")[0]
    driver = _drivers(family).get(area)

    assert driver is not None, f"area {area} has no driver in drivers/{family}.py and is not pending"
    if hasattr(_family(family), "COMMANDS"):
        _family(family).COMMANDS = commands
    driver(vector, tmp_path)


def test_named_conformance_folder_exists():
    named = os.environ.get("CONFORMANCE_DIR")

    assert not named or Path(named).is_dir(), f"$CONFORMANCE_DIR names {named}, which is no folder"


@pytest.mark.parametrize("family", sorted(path.stem for path in (HERE / "drivers").glob("*.py")))
def test_no_driven_area_is_still_listed_as_pending(family):
    pending = {area: _pending_issue(area) for area in _drivers(family) if _pending_issue(area)}

    assert pending == {}


@pytest.mark.parametrize("family", sorted(path.stem for path in (HERE / "drivers").glob("*.py")))
def test_driver_file_holds_only_areas_of_its_family(family):
    assert {family} == {area.partition(".")[0] for area in _drivers(family)}


@pytest.mark.skipif(not VECTORS, reason="no vectors to compare the list with")
def test_every_pending_entry_matches_a_vector():
    areas = {vector["area"] for _, vector in VECTORS}
    families = {area.partition(".")[0] for area in areas}

    assert set() == set(PENDING) - areas - families

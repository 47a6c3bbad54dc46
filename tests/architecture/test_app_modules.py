"""The app's modules: none imports another in a circle, and no folder holds more than a reader can look through."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

import oulipoly_engine
import oulipoly_tui

_ROOT = Path(oulipoly_tui.__file__).parent
_MOST = 15  # modules in a folder, its own `__init__` not counted


def test_no_module_imports_another_in_a_circle():
    """Deferred imports and those for types alone count too: they hide a circle, and do not open it."""
    graph = grimp.build_graph("oulipoly_tui", exclude_type_checking_imports=False, cache_dir=None)
    imported = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}

    TopologicalSorter(imported).prepare()  # raises CycleError, which names the circle


def test_the_events_that_the_app_asks_for_by_name_are_there():
    """By name, since their modules are not loaded for the first frame; so nothing else would notice a new name."""
    written = re.compile(r'(?:__name__|\bname) (?:==|!=|in|not in) (\(.*?\)|"\w+")')
    asked = {
        name
        for path in _ROOT.rglob("*.py")
        for where in written.findall(path.read_text())
        for name in re.findall(r'"([A-Z][a-z]+[A-Z]\w+)"', where)
    }
    engine = Path(oulipoly_engine.__file__).parent
    events = {
        name for path in engine.rglob("*.py") for name in re.findall(r"^class (\w+)\(Event\)", path.read_text(), re.M)
    }

    assert len(asked) > 5
    assert set() == asked - events


@pytest.mark.parametrize("folder", sorted({path.parent for path in _ROOT.rglob("*.py")}), ids=lambda path: path.name)
def test_no_folder_holds_too_many_modules(folder):
    assert _MOST >= len([path for path in folder.glob("*.py") if path.name != "__init__.py"])

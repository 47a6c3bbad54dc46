"""The app's modules: none imports another in a circle, and no folder holds more than a reader can look through."""

from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

import oulipoly_tui

_ROOT = Path(oulipoly_tui.__file__).parent
_MOST = 15  # modules in a folder, its own `__init__` not counted


def test_no_module_imports_another_in_a_circle():
    """Deferred imports and those for types alone count too: they hide a circle, and do not open it."""
    graph = grimp.build_graph("oulipoly_tui", exclude_type_checking_imports=False, cache_dir=None)
    imported = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}

    TopologicalSorter(imported).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize("folder", sorted({path.parent for path in _ROOT.rglob("*.py")}), ids=lambda path: path.name)
def test_no_folder_holds_too_many_modules(folder):
    assert _MOST >= len([path for path in folder.glob("*.py") if path.name != "__init__.py"])

"""Environment variables of ours have their names in one place, which the documentation is made of."""

import ast
import re
from pathlib import Path

from oulipoly_engine import variables

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("engine/oulipoly_engine", "engine/oulipoly_demo", "tui/oulipoly_tui")
_OURS = re.compile(r"(OULIPOLY|AGENT_RUNNER)_[A-Z_]+")


def test_no_other_module_names_a_variable_of_ours():
    named = {
        (path.relative_to(_ROOT).as_posix(), node.value)
        for package in _PACKAGES
        for path in (_ROOT / package).rglob("*.py")
        if _OURS.search(source := path.read_text(encoding="utf-8"))  # to parse all modules takes seconds
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _OURS.fullmatch(node.value)
    }

    described = {*variables.TAKEN, *variables.GIVEN}
    assert {("engine/oulipoly_engine/variables.py", name) for name in described} == named

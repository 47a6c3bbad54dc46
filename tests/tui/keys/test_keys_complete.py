"""Every key of every table has a test that asserts what it does: a new row without one fails here."""

import ast
import importlib
import inspect
import pkgutil
import textwrap
from pathlib import Path

import pytest
from textual.screen import ModalScreen

from oulipoly_tui import screens
from oulipoly_tui.keys.keymap import resolve
from oulipoly_tui.view.terminal.copy_mode import _STEPS, CopyMode

PRESETS = ("default", "vim", "emacs")


def promises_of(path):
    """Return the (row, key) that the tests of a file promise, by reading it."""
    marks = [
        [one.value for one in call.args if isinstance(one, ast.Constant)]
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "keys"
    ]
    return {(mark[0], key) for mark in marks for key in mark[1:]}


@pytest.fixture(scope="module")
def promised():
    return set().union(*map(promises_of, Path(__file__).parent.glob("test_keys_*.py")))


def test_the_tested_keys_are_those_of_the_table(promised):
    table = {(row.id, key) for preset in PRESETS for row in resolve(preset).rows for key in row.keys.split(",")}
    of_rows = {pair for pair in promised if "." in pair[0]}

    assert set() == table - of_rows
    assert set() == of_rows - table


def test_the_tested_keys_of_screens_are_those_that_they_bind(promised, own_rows):
    def own_bindings(kind):
        return {key for binding in own_rows(kind) for key in binding.key.split(",")}

    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(screens.__path__, f"{screens.__name__}.")
    ]
    kinds = {kind for module in modules for kind in vars(module).values() if inspect.isclass(kind)}
    bound = {(kind.__name__, key) for kind in kinds if issubclass(kind, ModalScreen) for key in own_bindings(kind)}
    of_screens = {pair for pair in promised if "." not in pair[0] and pair[0] != "copy mode"}

    assert set() == bound - of_screens
    assert set() == of_screens - bound


def test_the_tested_keys_of_copy_mode_are_those_that_it_takes(promised):
    tree = ast.parse(textwrap.dedent(inspect.getsource(CopyMode.press)))
    cases = [one.value for one in ast.walk(tree) if isinstance(one, ast.MatchValue)]
    taken = {case.value for case in cases if isinstance(case, ast.Constant)} | set(_STEPS)

    assert {("copy mode", key) for key in taken} == {pair for pair in promised if pair[0] == "copy mode"}

"""Only `process`, `host` and `terminal.host` start processes: calls that no import shows are looked for in the code."""

import ast
import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("engine/oulipoly_engine", "engine/oulipoly_demo", "tui/oulipoly_tui")
_STARTERS = ("engine/oulipoly_engine/process/", "engine/oulipoly_engine/host/", "engine/oulipoly_engine/terminal/host/")
# Of `process`: pipes, the shell that outlives us, programs in front on our terminal, and the trial of bubblewrap.
_POPEN = ("spawn.py", "stop.py", "user_programs.py", "boxes/machine.py")
_CALLS = ("fork", "forkpty", "popen", "system", "startfile")
_FAMILIES = ("exec", "spawn", "posix_spawn")
_HINT = re.compile(
    rf"\b(os|posix)\s*\.\s*({'|'.join((*_CALLS, *_FAMILIES))})|\b(os|posix) import\b|subprocess_(exec|shell)"
)
_ASYNCIO = ("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell")


def starts(source):
    """Return the names of functions that start a process, or replace this one, wherever a source names them."""
    found = []
    if not _HINT.search(source):
        return found  # to parse all modules takes seconds
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("os", "posix"):
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom) and node.module in ("os", "posix"):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute) and node.attr in _ASYNCIO:
            found.append(node.attr)
        found += [name for name in names if name in _CALLS or name.startswith(_FAMILIES)]
    return found


def modules():
    paths = (path for package in _PACKAGES for path in (_ROOT / package).rglob("*.py"))
    return {path.relative_to(_ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_nobody_else_starts_a_process():
    found = {path: starts(source) for path, source in modules().items() if not path.startswith(_STARTERS)}

    assert {} == {path: names for path, names in found.items() if names}


def test_children_with_pipes_are_started_in_one_place():
    calls = re.compile(r"subprocess\.(Popen|run)\(")
    found = {path for path, source in modules().items() if path.startswith(_STARTERS[0]) and calls.search(source)}

    assert {f"{_STARTERS[0]}{name}" for name in _POPEN} == found


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.fork()",
        "import os\nos.execvp('a', ['a'])",
        "from os import posix_spawn",
        "from os import execve as become",
        "import asyncio\nasyncio.create_subprocess_exec('a')",
    ],
)
def test_every_way_is_seen(source):
    assert starts(source)

"""Only `private_files` makes folders and files of ours: calls that make some are looked for in the code."""

import ast
import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("engine/oulipoly_engine", "tui/oulipoly_tui")
_MAKERS = ("mkdir", "makedirs", "touch", "write_text", "write_bytes", "mkfifo", "mknod", "copyfile", "copytree")
_HINT = re.compile(rf"\.\s*({'|'.join(_MAKERS)}|O_CREAT)\b")
_MODE = re.compile("""["'][rbt]*[wax+][rwaxbt+]*["']""")
_WRITERS = ("output", "diagnostics")  # their write_bytes writes streams
_ELSEWHERE = {
    "engine/oulipoly_engine/private_files.py": {"mkdir", "O_CREAT"},
    "engine/oulipoly_engine/adapters/scripts/opencode.py": {"mkdir"},  # works alone, without our package
    "engine/oulipoly_engine/adapters/scripts/turns.py": {"mkdir"},  # as above
    "engine/oulipoly_engine/process/boxes/inside.py": {"touch", "open"},  # tries whether it can, and works alone
    "engine/oulipoly_engine/process/boxes/groups.py": {"mkdir", "write_text"},  # of the kernel
    "engine/oulipoly_engine/service/worktrees/setup/files.py": {"mkdir"},  # as git makes a worktree's folders
    "engine/oulipoly_engine/service/worktrees/base/tree_files.py": {"mkdir", "O_CREAT"},  # the user's own repository
    "tui/oulipoly_tui/screens/sessions/export.py": {"mkdir"},  # the user's own folder, by the user's umask
}


def makers(source):
    """Return what a source names that makes files or folders."""
    found = set()
    if not _HINT.search(source) and not ("open(" in source and _MODE.search(source)):
        return found  # to parse all modules takes seconds
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="write_bytes")) if owner in _WRITERS:
                pass
            case ast.Call(func=ast.Attribute(attr=name)) if name in _MAKERS:
                found.add(name)
            case ast.Call(func=ast.Attribute(attr="open") | ast.Name(id="open"), args=arguments, keywords=keywords):
                values = [*arguments, *(one.value for one in keywords if one.arg == "mode")]
                first = next((one.value for one in values if isinstance(one, ast.Constant)), "")
                if isinstance(first, str) and set(first) & set("wax+") and not set(first) - set("rwaxbt+"):
                    is_descriptor = arguments and isinstance(arguments[0], ast.Name) and arguments[0].id == "descriptor"
                    found |= set() if is_descriptor else {"open"}
            case ast.Attribute(attr="O_CREAT"):
                found.add("O_CREAT")
            case _:
                pass
    return found


def modules():
    paths = (path for package in _PACKAGES for path in (_ROOT / package).rglob("*.py"))
    return {path.relative_to(_ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_nobody_else_makes_folders_or_files():
    found = {path: makers(source) - _ELSEWHERE.get(path, set()) for path, source in modules().items()}

    assert {} == {path: names for path, names in found.items() if names}


@pytest.mark.parametrize(
    "source",
    [
        "path.mkdir()",
        "path.parent.touch()",
        "path.open('w')",
        "open(path, 'ab')",
        "open(path, mode='x')",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "path.write_bytes(b'')",
    ],
)
def test_every_way_is_seen(source):
    assert makers(source)


@pytest.mark.parametrize("source", ["path.open('rb')", "open(descriptor, 'wb')", "output.write_bytes(b'')"])
def test_what_makes_nothing_is_none(source):
    assert not makers(source)

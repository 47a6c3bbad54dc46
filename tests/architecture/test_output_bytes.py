"""Only a CLI's own bytes, and files that are asked for as they are, go to stdout and stderr without being cleaned."""

import ast
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_WRITERS = ("output", "diagnostics")
_ALLOWED = {
    "engine/oulipoly_engine/cli/agents/agent.py",  # a tool's stdout and stderr
    "engine/oulipoly_engine/cli/artifacts/tool.py",  # an artifact's content, to no terminal
    "engine/oulipoly_engine/cli/runs/run.py",  # the CLI's stdout and stderr
    "engine/oulipoly_engine/cli/sessions/export.py",  # documents and canonical lines, harmless as they are made
    "engine/oulipoly_engine/cli/sessions/bundle.py",  # to no terminal
    "engine/oulipoly_engine/cli/terminals.py",  # a terminal's picture
    "tui/oulipoly_tui/entry.py",  # the app's own sequence
}


def writes_bytes(source):
    """Tell whether a module writes bytes past the cleaning."""
    return "write_bytes" in source and any(
        isinstance(node, ast.Attribute)
        and node.attr == "write_bytes"
        and isinstance(node.value, ast.Name)
        and node.value.id in _WRITERS
        for node in ast.walk(ast.parse(source))
    )


def test_nobody_else_writes_bytes():
    paths = [path for folder in ("engine", "tui") for path in (_ROOT / folder).rglob("*.py")]

    found = {path.relative_to(_ROOT).as_posix() for path in paths if writes_bytes(path.read_text(encoding="utf-8"))}

    assert _ALLOWED == found

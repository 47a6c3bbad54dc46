"""Changes of files that demo agents make: one line more, within the folder that they work in."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import NamedTuple

_LINE = "A line that a demo agent has added.\n"


class Edit(NamedTuple):
    """A change that is not made yet."""

    path: Path
    kind: str  # "add" or "update"
    before: str
    after: str
    is_allowed: bool  # it stays within the folder

    @property
    def diff(self) -> str:
        """Return the change as a unified diff."""
        name = self.path.name
        old = "/dev/null" if self.kind == "add" else f"a/{name}"
        lines = difflib.unified_diff(self.before.splitlines(True), self.after.splitlines(True), old, f"b/{name}")
        return "".join(lines)

    @property
    def codex_diff(self) -> str:
        """Return the change as codex (0.169) tells it: a new file's text, or else the hunks without the names."""
        return self.after if self.kind == "add" else "".join(self.diff.splitlines(True)[2:])

    def apply(self) -> bool:
        """Make the change. Returns whether the file could be written."""
        if not self.is_allowed:
            return False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(self.after, encoding="utf-8")
        except OSError:
            return False
        return True


def plan(cwd: Path, name: str) -> Edit:
    """Return the change of a file that is named from `cwd`."""
    path = (cwd / name).resolve()
    is_inside = path.is_relative_to(cwd.resolve())
    try:
        before = path.read_text(encoding="utf-8") if is_inside else ""
        kind = "update" if is_inside else "add"
    except FileNotFoundError:
        before, kind = "", "add"
    except (OSError, UnicodeDecodeError):
        before, kind, is_inside = "", "update", False
    return Edit(path, kind, before, before + _LINE, is_inside)

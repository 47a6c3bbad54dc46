"""Two well-known Textual apps that ours is started beside, each in a virtual environment of its own.

Kept in `$AGENT_RUNNER_BENCH_CACHE`, by default below ~/.cache, and made when they are missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Rival(NamedTuple):
    """An app to compare with."""

    name: str
    packages: tuple[str, ...]
    arguments: tuple[str, ...]
    frame: str  # a word of its first frame
    data: str  # a word of its first data


RIVALS = (
    # With tree-sitter 0.26, which it would take, it ends by a signal at its start.
    Rival("posting", ("posting==2.11.1", "tree-sitter<0.26"), (), "Response", "Response"),
    Rival("harlequin", ("harlequin==2.17.0",), ("--locale", "C"), "Data Catalog", "memory"),
)


def program(rival: Rival) -> Path | None:
    """Return a rival's program, installed unless it is there; None where pip cannot install it."""
    folder = _cache() / rival.name
    found = folder / "bin" / rival.name
    if not found.exists():
        pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        for command in ((sys.executable, "-m", "venv", str(folder)), (*pip, "--compile", *rival.packages)):
            subprocess.run(command, check=False, capture_output=True)
    return found if found.exists() else None


def _cache() -> Path:
    named = os.environ.get("AGENT_RUNNER_BENCH_CACHE")
    folder = Path(named) if named else Path.home() / ".cache" / "agent-runner-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder

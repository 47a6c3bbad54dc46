"""Work sessions in the app: a git repository, and the demo's CLIs to work in it."""

import importlib.util
import subprocess
from pathlib import Path

import pytest


def _beside(name):
    """Load another folder's conftest: its fixtures serve here too."""
    path = Path(__file__).parents[1] / name / "conftest.py"
    spec = importlib.util.spec_from_file_location(f"{name}_of_work", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_live = _beside("live")
live_world = _live.live_world
live = _live.live


@pytest.fixture
def git():
    """Run git: `git(folder, "status")` returns what it printed."""

    def run(folder, *words):
        named = ("-c", "user.name=t", "-c", "user.email=t@example.com")
        done = subprocess.run(("git", *named, *words), cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout

    return run


@pytest.fixture
def repository(tmp_path, git):
    """A repository with one commit on `main`, and a branch beside it."""
    folder = tmp_path / "roof"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "t")
    git(folder, "config", "user.email", "t@example.com")
    (folder / "gutter.py").write_text("".join(f"def part_{number}():\n    return {number}\n\n" for number in range(8)))
    (folder / "notes.txt").write_text("first\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Begin")
    git(folder, "branch", "slates")
    return folder

"""Under an open umask nobody but the user may read what commands leave."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def run(home):
    """Run one of our commands under an umask that takes nothing, and return its stdout."""

    def act(*arguments):
        command = [sys.executable, "-m", "oulipoly_tui", *map(str, arguments)]
        return subprocess.run(
            command, umask=0o000, cwd=home, capture_output=True, timeout=60, check=True, text=True
        ).stdout

    return act


def open_to_others(folder):
    """Return what others may do something with, of all that lies in a folder."""
    found = [Path(place, name) for place, folders, files in os.walk(folder) for name in (*folders, *files)]
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in found if not path.is_symlink()}
    return {str(path): oct(mode) for path, mode in modes.items() if mode & 0o077}


def test_first_command_of_all_may_start_a_terminal(run, home):
    started = run("terminal", "--detach", "--", "sleep", "1000").strip()
    run("kill", started)

    assert (home / ".local" / "share" / "oulipoly-agent-runner").is_dir()
    assert {} == open_to_others(home)


def test_whatever_commands_leave_is_private(run, home, tmp_path):
    world = ("demo", "--root", tmp_path / "new" / "world")
    inside = (*world, "--")
    run(*world)
    run(*inside, "-m", "demo-opus", "hello")
    run(*inside, "session-scan")
    session = json.loads(run(*inside, "session", "list", "--json", "--limit", "1"))["conversations"][0]["session_id"]
    run(*inside, "session", "archive")
    run(*inside, "session", "bundle", session, "--output", home / "a.bundle")
    run(*inside, "session", "export", session, "--format", "markdown", "--output", home / "a.md")
    run(*inside, "session", "pause-handshake", session)
    run(*inside, "migrate", "--rebuild")

    assert (home / "a.bundle").is_file()
    # The tools of agents may be run by anybody who comes that far: the contract says so, and their folder is private.
    ours = {path: mode for path, mode in open_to_others(tmp_path / "new").items() if "/usr/bin/" not in path}
    assert {} == open_to_others(home) | ours

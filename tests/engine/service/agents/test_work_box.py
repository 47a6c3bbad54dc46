"""What a CLI is started with that works in a worktree and in a box."""

import json
import os
import subprocess
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.service.agents.logins import CliAccount
from oulipoly_engine.service.agents.work_box import WorkPlace, start_in_worktree
from oulipoly_engine.testing import FakeClock

NAME = 'Ann "A\\B" Ü'
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def git(folder, *words):
    done = subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def worktree(tmp_path):
    """A worktree whose repository says who commits, and how it logs in."""
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q", "-b", "main")
    for name, value in (("user.name", NAME), ("user.email", "a@example.invalid"), ("http.extraHeader", "Token secret")):
        git(main, "config", name, value)
    git(main, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(main, "worktree", "add", "-q", "-b", "aw/s1", tmp_path / "tree")
    git(main, "pack-refs", "--all")  # takes the folder of the branch away
    settings = {"isolation": "guarded", "link": ["deps"]}
    tree = str(tmp_path / "tree")
    return Worktree(
        "s1", str(main), tree, "aw/s1", "main", "", "ready", NOW, NOW, settings=settings, git_folder=f"{main}/.git"
    )


def test_it_is_given_who_commits_and_a_place_for_its_branch_and_no_login(tmp_path, worktree, monkeypatch):
    if obstacle := find_level(Level.GUARDED).obstacle:
        pytest.skip(obstacle)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    home = tmp_path / "claude-home"
    home.mkdir()
    oauth = {"accessToken": "sk-ant-oat01-secret", "expiresAt": 4102444800000}
    (home / ".credentials.json").write_text(json.dumps({"claudeAiOauth": oauth}))
    program = tmp_path / "bin/claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    runtime = Runtime("claude1", "claude", "claude1", program=str(program), home=str(home))
    root = tmp_path / "box"
    place = WorkPlace("guarded", worktree, root, tmp_path / "artifacts")

    start = start_in_worktree(place, CliAccount(runtime, CLIS["claude"], None), FakeClock())

    assert "secret" not in json.dumps(dict(start.environment))
    assert start.login is not None
    shown = [mount.path for mount in start.start.box.mounts]
    assert str(home) not in shown
    assert f"{worktree.repository}/deps" in shown
    assert (tmp_path / "main/.git/refs/heads/aw").is_dir()
    file = root / "gitconfig"
    assert NAME == git(os.curdir, "config", "--file", file, "user.name")
    assert "secret" not in file.read_text()

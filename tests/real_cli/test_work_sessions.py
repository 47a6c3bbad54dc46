"""The real claude and codex on a branch of their own: two turns in a worktree, whose changes then come to main."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from loopback.talk import told_of

pytestmark = [
    pytest.mark.real_cli,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="what lives is looked up in /proc"),
]


def git(folder, *words):
    done = subprocess.run(["git", "-C", folder, *words], env=os.environ, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """A repository with one commit on main."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ann")
    git(folder, "config", "user.email", "ann@example.com")
    (folder / "README.md").write_text("hello\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_two_turns_in_a_worktree_come_to_main(cli, talk, api, plan, repository):
    api.plans[f"{cli}-one"] = plan(tool_command="echo one > made.txt; pwd")
    first = talk.begin("make a file", "--repo", str(repository), "--profile", "full_access")
    api.plans[f"{cli}-one"] = plan(tool_command="echo two >> made.txt")
    second = talk.send("and more")
    worktree, branch = Path(first["worktree_path"]), first["branch"]
    run, session = talk.world.run, talk.session_id

    assert ("completed", "completed") == (first["status"], second["status"])
    assert "one\ntwo\n" == (worktree / "made.txt").read_text()
    assert ("", f"aw/{session}") == (git(repository, "status", "--porcelain"), branch)
    assert str(worktree) in "".join(call.tool_result or "" for call in api.calls)
    changes = told_of(run("changes", session, "--json"))
    assert ["made.txt"] == [one["path"] for one in changes["unstaged"]]
    for words in (
        ("changes", session, "--stage-all"),
        ("commit", session, "--message", "Make a file"),
        ("merge", session, "--json"),
    ):
        ran = run(*words)
        assert 0 == ran.exit_code, (words, ran.stderr)
    assert "main" == json.loads(ran.stdout)["branch"]
    assert "one\ntwo\n" == (repository / "made.txt").read_text()
    assert "Make a file" in git(repository, "log", "--oneline", "main")
    assert "" == git(repository, "status", "--porcelain")
    talk.close()

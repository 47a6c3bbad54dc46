"""The real claude and codex in a worktree and in a box: they commit there, and reach neither checkout nor home."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.process.boxes.machine import find_level

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(240)]

# Says `did COMMAND` of what succeeds although a box should hold it.
LOOK = """
did() { "$@" >/dev/null 2>&1 && echo "did $*"; }
echo work >made.txt && git add made.txt && git commit -qm "Make a file" && git log -1 --format=%an:%s
did cat $MAIN/README.md; did cat $SSH/id; did cat $LOGIN/.credentials.json; did cat $LOGIN/auth.json
did touch $SSH/evil; did touch $MAIN/.git/hooks/post-commit; did git config core.pager evil
did git branch -f main; did git update-ref refs/heads/main HEAD; did bash -c "echo >>$MAIN/.git/HEAD"
did bash -c "echo x >>.envrc"
did bash -c "exec 3<>/dev/tcp/$HOST/$PORT"
touch $MAIN/evil; env; echo LOOKED
"""
SECRETS = ("sk-ant-oat01-claude-one", "sk-ant-ort01-claude-one", "refresh_token")
OF_GUARDED = ["did bash -c echo x >>.envrc", "did bash -c exec 3<>/dev/tcp/"]  # as `docs/isolation.md` says


@pytest.fixture(params=["claude", "codex"])
def cli(request):
    return request.param


@pytest.fixture(params=["guarded", "sealed"])
def level(request):
    if obstacle := find_level(Level(request.param)).obstacle:
        pytest.skip(obstacle)
    return request.param


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
    for name in ("README.md", ".envrc"):
        (folder / name).write_text("hello\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def test_work_is_held_committed_and_merged_and_goes_on_held(cli, level, talk, api, plan, repository, tmp_path):
    run = talk.world.run
    ssh = tmp_path / "other/.ssh"
    ssh.mkdir(parents=True)
    (ssh / "id").write_text("secret")
    host, port = api.url.rpartition("//")[2].split(":")
    places = {"MAIN": repository, "SSH": ssh, "LOGIN": talk.world.home / f".{cli}-one", "HOST": host, "PORT": port}
    script = "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in places.items()) + LOOK
    api.plans[f"{cli}-one"] = plan(tool_command=f"bash -c {shlex.quote(script)}")
    before = git(repository, "rev-parse", "main")

    begun = talk.begin("look around", "--repo", str(repository), "--profile", "full_access", "--isolation", level)
    first = "".join(call.tool_result or "" for call in api.calls)
    run("session", "close", talk.session_id)
    command = f"cat {ssh}/id; echo two >>made.txt && git commit -qam More && echo AGAIN"
    api.plans[f"{cli}-one"] = plan(tool_command=command)
    talk.send("go on")
    again = "".join(call.tool_result or "" for call in api.calls).removeprefix(first)

    assert ("completed", level) == (begun["status"], begun["isolation"])
    assert "Ann:Make a file" in first
    assert "LOOKED" in first
    done = [line for line in first.splitlines() if line.startswith("did ")]
    assert len(done) == (2 if level == "guarded" else 0), done
    assert all(line.startswith(tuple(OF_GUARDED)) for line in done), done
    assert not [secret for secret in SECRETS if secret in first]
    assert "AGAIN" in again
    assert "secret" not in again
    assert (before, "") == (git(repository, "rev-parse", "main"), git(repository, "status", "--porcelain"))
    assert not (repository / ".git/hooks/post-commit").exists()
    assert level == talk.status()["isolation"]
    assert 0 == run("session", "close", talk.session_id).exit_code
    assert 0 == run("merge", talk.session_id).exit_code
    assert "work\ntwo\n" == (repository / "made.txt").read_text()
    removed = run("worktree", "remove", talk.session_id, "--force")
    assert 0 == removed.exit_code, removed
    assert not Path(begun["worktree_path"]).exists()

"""Sessions that work on a branch and in a worktree of their own."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.worktrees.worktree_refusals import WorktreeBlocked
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.worktrees.work import NewWork


def git(folder, *words):
    given = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    done = subprocess.run(["git", "-C", folder, *words], env={**os.environ, **given}, capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture
def repository(live):
    """Return a repository with one commit."""
    folder = live.root / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "README.md").write_text("hello\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def begin(live, repository, runtime="demo-codex1", **more):
    given = {"repository": repository, "runtime": runtime, "profile": "full_access"} | more
    return live.engine.work.begin(NewWork(**given))


def until(is_true, within_s=60.0):
    deadline = time.monotonic() + within_s
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_session_begun_by_command_works_on_its_own_branch_for_two_turns(live, repository, commands):
    words = ["session", "new", "--runtime", "demo-claude1", "--repo", str(repository), "--prompt", "[[edit:notes.md]]"]
    words += ["--profile", "full_access", "--wait", "--json"]
    done = commands.run(words, b"", dict(os.environ), Path.cwd(), 60)
    told = json.loads(done.stdout)

    assert (0, "completed") == (done.returncode, told["status"]), done.stderr
    worktree = Path(told["worktree_path"])
    assert (f"aw/{told['session_id']}", "persistent") == (told["branch"], told["lifecycle"])
    assert told["branch"] == git(worktree, "symbolic-ref", "--short", "HEAD")
    assert [] == [line for line in git(repository, "status", "--porcelain").splitlines() if line]
    assert "notes.md" in git(worktree, "status", "--porcelain")
    live.engine.work.send(told["session_id"], "and again [[edit:more.md]]")
    until(lambda: ["completed"] == [one.status for one in live.engine.work.messages(told["session_id"])][-1:])
    assert {"notes.md", "more.md"} <= {path.name for path in worktree.iterdir()}


def test_nothing_starts_where_the_worktree_is_not_what_it_was(live, repository):
    begun = begin(live, repository)
    session = begun.session.session_id
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    worktree = Path(begun.worktree.path)
    worktree.rename(worktree.parent / "moved")
    worktree.symlink_to(repository)

    with pytest.raises(RunnerError, match="leads elsewhere"):
        live.engine.work.send(session, "hello")
    assert live.host_of(session) is None
    worktree.unlink()
    (worktree.parent / "moved").rename(worktree)
    live.engine.work.send(session, "hello")
    until(lambda: ["completed"] == [one.status for one in live.engine.work.messages(session)][-1:])


def test_a_fork_of_a_session_is_guarded_by_the_worktree_that_it_shares(live, repository):
    begun = begin(live, repository, prompt="one")
    session = begun.session.session_id
    until(lambda: ["completed"] == [one.status for one in live.engine.work.messages(session)][-1:])
    git(begun.worktree.path, "switch", "-q", "-c", "elsewhere")

    with pytest.raises(WorktreeBlocked, match="git switch"):
        live.live.fork(session)


def test_a_session_that_cannot_begin_leaves_no_worktree(live, repository):
    with pytest.raises(RunnerError):
        begin(live, repository, runtime="nobody")
    assert ["main"] == git(repository, "branch", "--format=%(refname:short)").splitlines()
    assert 1 == len(git(repository, "worktree", "list").splitlines())
    assert () == live.engine.work.list()

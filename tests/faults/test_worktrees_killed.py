"""Worktrees whose maker, remover or restorer is killed: git finds all in order, and nothing that was in one is lost."""

import os
import random
import runpy
import signal
import time
from contextlib import closing
from pathlib import Path

import pytest

from oulipoly_engine.facade.engine import Engine

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
Repository = runpy.run_path(str(FIXTURES / "worktree_repository.py"))["Repository"]
Worker = runpy.run_path(str(FIXTURES / "worktree_worker.py"))["Worker"]
KILLED = {f"killed {-signal.SIGKILL}", f"killed {-signal.SIGALRM}"}
SESSION = "5e55-1"


@pytest.fixture
def repo(tmp_path):
    return Repository(Path(os.path.realpath(tmp_path)) / "repo")


@pytest.fixture
def worker(repo, commands):
    with closing(Worker(repo, commands)) as worker:
        yield worker


@pytest.fixture
def trees():
    with closing(Engine()) as engine:
        yield engine.worktrees


def work_in(repo, path, number):
    """Leave in a worktree what can be lost: a commit, staged, changed, deleted and untracked files, a conflict."""
    repo.write("mine", f"{number}\n", path)
    repo.write("a.txt", f"mine {number}\n", path)
    repo.commit(f"Mine {number}", path, adds=True)
    repo.git("branch", "-f", "theirs", "main")
    if number % 2:
        repo.write("a.txt", f"theirs {number}\n")
        repo.commit(f"Theirs {number}", adds=True)
        assert repo.run("merge", "main", folder=path).returncode
    else:
        repo.write("staged", f"staged {number}\n", path)
        repo.git("add", "staged", folder=path)
    repo.write("staged", "changed\r\n", path)
    repo.write(f"folder/new {number}", os.urandom(1000), path)
    (path / "run.sh").unlink()


def settled(trees, repo):
    """Return the state of the worktree once whoever comes next has settled it, which is the same every time."""
    deadline = time.monotonic() + 60
    while trees.reconcile():  # a git that the killed process had started may hold the locks for a moment
        assert time.monotonic() < deadline
    while any(one.worktree.state in ("creating", "removing") for one in trees.list(measures=False)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
        trees.reconcile()
    assert () == trees.reconcile()
    row = next((one.worktree for one in trees.list(has_removed=True, measures=False)), None)
    state = "none" if row is None else row.state
    path = repo.folder / ".agent-runner-worktrees" / SESSION
    assert ({str(path)} if state == "ready" else set()) == repo.worktrees()
    assert (state == "ready") == path.exists()
    assert (state == "ready") == (repo.folder / ".git" / "worktrees" / SESSION).exists()
    left = [one.name for one in (repo.folder / ".git").rglob("*.lock")]
    assert [] == left
    repo.assert_sound()
    if state == "ready":
        trees.guard(SESSION)
    return state


def moments(kills, worker, verbs):
    """Measure orders that follow on each other once, then yield (verb, moment) by turns and spread over the work."""
    measured = {verb: worker.must(verb) for verb in verbs}
    for number, share in enumerate(kills.shares(less=1)):
        for verb in verbs:
            steps, seconds = measured[verb]
            yield verb, f"step:{1 + int(share * steps)}" if number % 2 else f"after:{share * seconds:.4f}"


def test_creation_is_killed(worker, repo, trees, kills):
    for verb, moment in moments(kills, worker, ["create"]):
        if settled(trees, repo) == "ready":
            worker.must("remove")
            repo.git("for-each-ref", "--format=delete %(refname)", "refs/agent-runner")
            forget(trees, repo)
        said, _, _ = worker.order(moment, verb)
        state = settled(trees, repo)

        assert said == "done" or said in KILLED
        assert state in (("ready",) if said == "done" else ("ready", "failed", "none"))
        if state != "ready":
            assert "aw/" + SESSION not in repo.branches()
            worker.must("create")
            assert "ready" == settled(trees, repo)


def forget(trees, repo):
    """Have the next creation begin from nothing: a worktree that was removed can only be restored."""
    with trees._home.lend_store() as store, store.write():
        store.execute("DELETE FROM worktrees")
    repo.run("branch", "-D", f"aw/{SESSION}")


def test_removal_and_restoring_are_killed(worker, repo, trees, kills):
    path = repo.folder / ".agent-runner-worktrees" / SESSION
    worker.must("create")
    number = 0
    for verb, moment in moments(kills, worker, ["remove", "restore"]):
        if verb == "remove":
            repo.git("reset", "-q", "--hard", folder=path)
            repo.git("clean", "-qfd", folder=path)
            number += 1
            work_in(repo, path, number)
            before = repo.picture(path)
        elif settled(trees, repo) == "ready":
            worker.must("remove")
        said, _, _ = worker.order(moment, verb)
        state = settled(trees, repo)

        assert said == "done" or said in KILLED
        assert state in ("ready", "removed")
        if verb == "restore" and state == "removed":
            worker.must("restore")
        if verb == "restore" or state == "ready":
            assert before == repo.picture(path), (verb, moment)
            assert "" == repo.git("status", "--porcelain", "--", ".", ":!staged", ":!a.txt")


def test_two_settle_at_once_what_was_killed(worker, repo, trees, kills, commands):
    rng = random.Random(len(kills))
    steps, _ = worker.must("create")
    worker.must("remove")
    for _ in range(max(1, len(kills) // 4)):
        worker.order(f"step:{rng.randint(2, steps)}", "restore")
        both = [commands.start(["worktree", "list", "--json", "--all"]) for _ in range(2)]
        told = [one.communicate(timeout=60) for one in both]

        assert [0, 0] == [one.returncode for one in both], told
        if settled(trees, repo) == "ready":
            worker.must("remove")

"""A worktree is made whole, from any base, in any repository, or not at all and with a reason."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from oulipoly_engine.core.worktrees.worktree_refusals import (
    BaseMissing,
    BranchInUse,
    RepositoryUnusable,
    WorktreeBlocked,
    WorktreeNotFound,
)
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.service.worktrees.base.git import GitFailed


def test_a_worktree_has_its_own_branch_at_the_base_and_is_hidden_from_the_main_checkout(repo, trees):
    repo.git("switch", "-q", "-c", "other")
    base = repo.commit("More")
    repo.git("switch", "-q", "main")

    made = trees.create("s-1", repo.folder / "folder", "other")

    path = repo.folder / ".agent-runner-worktrees" / "s-1"
    assert ("ready", str(path), "aw/s-1", "other", base) == (
        made.state, made.path, made.branch, made.base, made.base_commit
    )  # fmt: skip
    assert ("aw/s-1", base) == (
        repo.git("branch", "--show-current", folder=path),
        repo.git("rev-parse", "HEAD", folder=path),
    )
    assert "" == repo.git("status", "--porcelain")
    assert made == trees.find("s-")
    trees.guard("s-1")
    repo.assert_sound()


@pytest.mark.parametrize("name", ["üñí 字\na newline", "-rf 'a\"$(touch x)", "end\n"])
def test_repositories_with_odd_names(make_repository, trees, name):
    repo = make_repository(name)

    made = trees.create("s1", repo.folder)
    picture = repo.picture(made.path)
    trees.remove("s1")
    trees.restore("s1")

    assert picture[0] == repo.picture(made.path)[0]
    assert {made.path} == repo.worktrees()
    trees.guard("s1")


def test_an_existing_branch_is_worked_on_and_never_deleted(repo, trees):
    repo.git("branch", "feature")

    made = trees.create("s1", repo.folder, "feature", reuses=True)
    with pytest.raises(BranchInUse, match=r"feature is checked out in .*s1"):
        trees.create("s2", repo.folder, "feature", reuses=True)
    with pytest.raises(BranchInUse, match="main is checked out"):
        trees.create("s2", repo.folder, reuses=True)
    removed = trees.remove("s1")

    assert ("feature", "main", False) == (made.branch, made.base, removed.deleted_branch)
    assert {"main", "feature"} == repo.branches()
    with pytest.raises(WorktreeNotFound):
        trees.find("s2")


def test_a_detached_head_a_tag_and_a_dirty_checkout_are_fine_and_not_touched(repo, trees):
    repo.git("tag", "v1")
    repo.git("checkout", "-q", "--detach")
    repo.write("a.txt", "changed\n")
    repo.write("new", "new\n")
    before = repo.picture(repo.folder)

    here, tagged = trees.create("s1", repo.folder), trees.create("s2", repo.folder, "v1")

    head = repo.git("rev-parse", "HEAD")
    assert (head, "v1", head) == (here.base, tagged.base, tagged.base_commit)
    assert "one\n" == Path(here.path, "a.txt").read_text()
    assert before == repo.picture(repo.folder)


def test_what_cannot_have_a_worktree_is_refused_and_nothing_is_left(repo, trees, tmp_path):
    bare, plain, empty = tmp_path / "bare.git", tmp_path / "plain", tmp_path / "empty"
    plain.mkdir()
    subprocess.run(["git", "clone", "-q", "--bare", repo.folder, bare], check=True)
    subprocess.run(["git", "init", "-q", "-b", "main", empty], check=True)
    cases = [
        (("s1", plain), RepositoryUnusable, "not in a git repository: run `git init`"),
        (("s1", tmp_path / "gone"), RepositoryUnusable, "there is no folder"),
        (("s1", bare), RepositoryUnusable, "is a bare repository"),
        (("s1", repo.folder / ".git"), RepositoryUnusable, "not in a git repository"),
        (("s1", empty), BaseMissing, "has no commit yet"),
        (("s1", repo.folder, "nowhere"), BaseMissing, "no branch, tag or commit 'nowhere' .*there are main"),
        (("s1", repo.folder, "--all"), BaseMissing, "'--all'"),
        (("../s1", repo.folder), UsageInvalid, "cannot be the id"),
        (("a/b", repo.folder), UsageInvalid, "cannot be the id"),
        (("x.lock", repo.folder), UsageInvalid, "cannot be the id"),
    ]

    for arguments, kind, message in cases:
        with pytest.raises(kind, match=message):
            trees.create(*arguments)
    assert () == trees.list(has_removed=True)
    assert ({"main"}, set()) == (repo.branches(), repo.worktrees())


def test_that_git_is_missing_is_said(repo, trees, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(RepositoryUnusable, match="git was not found: install it"):
        trees.create("s-1", repo.folder)


def test_a_branch_or_a_folder_that_is_there_is_left_alone(repo, trees):
    repo.git("branch", "aw/s1")
    repo.write(".agent-runner-worktrees/s2/mine", "mine")

    with pytest.raises(BranchInUse, match="there is a branch aw/s1 already"):
        trees.create("s1", repo.folder)
    with pytest.raises(RepositoryUnusable, match="is there already: move it away"):
        trees.create("s2", repo.folder)
    trees.create("s3", repo.folder)
    with pytest.raises(RequestRefused, match="has a worktree already, which is ready"):
        trees.create("s3", repo.folder)

    assert "mine" == (repo.folder / ".agent-runner-worktrees/s2/mine").read_text()
    assert {"main", "aw/s1", "aw/s3"} == repo.branches()


def test_a_link_where_the_folder_of_worktrees_should_be_is_refused(repo, trees, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (repo.folder / ".agent-runner-worktrees").symlink_to(elsewhere)

    with pytest.raises(RepositoryUnusable, match="is a link"):
        trees.create("s1", repo.folder)

    assert [] == list(elsewhere.iterdir())
    assert {"main"} == repo.branches()


def test_gits_own_list_is_not_written_through_a_link(repo, trees, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine\n")
    exclude = repo.folder / ".git" / "info" / "exclude"
    exclude.unlink()
    exclude.symlink_to(precious)

    trees.create("s1", repo.folder)

    assert "mine\n" == precious.read_text()
    assert "" == repo.git("status", "--porcelain")


def test_a_lock_file_of_git_is_named_and_a_failure_leaves_nothing(repo, trees):
    lock = repo.folder / ".git" / "packed-refs.lock"
    repo.git("pack-refs", "--all")
    (repo.folder / ".git" / "refs" / "heads" / "aw").mkdir()
    ref_lock = repo.folder / ".git" / "refs" / "heads" / "aw" / "s1.lock"
    ref_lock.touch()

    with pytest.raises(GitFailed, match=r"s1\.lock is there: another git is at work"):
        trees.create("s1", repo.folder)
    (failed,) = trees.list(has_removed=True)
    assert trees.remove("s1").was_gone
    again = trees.create("s1", repo.folder)

    assert ("failed", "ready", False) == (failed.worktree.state, again.state, lock.exists())
    assert "is there" in failed.worktree.reason


def test_a_full_disk_is_said_and_leaves_nothing(repo, trees, tmp_path, monkeypatch):
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    real = subprocess.run(["sh", "-c", "command -v git"], capture_output=True, check=True, text=True).stdout.strip()
    git.write_text(
        '#!/bin/sh\ncase " $* " in *" worktree add "*)\n'
        f'{real} "$@" >/dev/null 2>&1; echo "fatal: cannot write: No space left on device" >&2; exit 128;; esac\n'
        f'exec {real} "$@"\n'
    )
    git.chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{git.parent}:{path}")

    with pytest.raises(GitFailed, match="the disk is full: make room"):
        trees.create("s1", repo.folder)

    assert ({"main"}, set()) == (repo.branches(), repo.worktrees())
    assert not (repo.folder / ".agent-runner-worktrees" / "s1").exists()
    monkeypatch.setenv("PATH", path)


def test_many_are_made_at_once(repo, trees):
    made, failed = [], []

    def make(number):
        try:
            made.append(trees.create(f"s{number}", repo.folder))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == failed
    assert {one.path for one in made} == repo.worktrees()
    assert 5 == len({one.port_first for one in made})
    repo.assert_sound()


def drop(path):
    for file in sorted(path.rglob("*"), reverse=True):
        file.unlink() if file.is_symlink() or not file.is_dir() else file.rmdir()
    path.rmdir()


SPOILS = {
    "deleted": (lambda path, repo: drop(path), "was deleted"),
    "link": (lambda path, repo: (path.rename(repo.folder.parent / "moved"), path.symlink_to("../../moved")), "leads"),
    "no .git": (lambda path, repo: (path / ".git").unlink(), r"\.git does not lead"),
    "main's .git": (lambda path, repo: (path / ".git").write_text(f"gitdir: {repo.folder}/.git\n"), "does not lead"),
    "own .git": (
        lambda path, repo: ((path / ".git").unlink(), subprocess.run(["git", "init", "-q", path], check=True)),
        "does not lead",
    ),
    "link .git": (
        lambda path, repo: ((path / ".git").rename(path / "x"), (path / ".git").symlink_to("x")),
        "does not lead",
    ),
    "branch": (lambda path, repo: repo.git("switch", "-q", "-c", "mine", folder=path), "on the branch mine, not on aw"),
    "detached": (lambda path, repo: repo.git("checkout", "-q", "--detach", folder=path), "on no branch"),
    "forgotten": (lambda path, repo: drop(repo.folder / ".git" / "worktrees" / "s1"), "does not know"),
    "commondir": (
        lambda path, repo: (repo.folder / ".git/worktrees/s1/commondir").write_text("/tmp\n"),
        "does not belong",
    ),
    "repository": (lambda path, repo: repo.folder.rename(repo.folder.parent / "renamed"), "is gone"),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_worktree_that_is_not_what_it_was_blocks_its_session(repo, trees, spoil):
    path = Path(trees.create("s1", repo.folder).path)
    change, message = SPOILS[spoil]

    change(path, repo)

    with pytest.raises(WorktreeBlocked, match=message):
        trees.guard("s1")


def test_a_rebase_that_waits_keeps_its_branch_and_a_session_without_a_worktree_may_start(repo, trees):
    path = Path(trees.create("s1", repo.folder).path)
    repo.write("a.txt", "theirs\n", path)
    repo.commit("Theirs", path, adds=True)
    repo.write("a.txt", "ours\n")
    repo.commit("Ours", adds=True)
    assert repo.run("rebase", "main", folder=path).returncode

    trees.guard("s1")
    trees.guard("another")
    trees.remove("s1", force=True)

    with pytest.raises(WorktreeBlocked, match=r"was removed: `agents worktree restore s1`"):
        trees.guard("s1")


def only_a_lock_of_git(repo, path):
    repo.write(".git/worktrees/s1/locked", "initializing\n")


def half_a_checkout(repo, path):
    repo.git("worktree", "add", "-q", "--lock", "-b", "aw/s1", path, "main")
    (repo.folder / ".git/worktrees/s1/index").unlink()
    repo.write(".git/worktrees/s1/index.lock", "half")
    (path / "a.txt").unlink()


def files_without_git(repo, path):
    repo.git("branch", "aw/s1")
    repo.write("a.txt", "half\n", path)


def a_reference_that_is_locked(repo, path):
    repo.git("branch", "aw/s1")
    repo.write(".git/refs/heads/aw/s1.lock", "")


def test_a_worktree_that_is_ready_outlasts_an_operation_that_nobody_has_ended(repo, engine, trees):
    path = trees.create("s1", repo.folder).path
    with engine._home.lend_store() as store, store.write():
        store.execute("UPDATE worktree_operations SET state = 'begun'")

    assert ((), ()) == (engine.recovery.settle_at_start(), engine.recovery.settle_at_start())
    assert {path} == repo.worktrees()
    with engine._home.lend_store() as store:
        assert [("failed",)] == store.rows("SELECT state FROM worktree_operations")


@pytest.mark.parametrize("left", [only_a_lock_of_git, half_a_checkout, files_without_git, a_reference_that_is_locked])
def test_what_a_killed_git_has_left_of_a_creation_goes_away(repo, engine, trees, left):
    path = repo.folder / ".agent-runner-worktrees" / "s1"
    other = trees.create("other", repo.folder)
    trees.create("s1", repo.folder)
    trees.remove("s1")
    with engine._home.lend_store() as store, store.write():
        store.execute("UPDATE worktrees SET state = 'creating', salvage = '' WHERE session_id = 's1'")
        store.execute("UPDATE worktree_operations SET state = 'begun' WHERE session_id = 's1' AND kind = 'create'")
    left(repo, path)

    told = engine.recovery.settle_at_start()

    assert ("a create of the worktree of session s1 that was cut off was undone",) == told
    assert "failed" == trees.find("s1").state
    assert ({other.path}, {"main", "aw/other"}) == (repo.worktrees(), repo.branches())
    assert [] == [
        one.name for one in (repo.folder / ".git").rglob("*") if "s1" in one.name and "salvage" not in str(one)
    ]
    assert "ready" == trees.create("s1", repo.folder).state
    repo.assert_sound()

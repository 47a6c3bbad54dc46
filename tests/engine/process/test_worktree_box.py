"""In a sealed box a work tree is written, but for what runs later outside of it."""

import os
import subprocess
from pathlib import Path

import pytest

from oulipoly_engine.core.boxes.box import Access, Box, Level
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.process.boxes.worktree import drop_links, list_present, mount_worktree
from oulipoly_engine.process.script import run_script
from oulipoly_engine.service.worktrees.base.box_mounts import list_programs, mount_trees

SEALED = find_level(Level.SEALED)
ATTACKS = """
echo x >>$GIT/config; echo x >$GIT/hooks/post-checkout; echo x >>.github/workflows/ci.yml; echo x >>.envrc
for path in .git .github $GIT $GIT/hooks $GIT/info; do mv $path $path.old && mkdir $path; done
rm -rf .github; ln -sf /tmp/evil .envrc; rm -f .git
echo x >$GIT/worktrees/other/HEAD
echo work >file && echo ref >$BRANCHES/new && echo here >$OWN/HEAD && echo done
"""


@pytest.fixture
def trees(tmp_path):
    """A repository of its own, and a work tree that is linked to it."""
    git = tmp_path / "main/.git"
    linked, own = tmp_path / "linked", git / "worktrees/linked"
    folders = ("hooks", "info", "objects", "refs/heads/aw", "logs/refs/heads/aw", "worktrees/other")
    for folder in (*(git / name for name in folders), own, linked):
        folder.mkdir(parents=True)
    files = {
        git / "config": "[core]",
        git / "worktrees/other/HEAD": "theirs",
        own / "commondir": "../..\n",
        own / "gitdir": f"{linked}/.git\n",
        linked / ".git": f"gitdir: {own}\n",
    }
    for tree in (tmp_path / "main", linked):
        (tree / ".github/workflows").mkdir(parents=True)
        files |= {tree / ".envrc": "mine", tree / ".github/workflows/ci.yml": "mine"}
    for path, text in files.items():
        path.write_text(text)
    return {"main": (tmp_path / "main", git, git), "linked": (linked, git, own)}


def contents(tree, git):
    paths = (tree / ".envrc", tree / ".github/workflows/ci.yml", git / "config", git / "worktrees/other/HEAD")
    return [path.read_text() for path in paths]


def run_in_box(level, tree, script, **env):
    env = {"PATH": os.defpath} | {name: str(path) for name, path in env.items()}
    return run_script(script, env, cwd=tree, timeout_s=20, box=Box(level, mount_worktree(tree, "aw/mine")))


@pytest.mark.skipif(not SEALED.is_available, reason=SEALED.obstacle)
@pytest.mark.parametrize("which", ["main", "linked"])
def test_what_runs_later_stays_as_it_is_whatever_is_renamed_around_it(trees, which):
    tree, git, own = trees[which]
    before = contents(tree, git)
    branches = git / "refs/heads/aw"

    ended = run_in_box(Level.SEALED, tree, ATTACKS, GIT=git, OWN=own, BRANCHES=branches)

    assert b"done\n" == ended.stdout, ended.stderr
    assert before == contents(tree, git)
    assert [] == list((git / "hooks").iterdir())
    assert ("work\n", "ref\n", "here\n") == tuple(
        path.read_text() for path in (tree / "file", branches / "new", own / "HEAD")
    )


@pytest.mark.parametrize("level", [Level.GUARDED, Level.SEALED])
def test_of_the_folder_of_git_what_a_commit_needs_is_written_and_nothing_else(trees, level):
    if obstacle := find_level(level).obstacle:
        pytest.skip(obstacle)
    tree, git, _ = trees["linked"]
    script = (
        "for path in hooks/new config HEAD index packed-refs refs/heads/main refs/tags/new worktrees/other/HEAD; do "
        "echo x 2>/dev/null >>$GIT/$path && echo $path; done; "
        "for path in objects/new refs/heads/aw/mine logs/refs/heads/aw/mine; do echo x >$GIT/$path || echo $path; done"
    )

    ended = run_in_box(level, tree, script, GIT=git)

    assert b"" == ended.stdout + ended.stderr


@pytest.mark.parametrize("level", [Level.GUARDED, Level.SEALED])
def test_link_that_was_left_where_a_mount_would_be_leads_nowhere(trees, tmp_path, level):
    """What a box wrote is there when the next one is made, which must not follow it out of the work tree."""
    if obstacle := find_level(level).obstacle:
        pytest.skip(obstacle)
    tree = trees["linked"][0]
    (tree / ".claude").symlink_to("..")  # would show all that lies beside the tree, to be written
    (tree / ".vscode").symlink_to(tmp_path / "main")
    (tmp_path / "secret").write_text("secret")

    ended = run_in_box(level, tree, "cat .claude/secret .vscode/.envrc; echo x >.claude/new; true")

    assert b"" == ended.stdout
    assert not (tmp_path / "new").exists()


def test_what_is_new_of_what_runs_later_is_seen(trees):
    tree = trees["main"][0]
    before = list_present(tree)
    (tree / ".git/commondir").write_text("/tmp/evil")

    assert {str(tree / ".git/commondir")} == list_present(tree) - before


@pytest.mark.parametrize("line", ["gitdir: /etc", "gitdir: ../main/.git/worktrees/other", "rubbish", "\0", "x" * 5000])
def test_folder_of_git_that_does_not_point_back_is_not_opened(trees, line):
    linked = trees["linked"][0]
    (linked / ".git").write_text(line)

    writable = [mount.path for mount in mount_worktree(linked) if mount.access is Access.WRITE]

    assert all(Path(path).is_relative_to(linked) for path in writable)


@pytest.fixture
def given(tmp_path):
    """A folder that is given whole: a repository with hooks of its own place, and another one in it."""
    given = tmp_path / "given"
    tree = given / "a/tree"
    for folder in (given / "inner", tree):
        folder.mkdir(parents=True)
        subprocess.run(("git", "init", "-q", str(folder)), check=True)
    for key, value in (("core.hooksPath", "tools/hooks"), ("core.fsmonitor", "watch.sh"), ("include.path", "../own")):
        subprocess.run(("git", "-C", str(tree), "config", key, value), check=True)
    (tree / "tools/hooks").mkdir(parents=True)
    (tree / "own").write_text("[core]\n")
    (tree / "watch.sh").write_text("mine")
    return given


def test_programs_that_git_is_configured_to_run_are_found(given):
    tree = given / "a/tree"

    assert list_programs(tree) == tuple(str(tree / name) for name in ("own", "tools/hooks", "watch.sh"))


def test_links_that_were_left_are_not_followed(given, tmp_path):
    (given / "inner/.github").symlink_to(tmp_path)
    (given / "inner/.envrc").symlink_to(tmp_path / "linked")
    paths = [mount.path for mount in drop_links(Box(Level.SEALED, mount_trees(given))).mounts]

    assert [path for path in paths if ".github" in path and "inner" in path] == []
    assert str(given / "inner/.envrc") not in paths
    assert str(given / "a/tree/.git/hooks") in paths


@pytest.mark.skipif(not SEALED.is_available, reason=SEALED.obstacle)
def test_what_git_is_configured_to_run_stays_as_it_is_in_a_folder_of_several(given):
    line = """
    cd a/tree; echo x >tools/hooks/post-checkout; mv tools old; echo x >>own; echo x >watch.sh; echo x >>.git/config
    cd ../../inner; echo x >>.git/config; echo x >.git/hooks/post-commit; echo work >file && echo done
    """
    before = [(given / name).read_text() for name in ("a/tree/own", "a/tree/watch.sh", "inner/.git/config")]
    box = Box(Level.SEALED, mount_trees(given))
    ended = run_script(line, {"PATH": os.defpath}, cwd=given, timeout_s=20, box=box)

    assert ended.stdout == b"done\n", ended.stderr
    assert [(given / name).read_text() for name in ("a/tree/own", "a/tree/watch.sh", "inner/.git/config")] == before
    assert not list((given / "a/tree/tools/hooks").iterdir())
    assert not (given / "inner/.git/hooks/post-commit").exists()

"""Submodules of a worktree: taken from the main checkout without the network, and looked at before a removal."""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.records import Record
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.looking import for_looking, offline

_GITLINK = "160000"
_CLONE_S = 300.0
_LARGE = 1 << 28  # bytes: a million files


class Submodule(Record):
    """A submodule as the index of a worktree has it."""

    name: str  # of its folder below `modules`; empty: .gitmodules does not name it
    path: str
    commit: str


def submodules(git: Git) -> tuple[Submodule, ...]:
    """Return the submodules in a worktree's index."""
    listed = [
        line.partition("\t") for line in os.fsdecode(git.check("ls-files", "-s", "-z", output_limit=_LARGE)).split("\0")
    ]
    links = {path: words.split()[1] for words, _, path in listed if words.startswith(_GITLINK)}
    if not links:
        return ()
    told = git.run("config", "-z", "--file", str(git.folder / ".gitmodules"), "--get-regexp", r"^submodule\..*\.path$")
    names = {}
    for line in os.fsdecode(told.stdout).split("\0"):
        key, _, path = line.partition("\n")
        names[path] = key.removeprefix("submodule.").removesuffix(".path")
    return tuple(Submodule(names.get(path, ""), path, commit) for path, commit in links.items())


def init_submodules(git: Git, modules: Path) -> tuple[str, ...]:
    """Check out the submodules that the main checkout has, from there. modules: its folder of them.

    Returns the paths of those that stay empty, because they would have to be downloaded, or their commit is not there.
    """
    empty = []
    for one in submodules(git):
        source = modules / one.name
        if not one.name or not (source / "HEAD").is_file() or not _clone(git, one, source):
            empty.append(one.path)
            continue
        inner = Git(git.folder / one.path, git.env)
        empty += [f"{one.path}/{path}" for path in init_submodules(inner, source / "modules")]
    return tuple(empty)


def _clone(git: Git, one: Submodule, source: Path) -> bool:
    # Its address is the main checkout's own copy for this one call; `sync` puts the address of .gitmodules back.
    here = ("-c", "protocol.file.allow=always", "-c", f"submodule.{one.name}.url={source}")
    words = ("submodule", "--quiet", "update", "--init", "--checkout", "--no-recommend-shallow", "--", one.path)
    before = git.run("config", "--get", f"submodule.{one.name}.url")
    done = git.run(*here, *words, timeout_s=_CLONE_S)
    if not before.succeeded:
        git.run("submodule", "--quiet", "init", "--", one.path)
    if not done.succeeded:
        return False
    git.run("submodule", "--quiet", "sync", "--", one.path)
    return True


def find_unsaved_submodule(git: Git, modules: Path) -> str:
    """Return what a removal would lose of the submodules, in a sentence; empty: nothing."""
    for one in submodules(git):
        folder = git.folder / one.path
        if not os.path.lexists(folder / ".git"):
            continue
        inner, source = for_looking(offline(Git(folder))), offline(Git(modules / one.name))
        # Its own submodules are looked at below: git would do so with the programs that their configuration names.
        if inner.check("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty"):
            return f"the submodule {one.path} has changes that are not committed"
        tips = set(inner.text("for-each-ref", "--format=%(objectname)", "refs/heads", "refs/stash").split())
        head = inner.run("rev-parse", "--verify", "--quiet", "HEAD")
        tips |= {os.fsdecode(head.stdout).strip()} if head.succeeded else set()
        for tip in sorted(tips):
            known = bool(one.name) and (modules / one.name / "HEAD").is_file()
            known = known and source.run("cat-file", "-e", tip).succeeded
            if not known and not inner.text("branch", "--remotes", "--contains", tip):
                return f"the submodule {one.path} has commits that are nowhere else"
        nested = find_unsaved_submodule(inner, modules / one.name / "modules")
        if nested:
            return nested
    return ""

"""Where a session's changes are: its folder, its branch, and the repository they belong to."""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.core.worktrees.refusals import BranchRefused, GitUnavailable
from oulipoly_engine.records import Record
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.looking import for_looking
from oulipoly_engine.service.worktrees.base.orders import git_in, look
from oulipoly_engine.service.worktrees.base.repository import find_admin_folder
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.worktrees import worktrees


class Place(Record):
    """A session's folder as the records have it."""

    session_id: str
    folder: Path
    repository: Path | None = None  # the main worktree; None: the session works in a folder of its user's
    branch: str = ""  # of the worktree; empty: whichever is checked out
    base: str = ""
    base_commit: str = ""


class Checkout(Record):
    """A folder that git has been found to work in."""

    place: Place
    root: Path  # of the files
    common: Path  # the folder that all worktrees of the repository share
    git: Git  # for orders
    quiet: Git  # for looks


def find_place(store: Store, session_id: str, workspace: str) -> Place:
    """Return where a session's changes are: in its worktree, or in a folder of its user's."""
    worktree = worktrees.find(store, session_id)
    if worktree is None:
        return Place(session_id, Path(workspace))
    of_worktree = Path(worktree.path), Path(worktree.repository), worktree.branch, worktree.base, worktree.base_commit
    return Place(session_id, *of_worktree)


def is_in_repository(folder: Path) -> bool:
    """Tell whether a folder looks as if it were in a git repository; git is not asked."""
    return any((each / ".git").exists() for each in (folder, *folder.parents))


def open_checkout(place: Place) -> Checkout:
    """Find the repository of a session's folder.

    A worktree whose `.git` is gone lies inside its own repository's main checkout, and git would go on there: that
    never counts. Raises GitUnavailable, which says what is wrong.
    """
    folder = place.folder
    if not folder.is_dir():
        restore = f": `agents worktree restore {place.session_id}` brings a removed worktree back"
        raise GitUnavailable(f"the folder {folder} is gone{restore if place.repository else ''}")
    is_worktree = place.repository is not None
    git = git_in(folder, above=folder.parent if is_worktree else None)
    result = look(git, "rev-parse", "--is-bare-repository", "--git-common-dir", "--show-toplevel")
    lines = os.fsdecode(result.stdout).split("\n")
    if lines[0] == "true":
        raise GitUnavailable(f"{folder} is a bare repository, which has no files: open the session on a clone")
    if not result.succeeded or len(lines) != 4:
        raise GitUnavailable(f"{folder} is not a git repository: `git init` makes one, or open the session on another")
    common = Path(os.path.realpath(folder / lines[1]))
    root = Path(lines[2])
    if place.repository is not None:
        expected = _common_of(place.repository)
        admin = find_admin_folder(expected, root)
        if root != Path(os.path.realpath(folder)) or common != expected or admin is None:
            raise GitUnavailable(
                f"{folder} is not a worktree of {place.repository} any more: look at its `.git`, or have it made again"
            )
        # Whoever writes another `.git` from now on leads nobody elsewhere.
        git = Git(root, env={**git.env, "GIT_DIR": str(admin)})
    elif root != folder:
        git = git_in(root, above=root.parent)
    return Checkout(place, root, common, git, for_looking(git))


def _common_of(repository: Path) -> Path:
    usual = repository / ".git"
    if usual.is_dir() and (usual / "objects").is_dir():  # nine of ten repositories: git need not be asked
        return Path(os.path.realpath(usual))
    result = look(git_in(repository), "rev-parse", "--git-common-dir")
    if not result.succeeded:
        raise GitUnavailable(f"the repository {repository} is gone: move it back to where it was")
    return Path(os.path.realpath(repository / os.fsdecode(result.stdout).rstrip("\n")))


def commit_of(git: Git, name: str) -> str | None:
    """Return the commit that a full reference or an id names; None: there is none. git: of `for_looking`."""
    result = look(git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return os.fsdecode(result.stdout).strip() or None if result.succeeded else None


def current_branch(git: Git) -> str | None:
    """Return the branch that is checked out; None: HEAD is detached."""
    result = look(git, "symbolic-ref", "--quiet", "HEAD")
    return os.fsdecode(result.stdout).strip().removeprefix("refs/heads/") if result.succeeded else None


def branch_of(checkout: Checkout) -> str:
    """Return the branch that the session works on. Raises BranchRefused where another one, or none, is checked out."""
    found, wanted = current_branch(checkout.quiet), checkout.place.branch
    if found is None:
        raise BranchRefused(
            f"no branch is checked out in {checkout.root}: `git switch {wanted or 'BRANCH'}` there, or "
            "`git switch -c NAME` to keep commits that were made without one"
        )
    if wanted and found != wanted:
        raise BranchRefused(f"{found!r} is checked out in {checkout.root}, not {wanted!r}: `git switch {wanted}` there")
    return found


def has_branch(quiet: Git, name: str) -> bool:
    """Tell whether a repository has a branch of just this name."""
    return look(quiet, "show-ref", "--verify", "--quiet", "--", f"refs/heads/{name}").succeeded


def base_branch(checkout: Checkout) -> str:
    """Return the branch that a session's branch began at, as far as it is one; empty: none, or it is gone."""
    place = checkout.place
    if place.repository is None:
        return ""
    name = place.base.removeprefix("refs/heads/")
    if name in ("", "HEAD"):
        found = current_branch(git_in(place.repository))
        return "" if found is None or found == place.branch else found
    return name if has_branch(checkout.quiet, name) else ""


def base_reference(checkout: Checkout) -> tuple[str, str]:
    """Return what a session's branch is compared with: its name for people, and the reference or the commit.

    Both are empty where nothing is known. What has no name any more is stood in for by the commit that it was then.
    """
    branch = base_branch(checkout)
    if branch:
        return branch, f"refs/heads/{branch}"
    place = checkout.place
    if commit_of(checkout.quiet, f"refs/remotes/{place.base}") is not None:
        return place.base, f"refs/remotes/{place.base}"
    return "", place.base_commit

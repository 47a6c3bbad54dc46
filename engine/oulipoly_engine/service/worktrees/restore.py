"""Take a removal back: the branch, the worktree, its index, its files and what git was in the middle of."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from oulipoly_engine.core.worktrees.setup_file import setup_from
from oulipoly_engine.core.worktrees.worktree_refusals import (
    BranchInUse,
    RepositoryUnusable,
    SetupFailed,
    SetupNotAllowed,
    WorktreeNotFound,
)
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import replace
from oulipoly_engine.service.operations.operations import begin, settled_if_it_fails
from oulipoly_engine.service.worktrees.base.guard import check_place
from oulipoly_engine.service.worktrees.base.repository import (
    LONG_S,
    Repository,
    Resources,
    commit_of,
    hold_session,
    open_repository,
)
from oulipoly_engine.service.worktrees.base.repository_lock import lock_repository
from oulipoly_engine.service.worktrees.create import end_operation, furnish, prepare_folder, take_back
from oulipoly_engine.service.worktrees.setup.ports import choose_ports
from oulipoly_engine.service.worktrees.snapshot.bring_back import bring_back, set_submodules
from oulipoly_engine.service.worktrees.snapshot.salvage import Salvage, read_salvage
from oulipoly_engine.store.worktrees import worktrees


def restore(resources: Resources, session_id: str) -> Worktree:
    """Bring back a worktree that was removed, and return it. Raises RequestRefused; what was kept stays kept."""
    with hold_session(resources, session_id):
        worktree = worktrees.find(resources.store, session_id)
        if worktree is None:
            raise WorktreeNotFound(
                f"session {session_id} has no worktree: `agents worktree list` lists those there are"
            )
        if worktree.state != "removed":
            raise RequestRefused(
                f"the worktree of session {session_id} is {worktree.state}: there is nothing to restore"
            )
        if not worktree.salvage:
            raise RequestRefused(f"nothing was kept of the worktree of session {session_id}: its repository was gone")
        repository = open_repository(Path(worktree.repository))
        if str(repository.git_folder) != worktree.git_folder:
            raise RepositoryUnusable(f"{worktree.repository} is another repository now: move the one of then there")
        with lock_repository(resources.locks, repository.git_folder):
            salvage = read_salvage(repository.git, worktree.salvage)
            _refuse_what_is_there(repository, worktree, salvage)
            worktree = _note(resources, worktree)
        with settled_if_it_fails(partial(take_back, resources, worktree, "undo")):
            with lock_repository(resources.locks, repository.git_folder):
                _add(repository, worktree, salvage)
            check_place(worktree)  # it may be on another branch, as it was when it was removed
            problem = _furnish(resources, repository, worktree)
            set_submodules(Path(worktree.path), salvage)
            return end_operation(resources, worktree, "made", problem)


def _furnish(resources: Resources, repository: Repository, worktree: Worktree) -> str:
    """Set a worktree up again. Returns what went wrong: files that came back are worth more than a whole set-up."""
    try:
        furnish(resources, repository, worktree, setup_from(worktree.settings))
    except SetupFailed as error:
        return f"its set-up failed: {error.message}"
    except SetupNotAllowed as error:
        return f"its set-up was not run: {error.message}"
    return ""


def _refuse_what_is_there(repository: Repository, worktree: Worktree, salvage: Salvage) -> None:
    if os.path.lexists(worktree.path):
        raise RepositoryUnusable(f"{worktree.path} is there: move it away")
    elsewhere = next((one for one in repository.checkouts() if one.branch == worktree.branch), None)
    if elsewhere is not None:
        raise BranchInUse(
            f"the branch {worktree.branch} is checked out in {elsewhere.path}: switch that one to another"
        )
    tip = commit_of(repository.git, f"refs/heads/{worktree.branch}")
    if tip is not None and salvage.tip and tip != salvage.tip:
        raise BranchInUse(
            f"the branch {worktree.branch} has moved since: `git branch -f {worktree.branch} {salvage.tip}` moves it "
            f"back, or `git stash apply {worktree.salvage}` gives what was kept to where you are"
        )


def _note(resources: Resources, worktree: Worktree) -> Worktree:
    """Note that a worktree comes back, with ports that are free now."""
    store = resources.store
    with store.write():
        first = choose_ports(store, worktree.port_count)
        worktrees.move(store, worktree.session_id, "restore", resources.clock.now(), port_first=first)
        begin(store, resources.clock, "restore", worktree.session_id)
    return replace(worktree, state="creating", port_first=first)


def _add(repository: Repository, worktree: Worktree, salvage: Salvage) -> None:
    git = repository.git
    branch = f"refs/heads/{worktree.branch}"
    tip = salvage.tip or salvage.head
    if tip and commit_of(git, branch) is None:
        git.check("update-ref", branch, tip, "0" * len(tip))
    prepare_folder(repository)
    words = ("worktree", "add", "--quiet", "--no-checkout", "--detach", "--", worktree.path)
    git.check(*words, salvage.head or worktree.base_commit, timeout_s=LONG_S)
    bring_back(Path(worktree.path), repository.git_folder, salvage)

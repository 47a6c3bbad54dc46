"""Make the worktree of a session: the row first, then git, then what its repository wants, and all of it or nothing.

Whoever makes, removes or restores a worktree holds the session's lock all the time, and the repository's lock for each
step of git. Both end with their holder, so that a row that says `creating` and whose lock is free was cut off.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from oulipoly_engine.core.worktrees.setup_file import Setup, setup_to_keep
from oulipoly_engine.core.worktrees.worktree_refusals import BaseMissing, BranchInUse, RepositoryUnusable
from oulipoly_engine.core.worktrees.worktrees import BRANCH_PREFIX, FOLDER, WORKTREE, Worktree
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.private_files import make_folder, open_private, write_private
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.operations.operations import begin, settled_if_it_fails
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.guard import check_worktree
from oulipoly_engine.service.worktrees.base.repository import (
    LONG_S,
    Repository,
    Resources,
    check_session_id,
    commit_of,
    hold_session,
    open_repository,
)
from oulipoly_engine.service.worktrees.base.repository_lock import lock_repository
from oulipoly_engine.service.worktrees.branches import list_branches
from oulipoly_engine.service.worktrees.discard import discard
from oulipoly_engine.service.worktrees.setup.commands import run_commands
from oulipoly_engine.service.worktrees.setup.files import bring_files
from oulipoly_engine.service.worktrees.setup.ports import choose_ports
from oulipoly_engine.service.worktrees.setup.settings import find_setup, require_permission, require_permission_still
from oulipoly_engine.service.worktrees.setup.submodules import init_submodules
from oulipoly_engine.store.operations import operations
from oulipoly_engine.store.worktrees import worktrees

KINDS = ("create", "remove", "restore")  # of operations, of which a session has one at a time
_ENDS = {"made": "finish", "gone": "finish", "fail": "undo", "undo": "undo", "keep": "fail"}  # by the row's event
_TOLD_BRANCHES = 8


class NewWorktree(Record):
    """A worktree to make."""

    session_id: str
    repository: Path  # any folder of it
    base: str = ""  # a branch, tag or commit; empty: what that folder stands at
    reuses: bool = False  # work on the branch `base` itself, not on a new one
    runs_setup: bool = True  # the commands of the repository's settings
    isolation: str = ""  # of the box in which its CLIs are to stand; empty: in none


def create(resources: Resources, wish: NewWorktree) -> Worktree:
    """Make a worktree and return it. Raises RequestRefused; nothing is left of one that could not be made."""
    check_session_id(wish.session_id)
    repository = open_repository(wish.repository)
    worktree, setup = _plan(resources, repository, wish)
    with hold_session(resources, wish.session_id):
        with lock_repository(resources.locks, repository.git_folder):
            _refuse_what_is_there(resources, repository, worktree)
            worktree = _note(resources, worktree, setup)
        with settled_if_it_fails(partial(take_back, resources, worktree, "fail")):
            with lock_repository(resources.locks, repository.git_folder):
                _add(repository, worktree)
            furnish(resources, repository, worktree, setup)
            check_worktree(worktree)
            return end_operation(resources, worktree, "made")


def _plan(resources: Resources, repository: Repository, wish: NewWorktree) -> tuple[Worktree, Setup]:
    """Return what is to be made, and how it is set up, before anything is."""
    git = Git(repository.asked)
    stands_at = _name_of_head(git)
    if wish.reuses:
        branch = wish.base or stands_at
        commit = commit_of(git, f"refs/heads/{branch}")
        if commit is None:
            raise BaseMissing(f"there is no branch {branch!r} in {repository.folder}: {_branches(git)}")
        base = stands_at
    else:
        branch, base = f"{BRANCH_PREFIX}{wish.session_id}", wish.base or stands_at
        commit = commit_of(git, base)
        if commit is None:
            raise BaseMissing(_explain_missing(git, base, repository.folder))
    base_commit = commit if base == (wish.base or stands_at) else commit_of(git, base) or commit
    setup = find_setup(repository, commit)
    if wish.runs_setup:
        require_permission(resources.store, repository, setup, resources.clock.now())
    else:
        setup = replace(setup, setup=(), teardown=())
    kept = setup_to_keep(setup)
    if wish.isolation:  # at a removal they would run outside of the box what was written in it
        kept = setup_to_keep(replace(setup, setup=(), teardown=())) | {"isolation": wish.isolation}
    now = resources.clock.now()
    worktree = Worktree(
        session_id=wish.session_id,
        repository=str(repository.folder),
        path=str(repository.worktrees / wish.session_id),
        branch=branch,
        base=base,
        base_commit=base_commit,
        state="creating",
        created_at=now,
        updated_at=now,
        is_new_branch=not wish.reuses,
        settings=kept,
        git_folder=str(repository.git_folder),
    )
    return worktree, setup


def _name_of_head(git: Git) -> str:
    """Return the branch that a folder stands at, or its commit where HEAD is detached."""
    named = git.run("symbolic-ref", "--quiet", "--short", "HEAD")
    if named.succeeded:
        return os.fsdecode(named.stdout).strip()
    return commit_of(git, "HEAD") or "HEAD"


def _explain_missing(git: Git, base: str, folder: Path) -> str:
    if commit_of(git, "HEAD") is None and base == _name_of_head(git):
        return f"{folder} has no commit yet, so there is nothing to begin at: commit something first"
    remote = commit_of(git, f"refs/remotes/origin/{base}")
    near = f"name 'origin/{base}', which there is" if remote else _branches(git)
    return f"there is no branch, tag or commit {base!r} in {folder}: {near}"


def _branches(git: Git) -> str:
    names = list_branches(git)
    return f"there are {', '.join(names[:_TOLD_BRANCHES])}" if names else "there are no branches yet"


def _refuse_what_is_there(resources: Resources, repository: Repository, worktree: Worktree) -> None:
    """Raise RequestRefused where the row, the folder or the branch is somebody's."""
    row = worktrees.find(resources.store, worktree.session_id)
    if row is not None and row.state != "failed":
        way = f": `agents worktree restore {row.session_id}` brings it back" if row.state == "removed" else ""
        raise RequestRefused(f"session {row.session_id} has a worktree already, which is {row.state}{way}")
    if repository.worktrees.is_symlink():
        raise RepositoryUnusable(f"{repository.worktrees} is a link: delete it, worktrees are made there")
    if os.path.lexists(worktree.path):
        raise RepositoryUnusable(f"{worktree.path} is there already: move it away")
    elsewhere = next((one for one in repository.checkouts() if one.branch == worktree.branch), None)
    if elsewhere is not None:
        raise BranchInUse(
            f"the branch {worktree.branch} is checked out in {elsewhere.path}: name another one, or begin a new one"
        )
    if worktree.is_new_branch and commit_of(repository.git, f"refs/heads/{worktree.branch}") is not None:
        raise BranchInUse(f"there is a branch {worktree.branch} already: delete or rename it")


def _note(resources: Resources, worktree: Worktree, setup: Setup) -> Worktree:
    """Write the row and the operation, and return the worktree with its ports."""
    store = resources.store
    with store.write():
        first = choose_ports(store, setup.ports)
        worktree = replace(worktree, port_first=first, port_count=0 if first is None else setup.ports)
        worktrees.insert(store, worktree)
        begin(store, resources.clock, "create", worktree.session_id)
    return worktree


def take_back(resources: Resources, worktree: Worktree, event: str, reason: str) -> None:
    """Take away what was made of a worktree that was never ready, or came back from what is kept.

    event: what becomes of its row. Raises RequestRefused and OSError.
    """
    with lock_repository(resources.locks, Path(worktree.git_folder)):
        discard(worktree)
    end_operation(resources, worktree, event, reason)


def end_operation(resources: Resources, worktree: Worktree, event: str, reason: str = "") -> Worktree:
    """End what was done to a worktree, and return the worktree as it is now; the session's lock is held.

    event: of its row. reason: what of it a person should know.
    """
    store, now = resources.store, resources.clock.now()
    with store.write():
        worktrees.move(store, worktree.session_id, event, now, reason=reason)
        for operation in operations.find(store, "begun", KINDS, worktree.session_id):
            operations.end(store, operation.operation_id, _ENDS[event], now)
    return replace(worktree, state=WORKTREE[worktree.state, event], reason=reason, updated_at=now)


def _add(repository: Repository, worktree: Worktree) -> None:
    prepare_folder(repository)
    new = ("--no-track", "-b", worktree.branch) if worktree.is_new_branch else ()
    start = worktree.base_commit if worktree.is_new_branch else worktree.branch
    words = ("worktree", "add", "--quiet", *new, "--", worktree.path, start)
    repository.git.check(*words, timeout_s=LONG_S)


def prepare_folder(repository: Repository) -> None:
    """Make the folder of worktrees, which the main checkout does not see. Raises RepositoryUnusable."""
    if repository.worktrees.is_symlink():
        raise RepositoryUnusable(f"{repository.worktrees} is a link: delete it, worktrees are made there")
    make_folder(repository.worktrees)
    if repository.git.run("check-ignore", "--quiet", f"{FOLDER}/x").succeeded:
        return
    exclude = repository.git_folder / "info" / "exclude"
    if exclude.is_symlink() or exclude.parent.is_symlink():  # whatever that is, it is not ours to write in
        write_private(repository.worktrees / ".gitignore", b"*\n")
    else:
        _tell_exclude(exclude)


def _tell_exclude(file: Path) -> None:
    """Add the folder to git's own list of what a repository ignores; what is in the list stays."""
    make_folder(file.parent)
    before = file.read_bytes() if file.exists() else b""
    line = f"/{FOLDER}/\n".encode()
    with os.fdopen(open_private(file, os.O_WRONLY | os.O_APPEND), "wb") as list_of_git:
        list_of_git.write(line if before.endswith(b"\n") or not before else b"\n" + line)


def furnish(resources: Resources, repository: Repository, worktree: Worktree, setup: Setup) -> None:
    """Give a worktree its submodules and files, and run its set-up. Raises SetupFailed or SetupNotAllowed."""
    folder = Path(worktree.path)
    empty = init_submodules(Git(folder), repository.git_folder / "modules")
    if empty:
        settings = {**worktree.settings, "empty_submodules": list(empty)}
        worktrees.note(resources.store, worktree.session_id, settings=settings)
    bring_files(repository.folder, folder, setup)
    require_permission_still(resources.store, worktree, setup)
    run_commands(worktree, setup.setup, setup.timeout_s, log_of(resources, worktree.session_id))


def box_of(resources: Resources, session_id: str) -> Path:
    """Return the folder that the box of a worktree's session has for itself, where it stands in one."""
    return resources.logs / session_id


def log_of(resources: Resources, session_id: str) -> Path:
    """Return the file with what set-up and tear-down commands have printed."""
    return resources.logs / f"{session_id}.setup.log"

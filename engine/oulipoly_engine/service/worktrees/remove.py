"""Remove a worktree: what it holds is kept first, under a reference, and only then is anything taken away."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from oulipoly_engine.core.worktrees.retention import BY_ITSELF, describe_changes
from oulipoly_engine.core.worktrees.setup_file import setup_from
from oulipoly_engine.core.worktrees.worktree_refusals import WorktreeBusy, WorktreeKept, WorktreeNotFound
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.operations.operations import begin
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.looking import for_looking, list_ignored, offline
from oulipoly_engine.service.worktrees.base.repository import (
    Resources,
    commit_of,
    find_admin_folder,
    hold_session,
)
from oulipoly_engine.service.worktrees.base.repository_lock import lock_repository
from oulipoly_engine.service.worktrees.create import box_of, end_operation, log_of
from oulipoly_engine.service.worktrees.discard import delete_branch, refuse_foreign, take_away
from oulipoly_engine.service.worktrees.setup.commands import run_commands
from oulipoly_engine.service.worktrees.setup.settings import require_permission_still
from oulipoly_engine.service.worktrees.setup.submodules import find_unsaved_submodule
from oulipoly_engine.service.worktrees.snapshot.salvage import take_salvage
from oulipoly_engine.service.worktrees.survey import is_merged, look_at
from oulipoly_engine.store.worktrees import worktrees


class RemovalWish(Record):
    """A worktree to remove."""

    session_id: str
    force: bool = False  # also with changes that are not committed, or in the middle of a merge; they are kept
    dry_run: bool = False  # only look whether it would go
    reason: str = ""  # why it goes though nobody has ordered it; of `retention.why_unused`


class Removal(Record):
    """A worktree that is gone."""

    worktree: Worktree
    was_gone: bool = False  # before: somebody else has removed it
    deleted_branch: bool = False
    ignored: tuple[str, ...] = ()  # what git ignores in it and nothing keeps; names of folders end in a slash


def remove(
    resources: Resources,
    wish: RemovalWish,
    *,
    is_running: Callable[[str], bool],
    find_obstacle: Callable[[Worktree], str] = lambda _: "",
) -> Removal:
    """Remove a worktree, after what it holds was kept. Commits that are on its branch alone stay there.

    is_running: tells of a session whether its process lives. find_obstacle: says, while nobody can begin to work there,
    what stands against a removal that nobody has ordered; empty: nothing. Raises WorktreeKept for that, for what a
    person may want to look at first and what cannot be kept, and WorktreeBusy for a session that runs.
    """
    session_id = wish.session_id
    with hold_session(resources, session_id):
        worktree = worktrees.find(resources.store, session_id)
        if worktree is None:
            raise WorktreeNotFound(
                f"session {session_id} has no worktree: `agents worktree list` lists those there are"
            )
        if worktree.state in ("removed", "creating", "failed"):  # nothing is there
            return Removal(worktree, was_gone=True)
        if is_running(session_id):
            raise WorktreeBusy(f"session {session_id} runs: `agents session close {session_id}` ends it first")
        obstacle = find_obstacle(worktree)
        if obstacle:
            raise WorktreeKept(obstacle)
        if worktree.state != "removing":  # else one whose reconciliation has failed, and is tried again
            _refuse_loss(worktree, force=wish.force)
        ignored = name_ignored(worktree)
        if wish.dry_run:
            return Removal(worktree, ignored=ignored)
        if worktree.state != "removing":
            worktree = _begin(resources, worktree, wish.reason)
        return replace(finish_removal(resources, worktree, force=wish.force), ignored=ignored)


def name_ignored(worktree: Worktree) -> tuple[str, ...]:
    """Return what git ignores in a worktree, whole folders by their names; empty where git knows nothing of it.

    Raises GitFailed where git cannot tell.
    """
    path = Path(worktree.path)
    admin = find_admin_folder(Path(worktree.git_folder), path) if path.is_dir() and not path.is_symlink() else None
    if admin is None:
        return ()
    return list_ignored(for_looking(offline(Git(path, {"GIT_DIR": str(admin), "GIT_WORK_TREE": str(path)}))))


def _begin(resources: Resources, worktree: Worktree, reason: str) -> Worktree:
    store = resources.store
    with store.write():
        worktrees.move(store, worktree.session_id, "remove", resources.clock.now(), salvage="", reason=reason)
        begin(store, resources.clock, "remove", worktree.session_id, reason=reason)
    return replace(worktree, state="removing", salvage="", reason=reason)


def _refuse_loss(worktree: Worktree, *, force: bool) -> None:
    """Raise WorktreeKept for what cannot be kept, and without force for what a person may want to look at first."""
    refuse_foreign(worktree)
    path = Path(worktree.path)
    if not path.is_dir() or path.is_symlink():
        return  # it was deleted; what git knows of it is kept
    if not Path(worktree.git_folder).is_dir():
        raise WorktreeKept(
            f"the repository {worktree.repository} is gone, so what is in {path} cannot be kept: move it there again, "
            "or delete that folder yourself"
        )
    look = look_at(worktree)
    admin = find_admin_folder(Path(worktree.git_folder), path)
    if admin is not None:  # else there is no index, and what git keeps of submodules is gone
        git = Git(path, {"GIT_DIR": str(admin), "GIT_WORK_TREE": str(path)})
        unsaved = find_unsaved_submodule(git, Path(worktree.git_folder) / "modules")
        if unsaved:
            raise WorktreeKept(f"{worktree.path} is not removed: {unsaved}; commit and push it, or move it away")
    if force:
        return
    if look.unfinished:
        raise WorktreeKept(
            f"{worktree.path} has an unfinished {look.unfinished}: finish it, or remove with --force; "
            "what there is of it is kept"
        )
    if look.changed_files:
        raise WorktreeKept(
            f"{worktree.path} has {describe_changes(look)} that nobody has committed: commit them, "
            "or remove with --force; they are kept, and `agents worktree restore` brings them back"
        )


def finish_removal(resources: Resources, worktree: Worktree, *, force: bool) -> Removal:
    """Do the steps of a removal that were not done yet; the session's lock is held, and the row says `removing`."""
    if not worktree.salvage:
        with lock_repository(resources.locks, Path(worktree.git_folder)):
            worktree = _keep_contents(resources, worktree)
        try:
            _tear_down(resources, worktree)  # behind the salvage: it may delete files
        except Exception as error:
            if not force:
                end_operation(resources, worktree, "keep", str(getattr(error, "message", error)))
                raise
    with lock_repository(resources.locks, Path(worktree.git_folder)):
        take_away(worktree)
        deleted = _delete_branch(worktree)
    shutil.rmtree(box_of(resources, worktree.session_id), ignore_errors=True)
    reason = worktree.reason if worktree.reason.startswith(BY_ITSELF) else ""
    return Removal(end_operation(resources, worktree, "gone", reason), deleted_branch=deleted)


def _keep_contents(resources: Resources, worktree: Worktree) -> Worktree:
    """Return a worktree with the reference that holds all of it. Raises what `take_salvage` does, with a note of it."""
    if not Path(worktree.git_folder).is_dir() and not os.path.lexists(worktree.path):
        return worktree
    try:
        salvage = take_salvage(worktree, resources.clock.now())
    except Exception as error:
        end_operation(resources, worktree, "keep", str(getattr(error, "message", error)))
        raise
    worktrees.note(resources.store, worktree.session_id, salvage=salvage.ref)
    return replace(worktree, salvage=salvage.ref)


def _tear_down(resources: Resources, worktree: Worktree) -> None:
    """Run the tear-down that was allowed when the worktree was made, and still is; a folder that is gone needs none."""
    setup = setup_from(worktree.settings)
    if setup.teardown and os.path.isdir(worktree.path):  # noqa: PTH112 - a text
        require_permission_still(resources.store, worktree, setup)
        run_commands(worktree, setup.teardown, setup.timeout_s, log_of(resources, worktree.session_id))


def _delete_branch(worktree: Worktree) -> bool:
    """Delete the branch that was made for the worktree where all of it is merged; another one stays."""
    if not worktree.is_new_branch or not Path(worktree.git_folder).is_dir():
        return False
    git = for_looking(offline(Git(Path(worktree.git_folder), {"GIT_DIR": worktree.git_folder})))
    tip = commit_of(git, f"refs/heads/{worktree.branch}")
    return tip is not None and is_merged(git, worktree, tip) and delete_branch(worktree, tip)

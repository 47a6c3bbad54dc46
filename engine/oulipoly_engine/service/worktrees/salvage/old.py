"""References that keep what removed worktrees held: those that are old are found, and dropped when a person asks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from oulipoly_engine.core.worktrees.retention import KeptReference
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed
from oulipoly_engine.service.worktrees.base.looking import offline
from oulipoly_engine.service.worktrees.base.repository import Resources, check, hold_session
from oulipoly_engine.service.worktrees.base.repository_lock import lock_repository
from oulipoly_engine.service.worktrees.changes.kept import DISCARDED
from oulipoly_engine.service.worktrees.changes.moves import BACKUP
from oulipoly_engine.service.worktrees.salvage.take import PREFIX
from oulipoly_engine.store.worktrees import worktrees

_KINDS = {PREFIX: "salvage", BACKUP: "backup", DISCARDED: "discarded"}
_FORMAT = "--format=%(refname)%00%(objectname)%00%(contents)%00"
_TIME = "%Y%m%dT%H%M%S.%fZ"


def find_old(worktree: Worktree, before: datetime) -> tuple[KeptReference, ...]:
    """Return the references of a removed worktree's session that are older than a time, oldest first.

    The newest one of each kind is never among them, nor what `restore` brings back. None where git says nothing.
    """
    if worktree.state != "removed":
        return ()
    git_folder = Path(worktree.git_folder)
    found: list[KeptReference] = []
    for prefix, kind in _KINDS.items():
        own = [*_read(git_folder, f"{prefix}/{worktree.session_id}/", kind, worktree.session_id)]
        own.sort(key=lambda one: (one.made_at, one.name))
        found += (one for one in own[:-1] if one.made_at < before and one.name != worktree.salvage)
    return tuple(sorted(found, key=lambda one: one.made_at))


def drop(resources: Resources, found: Iterable[KeptReference]) -> tuple[KeptReference, ...]:
    """Delete references as they were found, unless their worktree is back or works, and return those that are gone."""
    gone = []
    for one in found:
        with hold_session(resources, one.session_id):
            worktree = worktrees.find(resources.store, one.session_id)
            if worktree is None or worktree.state != "removed" or worktree.salvage == one.name:
                continue
            git_folder = Path(worktree.git_folder)
            with lock_repository(resources.locks, git_folder):
                check(_git(git_folder), "update-ref", "-d", one.name, one.commit)
        gone.append(one)
    return tuple(gone)


def _git(git_folder: Path) -> Git:
    return offline(Git(git_folder, {"GIT_DIR": str(git_folder)}))


def _read(git_folder: Path, prefix: str, kind: str, session_id: str) -> Iterable[KeptReference]:
    try:
        parts = (
            os.fsdecode(_git(git_folder).check("for-each-ref", _FORMAT, prefix)).split("\0")
            if git_folder.is_dir()
            else []
        )
    except GitFailed:
        return
    for name, commit, contents in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
        try:  # an agent can write references too
            made_at = datetime.strptime(name.rpartition("/")[2].partition("Z")[0] + "Z", _TIME).replace(tzinfo=UTC)
        except ValueError:
            continue
        yield KeptReference(name.strip(), commit, session_id, kind, made_at, _describe(kind, commit, contents))


def _describe(kind: str, commit: str, contents: str) -> str:
    """Return what a reference holds, in words."""
    subject, _, body = contents.partition("\n\n")
    if kind == "backup":
        return f"a branch at {commit[:8]}, {subject}"
    try:
        told = json.loads(body)
        return f"all of the worktree on {told['branch']}" if kind == "salvage" else ", ".join(map(str, told["paths"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return subject

"""Worktrees of sessions: make, guard, list, remove and restore them.

Every method blocks and may be called from any thread. Each settles first what a kill has cut off.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.worktrees.retention import KeptReference, Look, WorktreeStatus, why_kept
from oulipoly_engine.core.worktrees.setup_file import Setup
from oulipoly_engine.core.worktrees.worktree_refusals import RepositoryUnusable, WorktreeNotFound
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade.base.home import Part, find_only
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.operations.operations import recover
from oulipoly_engine.service.worktrees import create, reconcile, remove, restore, survey
from oulipoly_engine.service.worktrees.base import guard
from oulipoly_engine.service.worktrees.base.repository import Resources, commit_of, open_repository
from oulipoly_engine.service.worktrees.changes import moves
from oulipoly_engine.service.worktrees.create import NewWorktree
from oulipoly_engine.service.worktrees.remove import Removal, RemovalWish
from oulipoly_engine.service.worktrees.setup import settings
from oulipoly_engine.service.worktrees.setup.ports import worktree_environment
from oulipoly_engine.service.worktrees.snapshot import turns
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.grants import grants
from oulipoly_engine.store.live import live_queue, live_requests, live_sessions
from oulipoly_engine.store.worktrees import worktrees

__all__ = ["Removal"]

_MEASURING_S = 2.0  # for all sizes of a list
_BEGINNING = timedelta(minutes=10)  # from a worktree to its session takes seconds
_LIVING = ("creating", "ready", "removing")


class RepositorySetup(Record):
    """What a repository's file of settings asks for, and whether a person has allowed its commands."""

    repository: str
    setup: Setup
    is_allowed: bool
    allowed_at: datetime | None = None  # the commands; where they are not allowed, the last ones that were


class Pruned(Record):
    """What went by itself, or would, and what stays."""

    gone: tuple[WorktreeStatus, ...]
    kept: tuple[tuple[WorktreeStatus, str], ...]  # with the reason
    references: tuple[KeptReference, ...] = ()  # old ones of worktrees that were removed before, which go too


class Worktrees(Part):
    """The worktrees of one user's sessions."""

    # Making ----------------------------------------------------------------------------------------------------------
    def create(
        self,
        session_id: str,
        repository: Path,
        base: str = "",
        reuses: bool = False,
        *,
        runs_setup: bool = True,
        isolation: str = "",
    ) -> Worktree:
        """Make the worktree of a session, on the branch `aw/<session id>` from a base, and return it.

        base: a branch, tag or commit; empty: what the folder stands at. reuses: work on the branch `base` itself.
        isolation: of the box in which its CLIs are to stand; empty: in none.
        Raises RequestRefused, and leaves nothing then; SetupNotAllowed where the repository's commands need a person.
        """
        self._home.refuse_if_read_only("make a worktree")
        with self._home.lend_store() as store:
            resources = self.settled(store)
            wish = NewWorktree(session_id, repository, base, reuses, runs_setup, isolation)
            return create.create(resources, wish)

    def setup_of(self, repository: Path, base: str = "") -> RepositorySetup:
        """Return what a repository's file of settings asks for, as a base has it."""
        opened = open_repository(repository)
        commit = commit_of(opened.git, base or "HEAD")
        if commit is None:
            raise RequestRefused(f"there is no branch, tag or commit {base or 'HEAD'!r} in {repository}")
        setup = settings.find_setup(opened, commit)
        with self._home.lend_store_to_read() as store:
            allowed = grants.list_allowed(store, str(opened.git_folder))
        at = allowed.get(setup.digest) or max(allowed.values(), default=None)
        return RepositorySetup(str(opened.folder), setup, not setup.commands or setup.digest in allowed, at)

    def allow_setup(self, repository: Path, digest: str) -> None:
        """Note that a person has seen and allowed the commands that a digest stands for."""
        self._home.refuse_if_read_only("allow commands")
        opened = open_repository(repository)
        with self._home.lend_store() as store:
            settings.allow(store, str(opened.git_folder), digest, self._home.now(), self._own_name)

    def refuse_setup(self, repository: Path, digest: str) -> None:
        """Note that a person has seen the commands and said no: nothing asks for them until they are needed again."""
        self._home.refuse_if_read_only("refuse commands")
        asker = str(open_repository(repository).git_folder)
        now = self._home.now()
        with self._home.lend_store() as store:
            live_requests.settle_asked(store, "worktree", asker, digest, now, decision="deny", by=self._own_name)

    @property
    def _own_name(self) -> str:
        from oulipoly_engine.facade.live.requests import own_client  # noqa: PLC0415 - seldom anything is allowed

        return own_client(is_app=self._home.is_app).name

    def main_folder(self, folder: Path) -> Path | None:
        """Return the folder of the repository that a folder belongs to, where its worktrees are made; None: to none."""
        try:
            return open_repository(folder).folder
        except RepositoryUnusable:
            return None

    # Using -----------------------------------------------------------------------------------------------------------
    def guard(self, session_id: str) -> None:
        """Raise WorktreeBlocked unless the session's worktree is what it was made as."""
        with self._home.lend_store_to_read() as store:
            guard.guard(store, session_id)

    def environment(self, session_id: str) -> dict[str, str]:
        """Return what a session finds in its environment for its worktree: PORT_FIRST and others."""
        with self._home.lend_store_to_read() as store:
            worktree = worktrees.find(store, session_id)
        return {} if worktree is None else worktree_environment(worktree)

    # Finding ---------------------------------------------------------------------------------------------------------
    def find(self, identity: str) -> Worktree:
        """Return the worktree of the session whose id begins so. Raises WorktreeNotFound."""
        with self._home.lend_store_to_read() as store:
            found = worktrees.find_beginning(store, identity) if identity else ()
        none = f"no session {identity!r} has a worktree: `agents worktree list` lists those there are"
        return find_only(found, lambda one: one.session_id, identity, "worktrees", WorktreeNotFound(none))

    def list(
        self, repository: Path | None = None, *, has_removed: bool = False, measures: bool = True
    ) -> tuple[WorktreeStatus, ...]:
        """Return the worktrees with what git says of them now, oldest first.

        repository: only those of this one. has_removed: those that can be restored, and that failed, too.
        measures: with their sizes, for two seconds at most.
        """
        folder = None if repository is None else str(open_repository(repository).folder)
        with self._home.lend_store_to_read() as store:
            self._home.write_along(store, lambda: self.settled(store), None)
            found = worktrees.list_worktrees(store, () if has_removed else _LIVING, folder)
            users = [live_sessions.find_in(store, one.session_id, one.path) for one in found]
            awaited = [_why_awaited(store, one, its, self._home.now()) for one, its in zip(found, users, strict=True)]
        living = {host.session_id for host in hosts.survey(self._home.paths)}  # last: one that has begun is seen now
        running = [any(user.session_id in living for user in its) for its in users]
        judged = list(map(_judge, found, running, awaited))
        return tuple(_measure(judged) if measures else judged)

    # Removing --------------------------------------------------------------------------------------------------------
    def remove(self, identity: str, force: bool = False, *, dry_run: bool = False) -> Removal:
        """Remove a worktree; what it holds is kept first. force: one with uncommitted changes too.

        dry_run: only look whether it would be removed. Raises WorktreeKept and WorktreeBusy where not.
        """
        self._home.refuse_if_read_only("remove a worktree")
        with self._home.lend_store() as store:
            resources = self.settled(store)
            session_id = self.find(identity).session_id
            wish = RemovalWish(session_id, force, dry_run)
            return remove.remove(resources, wish, is_running=partial(self.is_running, store))

    def restore(self, identity: str) -> Worktree:
        """Bring back a worktree that was removed."""
        self._home.refuse_if_read_only("restore a worktree")
        with self._home.lend_store() as store:
            resources = self.settled(store)
            return restore.restore(resources, self.find(identity).session_id)

    def prune(self, *, dry_run: bool = False, repository: Path | None = None) -> Pruned:
        """Remove the worktrees that are clean and merged and whose session does not run. dry_run: only say which.

        What removed worktrees held goes too once it is older than `work_keep_days`, but for the newest of each kind.
        """
        if not dry_run:
            self._home.refuse_if_read_only("remove worktrees")
        gone, kept, references = [], [], self._find_old(repository)  # before others are removed
        for one in self.list(repository, measures=dry_run):
            reason = why_kept(one)
            if reason:
                kept.append((one, reason))
                continue
            try:
                removal = self.remove(one.worktree.session_id, dry_run=dry_run)
            except RequestRefused as error:  # it has changed since, or holds what cannot be kept
                kept.append((one, error.message))
            else:
                gone.append(replace(one, ignored=removal.ignored))
        if references and not dry_run:
            from oulipoly_engine.service.worktrees.snapshot.references import drop  # noqa: PLC0415 - seldom there are any

            with self._home.lend_store() as store:
                references = drop(self._home.wiring.worktree_resources(store), references)
        return Pruned(tuple(gone), tuple(kept), references)

    def look_at(self, store: Store, worktree: Worktree) -> WorktreeStatus:
        """Return a worktree with what git says of it now, without its size."""
        users = live_sessions.find_in(store, worktree.session_id, worktree.path)
        awaited = _why_awaited(store, worktree, users, self._home.now())
        return _judge(worktree, self.is_running(store, worktree.session_id), awaited)

    def _find_old(self, repository: Path | None) -> tuple[KeptReference, ...]:
        from oulipoly_engine.service.worktrees.snapshot import references  # noqa: PLC0415 - only who prunes asks

        days = self._home.files.settings().work_keep_days
        if not days:
            return ()
        opened = None if repository is None else open_repository(repository)
        before = self._home.now() - timedelta(days=days)
        with self._home.lend_store_to_read() as store:
            removed = worktrees.list_worktrees(store, ("removed",), None if opened is None else str(opened.folder))
            turns = references.find_old_turns(store, before, None if opened is None else opened.git_folder)
        return (*(old for worktree in removed for old in references.find_old(worktree, before)), *turns)

    def reconcile(self) -> tuple[str, ...]:
        """Settle worktrees and merges that a kill has cut off, and return what was done, a sentence each."""
        self._home.refuse_if_read_only("settle worktrees")
        with self._home.lend_store() as store:
            resources = self._home.wiring.worktree_resources(store)
            settlers = reconcile.settlers(resources) | moves.settlers(resources) | turns.settlers(resources)
            return recover(store, settlers)

    def is_running(self, store: Store, session_id: str) -> bool:
        """Tell whether a session works in a worktree, a fork of its own among them, or is about to."""
        worktree = worktrees.find(store, session_id)
        users = () if worktree is None else live_sessions.find_in(store, session_id, worktree.path)
        return any(hosts.is_held(self._home.paths, user.session_id) for user in users)

    def settled(self, store: Store) -> Resources:
        """Settle what a kill has cut off, and return what orders need."""
        resources = self._home.wiring.worktree_resources(store)
        recover(store, reconcile.settlers(resources))
        return resources


def _why_awaited(store: Store, worktree: Worktree, users: Sequence[LiveSession], now: datetime) -> str:
    """Return why sessions that may not run need their worktree; empty: nothing says so.

    users: those that it is for. A worktree comes before the row of its session, and that before its process.
    """
    unended = [one for one in users if not one.ended and one.status == "active"]
    if any(live_queue.waiting(store, one.session_id) for one in unended):
        return "messages wait for its session"
    if live_sessions.open_turns(store, [one.session_id for one in unended]):
        return "its session has a turn that is not over"
    is_young = any(now - one.created_at < _BEGINNING for one in unended or (() if users else (worktree,)))
    return "its session is about to begin" if is_young else ""


def _judge(worktree: Worktree, is_running: bool, awaited: str) -> WorktreeStatus:
    look = survey.look_at(worktree) if worktree.state in _LIVING else Look()
    return WorktreeStatus(worktree, look, is_running, awaited=awaited)


def _measure(statuses: Sequence[WorktreeStatus]) -> Iterator[WorktreeStatus]:
    """Add the sizes. Each has its share of the time that is left; one of which nothing was counted has no size."""
    deadline = time.monotonic() + _MEASURING_S
    for place, status in enumerate(statuses):
        if not status.look.exists:
            yield status
            continue
        now = time.monotonic()
        share = (deadline - now) / (len(statuses) - place)
        size, is_cut = survey.measure(Path(status.worktree.path), now + share)
        if is_cut and not size:
            yield status
        else:
            yield replace(status, size_bytes=size, is_size_cut=is_cut)

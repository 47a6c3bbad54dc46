"""What goes by itself: worktrees that lose nothing and that nobody has used for long, and who was told of it.

So do texts of events that entries hold as well, of sessions that nobody has used for long.

Several processes may ask at once, and each may be killed at any step: a removal is settled by whoever comes next.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.worktrees.retention import (
    Look,
    WorktreeStatus,
    describe_ignored,
    went_by_itself,
    why_kept,
    why_unused,
)
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import RequestRefused, translate_system_errors
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.facade.worktrees.worktrees import Pruned, Worktrees
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.process.open_files import list_workers
from oulipoly_engine.records import replace
from oulipoly_engine.service.live.event_retention import shorten_unused
from oulipoly_engine.service.worktrees import remove, unused
from oulipoly_engine.service.worktrees.base.repository import Resources, open_repository
from oulipoly_engine.service.worktrees.remove import RemovalWish
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.worktrees import worktrees


class Retention:
    """The policy of config.toml: `work_prune_days` and `work_prune_ignored`."""

    def __init__(self, home: Home, trees: Worktrees) -> None:
        self._home, self._trees = home, trees

    def prune(self, *, dry_run: bool = False, repository: Path | None = None) -> Pruned:
        """Remove what is clean and merged and unused for `work_prune_days`; the app and the server ask daily.

        What has files that git ignores and nothing would keep stays, unless `work_prune_ignored`. Nothing goes where
        the setting says never, and while another process does the same. References of removed worktrees stay.
        """
        days = self._home.files.settings().work_prune_days
        if not days or (self._home.read_only and not dry_run):
            return Pruned((), ())
        before = self._home.now() - timedelta(days=days)
        folder = None if repository is None else str(open_repository(repository).folder)
        with self._home.lend_store_to_read() as store:
            ready = worktrees.list_worktrees(store, ("ready",), folder)
        old = [worktree for worktree in ready if dry_run or worktree.updated_at < before]
        if not old:
            return Pruned((), ())
        with hold_lock(self._home.paths.locks / "work-prune", 0.0) as is_ours, self._home.lend_store() as store:
            if not is_ours and not dry_run:
                return Pruned((), ())
            return self._prune_each(store, old, before, dry_run=dry_run)

    def take_news(self, face: str) -> tuple[Worktree, ...]:
        """Return what went by itself since a face asked last, oldest first. face: a word for a file's name."""
        mark = self._home.paths.data / "worktrees" / f"told-{face}"
        with self._home.lend_store_to_read() as store:
            removed = worktrees.list_worktrees(store, ("removed",))
        news = sorted(filter(went_by_itself, removed), key=lambda worktree: worktree.updated_at)
        with suppress(OSError, ValueError):
            last_told_at = from_text(mark.read_text(encoding="ascii"))
            news = [worktree for worktree in news if worktree.updated_at > last_told_at]
        if news and not self._home.read_only:
            make_folder(mark.parent)
            write_private(mark, to_text(news[-1].updated_at).encode())
        return tuple(news)

    @translate_system_errors()
    def shorten_events(self) -> None:
        """Take out of the events of sessions unused for `event_keep_days` what their entries hold; asked for daily.

        Each session is looked at once after its last use.
        """
        days = self._home.files.settings().event_keep_days
        if not days or self._home.read_only:
            return
        before = self._home.now() - timedelta(days=days)
        mark = self._home.paths.data / "events-shortened"
        with hold_lock(self._home.paths.locks / "events-shorten", 0.0) as is_ours, self._home.lend_store() as store:
            if is_ours:
                since = datetime.min.replace(tzinfo=UTC)
                with suppress(OSError, ValueError):
                    since = from_text(mark.read_text(encoding="ascii"))
                shorten_unused(store, self._home.paths, since, before)
                write_private(mark, to_text(before).encode())

    def _prune_each(self, store: Store, old: Sequence[Worktree], before: datetime, *, dry_run: bool) -> Pruned:
        resources = self._trees.settled(store)
        reason = why_unused(self._home.files.settings().work_prune_days)
        gone: list[WorktreeStatus] = []
        kept: list[tuple[WorktreeStatus, str]] = []
        for worktree in old:
            status = WorktreeStatus(worktree, Look())

            def find_obstacle(current: Worktree) -> str:
                nonlocal status
                status = self._trees.look_at(store, current)
                return why_kept(status) or self._find_use(resources, current, before)

            wish = RemovalWish(worktree.session_id, dry_run=dry_run, reason=reason)
            is_running = partial(self._trees.is_running, store)
            try:
                removal = remove.remove(resources, wish, is_running=is_running, find_obstacle=find_obstacle)
            except RequestRefused as error:
                kept.append((status, error.message))
            else:
                gone.append(replace(status, ignored=removal.ignored))
        return Pruned(tuple(gone), tuple(kept))

    def _find_use(self, resources: Resources, worktree: Worktree, before: datetime) -> str:
        """Return why a worktree that is clean and merged does not go without an order; empty: it may."""
        settings = self._home.files.settings()
        users = live_sessions.find_in(resources.store, worktree.session_id, worktree.path)
        last_use = max([unused.last_use(resources, worktree), *(user.updated_at for user in users)])
        if last_use >= before:
            return f"it was used, or looked at, less than {settings.work_prune_days} days ago"
        workers = list_workers(Path(worktree.path))
        if workers:
            return f"process {workers[0]} works in it"
        if settings.work_prune_ignored:
            return ""
        ignored = remove.name_ignored(worktree)
        lost = [name for name in ignored if not unused.is_kept_elsewhere(worktree, name)]
        return f"it has what git ignores and nothing would keep: {describe_ignored(lost)}" if lost else ""

"""The rows of worktrees."""

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.worktrees import worktrees


def test_only_worktrees_that_are_there_name_their_repository(tmp_path):
    now = SystemClock().now()
    store = open_store(tmp_path / "state.db")
    for session_id, repository, state in (("a", "/x", "ready"), ("b", "/x", "ready"), ("c", "/y", "removed")):
        path = f"{repository}/{session_id}"
        worktrees.insert(store, Worktree(session_id, repository, path, "aw/x", "main", "0", state, now, now))

    repositories = worktrees.list_repositories(store)
    store.close()

    assert ("/x",) == repositories

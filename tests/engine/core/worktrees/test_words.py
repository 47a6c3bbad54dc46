"""What is said of sessions that wait, and of worktrees' sizes."""

from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.worktrees.retention import Look, WorktreeStatus, describe_size
from oulipoly_engine.core.worktrees.work import describe_wait
from oulipoly_engine.core.worktrees.worktrees import Worktree


def test_of_many_sessions_that_run_some_are_named():
    assert "it waits for a free place: 2 of 2 sessions run (aaaaaaaa, bbbbbbbb)" == describe_wait(
        ["a" * 36, "b" * 36], 2
    )
    assert describe_wait(["a" * 36] * 52, 52).endswith("aaaaaaaa and 47 more)")


@pytest.mark.parametrize(
    ("size", "is_cut", "words"),
    [(None, False, "-"), (0, True, "-"), (0, False, "0 B"), (17_000, False, "17 kB"), (17_000, True, "> 17 kB")],
)
def test_a_size_of_which_nothing_was_counted_is_none(size, is_cut, words):
    at = datetime(2026, 11, 28, tzinfo=UTC)
    worktree = Worktree(
        "s", "/r", "/r/w", "b", "main", "c", "ready", git_folder="/r/.git", created_at=at, updated_at=at
    )

    assert words == describe_size(WorktreeStatus(worktree, Look(), size_bytes=size, is_size_cut=is_cut))

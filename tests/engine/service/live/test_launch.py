"""The start of a live session's host: what is refused before anything is started or written."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.live.sessions import LiveSession, SessionOptions
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import AccountUnusable, ArgumentReserved
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import replace
from oulipoly_engine.service.live.launch import LiveLauncher
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.worktrees import worktrees
from oulipoly_engine.testing import FakeClock

NOW = datetime(2026, 11, 22, tzinfo=UTC)
RUNTIME = Runtime("r", "claude", "R", "/nowhere/claude")


@pytest.fixture
def start(tmp_path):
    """Start a session that was begun with some arguments; returns the store afterwards."""
    paths = Paths(*(tmp_path / name for name in ("config", "data", "home")))
    store = open_store(tmp_path / "state.db")

    def start(*args, runtime=RUNTIME):
        opening = SessionOptions(profile="supervised", args=tuple(args))
        session = LiveSession("s", str(tmp_path), "r", runtime.kind, "m", NOW, NOW, opening=opening)
        LiveLauncher(store, {}, paths, FakeClock(NOW)).start(session, runtime, CLIS["claude"])

    yield start
    assert not Path(tmp_path / "data").exists()
    store.close()


@pytest.mark.parametrize(
    "argument", ["--dangerously-skip-permissions", "--permission-mode=plan", "--session-id=CANARY"]
)
def test_an_argument_that_is_ours_is_refused_though_it_was_kept(start, argument):
    with pytest.raises(ArgumentReserved) as refused:
        start("--verbose-thing", argument)

    assert argument.partition("=")[0] in refused.value.message
    assert "CANARY" not in refused.value.message


def test_a_session_in_a_worktree_is_led_to_no_other_repository(tmp_path, monkeypatch):
    store = open_store(tmp_path / "state.db")
    tree = Worktree("s", "/r", "/r/w", "b", "main", "c", "ready", NOW, NOW)
    worktrees.insert(store, tree)
    launcher = LiveLauncher(store, {}, Paths(*(tmp_path / name for name in ("config", "data", "home"))), FakeClock(NOW))
    sessions = [LiveSession(name, "/r/w", "r", "claude", "m", NOW, NOW) for name in ("s", "other")]
    with monkeypatch.context() as patch:
        patch.setenv("GIT_DIR", "/elsewhere/.git")
        patch.setenv("GIT_AUTHOR_NAME", "Ann")
        found = [launcher._environment(session, RUNTIME, "i") for session in sessions]
    store.close()

    assert [(None, "Ann", "b"), ("/elsewhere/.git", "Ann", None)] == [
        (env.get("GIT_DIR"), env["GIT_AUTHOR_NAME"], env.get("WORKTREE_BRANCH")) for env in found
    ]


def test_a_runtime_that_is_switched_off_starts_nothing(start):
    with pytest.raises(AccountUnusable, match="switched off"):
        start(runtime=replace(RUNTIME, is_enabled=False))

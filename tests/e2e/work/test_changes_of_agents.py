"""What an agent has done on its own branch comes home: looked at, talked about, committed, merged, a conflict too."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.requests import TurnInFlight
from oulipoly_engine.core.worktrees.refusals import MergeConflicts
from oulipoly_engine.facade.worktrees.work import NewWork


@pytest.fixture
def repository(live):
    folder = live.root / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "A Person")
    git(folder, "config", "user.email", "person@example.com")
    (folder / "README.md").write_text("hello\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    return folder


def git(folder, *words, check=True):
    done = subprocess.run(["git", "-C", folder, *words], env=os.environ, capture_output=True, check=check)
    return done.stdout.decode().strip()


def wait_for_end(live, session, turns):
    deadline = time.monotonic() + 60
    while [turn.status for turn in live.live.turns(session)] != ["completed"] * turns:
        assert time.monotonic() < deadline, live.live.turns(session)
        time.sleep(0.02)


def test_from_the_agent_s_edit_to_a_merge_with_a_conflict(live, repository):
    changes = live.engine.changes
    prompt = "Write [[edit:notes.md]]"
    wish = NewWork(repository, runtime="demo-codex1", prompt=prompt, profile="full_access")
    begun = live.engine.work.begin(wish)
    session, worktree = begun.session.session_id, Path(begun.worktree.path)
    wait_for_end(live, session, 1)
    found = changes.status(session[:8])
    assert (found.branch, found.base, [one.path for one in found.unstaged]) == (f"aw/{session}", "main", ["notes.md"])
    assert changes.diff(session, "notes.md").hunks

    assert main(["changes", session, "--comment", "notes.md:1", "Say it shorter"]) == 0
    wait_for_end(live, session, 2)
    assert "notes.md, line 1:\n> " in live.live.turns(session)[-1].input
    changes.commit(session, "Add notes", stages_all=True)
    (repository / "notes.md").write_text("other notes\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Notes of my own")
    with pytest.raises(MergeConflicts):
        changes.merge(session)
    assert main(["merge", session, "--hand-over"]) == 0
    wait_for_end(live, session, 3)
    asked = live.live.turns(session)[-1].input
    assert "- notes.md" in asked
    assert "Notes of my own" in asked
    git(worktree, "merge", "-q", "main", check=False)  # what a real agent does when it is asked so
    (worktree / "notes.md").write_text("both notes\n")
    git(worktree, "commit", "-qam", "Merge main")

    moved = changes.merge(session)

    assert moved.after == git(repository, "rev-parse", "main")
    assert (repository / "notes.md").read_text() == "both notes\n"
    assert git(repository, "status", "--porcelain") == ""
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    live.engine.worktrees.remove(session)
    assert not changes.status(session).git_available


def test_nothing_moves_below_an_agent_that_works(live, repository):
    wish = NewWork(
        repository, runtime=live.scripted(), prompt=json.dumps([["say", "ready"], ["listen"]]), profile="full_access"
    )
    session = live.engine.work.begin(wish).session.session_id
    live.until_said(session, "ready")

    with pytest.raises(TurnInFlight, match="works right now"):
        live.engine.changes.rebase(session)

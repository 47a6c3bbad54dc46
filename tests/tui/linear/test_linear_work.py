"""Work sessions in plain lines: begun, looked at, committed, merged, removed and restored."""

import importlib.util
from pathlib import Path

import pytest

from oulipoly_engine.paths import from_environment

_PATH = Path(__file__).parents[1] / "work" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("work_of_linear", _PATH)
_WORK = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_WORK)
live_world, git, repository = _WORK.live_world, _WORK.git, _WORK.repository
WORKS, TREES = "Work sessions", "Worktrees"
BEGIN = (WORKS, "Begin one", "model", "demo-codex", "permissions", "live, full access")


@pytest.fixture
def talk(live_world, repository, agents):
    def run(*answers, arguments=()):
        stdin = "".join(f"{answer}\n" for answer in answers).encode()
        done = agents("--linear", *arguments, stdin=stdin, cwd=repository)
        assert 0 == done.returncode, done.stderr.decode()
        return done.stdout.decode()

    return run


def test_a_session_is_begun_its_changes_committed_and_merged_and_its_worktree_restored(talk, repository, git):
    text = talk(
        *(*BEGIN, "begins", "slates", "prompt", "[[edit:notes.md]] Write it", "Begin it", ""),
        *("Changes of one", "1", "Open a file", "1", "Comment on a line", "1", "Why so?"),
        *("Send the comments", "Open a file", "1", "Stage it", "Commit", "Take notes"),
        *("Show again", "Open a file", "1", "Comment on a line", "1", ""),
        *("Merge into", "main", "y", "Undo", "Merge into", "main", "y", "", "End one", "1", "y"),
    )

    assert "aw/<session's id> at slates" in text
    assert "Not staged, untracked: notes.md" in text
    assert "added 1: " in text
    assert "Sent 1 comment to the agent." in text
    assert "Committed " in text
    assert "Committed, added: notes.md" in text
    assert "A backup reference is made first; Undo undoes it." in text
    assert "Undone: main is as it was." in text
    assert "Take notes" in git(repository, "log", "--format=%s", "main")
    assert "Its worktree stays." in text

    _WORK._live._end_all(from_environment())  # it was told to
    text = talk(TREES, "Remove one", "1", "y", "Restore one", "1", "Remove one", "1", "y")

    assert "It can be undone: Restore one brings it back." in text
    assert "Restored. " in text


def test_a_conflict_is_told_before_anything_moves(talk, repository, git):
    (repository / "notes.txt").write_text("theirs\n")
    git(repository, "commit", "-qam", "Theirs")
    text = talk(
        *(*BEGIN, "begins", "slates", "prompt", "[[edit:notes.txt]] Write it", "Begin it", ""),
        *("Changes of one", "1", "Commit", "Mine", "Merge into", "main", "y"),
    )

    assert "1 file in conflict: nothing can be merged yet." in text
    assert "Hand to the agent? y or n: The agent was asked to resolve the conflict." in text


def test_commands_of_a_repository_are_shown_whole_before_they_run(talk, repository, git):
    (repository / ".agent-runner.toml").write_text('[worktree]\nsetup = ["touch made-by-set-up"]\n')
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Set up")
    text = talk(*BEGIN, "Begin it", "n", "lifetime", "one turn", "Begin it", "")

    assert "$ touch made-by-set-up" in text
    assert "A session of one turn needs a prompt." in text
    assert not (repository / ".agent-runner-worktrees").exists()


def test_nothing_is_changed_in_read_only_mode(talk):
    text = talk(WORKS, "", TREES, "", arguments=("--read-only",))

    assert "No work sessions." in text
    assert "Begin one" not in text
    assert "Remove one" not in text

"""`agents worktree …` as scripts use it: documents on stdout, errors as one line of JSON."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.testing import FakeClock


@pytest.fixture
def clock():
    """Begin yesterday: the commands have the system's time."""
    return FakeClock(datetime.now(UTC) - timedelta(days=1))


@pytest.fixture
def command(capfd, repo, monkeypatch):
    """Run one of the commands in this process. Returns (exit code, stdout as JSON, stderr)."""
    monkeypatch.chdir(repo.folder)

    def run(*words):
        code = main(["worktree", *words, "--json"])
        out, err = capfd.readouterr()
        return code, json.loads(out) if out else None, err

    return run


def test_a_worktree_is_listed_removed_and_restored(repo, trees, command):
    path = Path(trees.create("5e551011-aaaa", repo.folder).path)
    repo.write("new", "new\n", path)
    repo.commit("Mine", path, adds=True)
    repo.write("a.txt", "changed\n", path)

    _, listed, _ = command("list", "--repo", ".")
    kept, _, error = command("remove", "5e55")
    _, planned, _ = command("remove", "5e55", "--force", "--dry-run")
    _, removed, _ = command("remove", "5e55", "--force")
    _, again, _ = command("remove", "5e55", "--force")
    _, none, _ = command("list")
    _, every, _ = command("list", "--all")
    _, restored, _ = command("restore", "5e55")
    unknown, _, missing = command("restore", "nobody")

    (one,) = listed["worktrees"]
    told = {"ahead": 1, "behind": 0, "changed_files": 1, "untracked_files": 0, "merged": False, "running": False}
    assert (1, told, "ready") == (listed["schema_version"], {key: one[key] for key in told}, one["state"])
    assert one["size_bytes"] > 0
    assert "it has 1 changed file" == one["stays_because"]
    assert (1, "worktree-kept") == (kept, json.loads(error)["error"]["code"])
    assert (True, "ready") == (planned["dry_run"], planned["state"])
    assert ("removed", False, False) == (removed["state"], removed["was_gone"], removed["deleted_branch"])
    assert (True, []) == (again["was_gone"], none["worktrees"])
    assert [removed["salvage"]] == [each["salvage"] for each in every["worktrees"]]
    assert ("ready", "changed\n") == (restored["state"], (path / "a.txt").read_text())
    assert (1, "worktree-not-found") == (unknown, json.loads(missing)["error"]["code"])


def test_prune_unused_says_what_goes_by_itself(repo, trees, command):
    trees.create("s1", repo.folder)

    _, planned, _ = command("prune", "--unused", "--dry-run")
    _, done, _ = command("prune", "--unused")

    assert [("s1", "it was used, or looked at, less than 30 days ago")] == [
        (one["session_id"], one["stays_because"]) for one in planned["kept"]
    ]
    assert ([], []) == (done["removed"], done["kept"])


def test_a_dry_run_of_nothing_does_not_advise_itself(repo, capfd, command):
    assert 0 == main(["worktree", "prune", "--unused", "--dry-run"])
    assert "no session has a worktree\n" == capfd.readouterr().err


def test_prune_says_what_goes_and_why_the_others_stay(repo, trees, clock, command):
    clock.jump(-10 * 24 * 3600)
    for name in ("clean", "dirty"):
        trees.create(name, repo.folder)
    repo.write("x", "x\n", Path(trees.find("dirty").path))
    repo.write(".env", "x\n", Path(trees.find("clean").path))
    clock.jump(10 * 24 * 3600)

    _, planned, _ = command("prune", "--dry-run")
    untouched = repo.worktrees()
    _, done, _ = command("prune")

    assert (2, 1) == (len(untouched), len(repo.worktrees()))
    for document, is_dry in ((planned, True), (done, False)):
        assert is_dry == document["dry_run"]
        assert [("clean", [".env"])] == [(one["session_id"], one["ignored"]) for one in document["removed"]]
        assert [("dirty", "it has 1 changed file")] == [
            (one["session_id"], one["stays_because"]) for one in document["kept"]
        ]

"""The commands about a session's changes, from the first look to the push, as a user gives them."""

import json
import os
import shutil
import subprocess
from contextlib import closing
from datetime import UTC, datetime

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.worktrees.prompts import Comment
from oulipoly_engine.core.worktrees.refusals import ChangesTimedOut
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade import output
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.paths import from_environment
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.worktrees import worktrees

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
SESSION = "5e551011-0000-4000-8000-000000000000"
PLAIN = "97a1e550-0000-4000-8000-000000000000"
GH = """#!/bin/sh
printf '%s\\n' "$@" > "$HOME/gh-words"
echo "https://github.com/owner/repo/pull/7"
"""


class Bench:
    """A repository with a remote one, and a session that works in a worktree of it."""

    def __init__(self, tmp_path, capfd):
        self.capfd = capfd
        self.main, self.work, self.remote = tmp_path / "repo", tmp_path / "work", tmp_path / "remote"
        self.git("init", "-q", "-b", "main", str(self.main), folder=tmp_path)
        self.git("init", "-q", "--bare", str(self.remote), folder=tmp_path)
        for key, value in {"user.name": "A Person", "user.email": "person@example.com"}.items():
            self.git("config", key, value)
        self.write("README.md", "# Hello\n", self.main)
        self.git("add", "-A")
        self.git("commit", "-qm", "Begin")
        self.git("remote", "add", "origin", str(self.remote))
        self.git("worktree", "add", "-q", "-b", f"aw/{SESSION}", str(self.work))

    def git(self, *words, folder=None):
        done = subprocess.run(["git", "-C", str(folder or self.main), *words], capture_output=True, check=True)
        return done.stdout.decode().strip()

    def write(self, name, content, folder=None):
        ((folder or self.work) / name).write_text(content)

    def run(self, *words, code=0):
        found = main(list(words))
        told = self.capfd.readouterr()
        assert found == code, told
        return told.out, told.err

    def json(self, *words, code=0):
        out, err = self.run(*words, "--json", code=code)
        return json.loads(out or err)


@pytest.fixture
def engine():
    engine = Engine(Surroundings(paths=from_environment()))
    yield engine
    engine.close()


@pytest.fixture
def bench(tmp_path, capfd):
    bench = Bench(tmp_path, capfd)
    with closing(open_store(from_environment().state_db)) as store:
        for name, folder in ((SESSION, bench.work), (PLAIN, tmp_path)):
            live_sessions.insert(store, LiveSession(name, str(folder), "codex", "codex", "m", NOW, NOW))
        worktree = Worktree(
            session_id=SESSION,
            repository=str(bench.main),
            path=str(bench.work),
            branch=f"aw/{SESSION}",
            base="main",
            base_commit=bench.git("rev-parse", "main"),
            state="ready",
            created_at=NOW,
            updated_at=NOW,
        )
        worktrees.insert(store, worktree)
    return bench


def test_from_the_first_look_to_the_merge(bench):
    bench.write("new.txt", "one\n")
    bench.write("README.md", "# Hello you\n")
    found = bench.json("changes", "5e55")
    assert (found["git_available"], found["branch"], found["base"]) == (True, f"aw/{SESSION}", "main")
    assert [(one["path"], one["status"]) for one in found["unstaged"]] == [("README.md", "M"), ("new.txt", "?")]
    assert "+one" in bench.run("diff", SESSION)[0]
    assert bench.json("diff", SESSION, "README.md")["files"][0]["hunks"][0]["lines"] == ["-# Hello", "+# Hello you"]
    assert bench.json("changes", SESSION, "--stage", "new.txt")["staged"][0]["status"] == "A"
    made = bench.json("commit", SESSION, "-m", "Add a file")
    assert made["subject"] == "Add a file"
    assert "+one" in bench.run("diff", SESSION, "--committed")[0]
    refused = bench.json("merge", SESSION, code=1)["error"]
    assert (refused["code"], refused["files"]) == ("uncommitted-changes", ["README.md"])
    assert bench.json("merge", SESSION, "--dry-run", code=1)["uncommitted"] == ["README.md"]
    assert "1 commit, 1 file," in bench.run("merge", SESSION, "--dry-run", code=1)[0]
    bench.run("changes", SESSION, "--discard", "README.md")

    moved = bench.json("merge", SESSION)

    assert (moved["branch"], moved["after"]) == ("main", made["sha"])
    assert (bench.main / "new.txt").read_text() == "one\n"
    assert bench.json("merge", SESSION, "--undo")["after"] == moved["before"]
    assert bench.json("apply", SESSION)["files"] == ["new.txt"]
    assert bench.git("status", "--porcelain") == "A  new.txt"
    assert bench.json("changes", SESSION, "--undo")["paths"] == ["README.md"]
    assert (bench.work / "README.md").read_text() == "# Hello you\n"


def test_vector_23_a_session_is_pushed(bench):
    bench.write("new.txt", "one\n")
    ready = bench.json("promote", SESSION, "--dry-run")
    assert (ready["target"], ready["remote"], ready["uncommitted"]) == ("awrapper/5e551011", "origin", 1)
    assert ready["compare_url"] is None

    done = bench.json("promote", SESSION, "-m", "Add a file", "--branch", "awrapper/test-branch")

    assert (done["ok"], done["branch"], done["pushed"], done["url"]) == (True, "awrapper/test-branch", True, None)
    assert bench.git("rev-parse", "refs/heads/awrapper/test-branch", folder=bench.remote) == done["commit"]
    other = bench.git("commit-tree", "-m", "Other", "main^{tree}")
    bench.git("push", "-qf", "origin", f"{other}:refs/heads/awrapper/test-branch")
    bench.write("new.txt", "two\n")
    refused = bench.json("promote", SESSION, "-m", "More", "--branch", "awrapper/test-branch", code=1)["error"]
    assert refused["code"] == "push-refused"


def test_a_pull_request_is_made_by_gh_where_a_person_asks_for_it(bench, home, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text(GH)
    gh.chmod(0o755)
    bench.git("config", f"url.{bench.remote}.insteadOf", "git@github.com:owner/repo.git")
    bench.git("remote", "set-url", "origin", "git@github.com:owner/repo.git")
    bench.git("remote", "set-url", "--push", "origin", "git@github.com:owner/repo.git")
    bench.write("new.txt", "one\n")

    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        done = bench.json("promote", SESSION, "-m", "Add a file\n\nIts reasons", "--pull-request")

    assert (done["url"], done["is_pull_request"]) == ("https://github.com/owner/repo/pull/7", True)
    words = (home / "gh-words").read_text().split("\n")
    assert words[:8] == [
        "pr",
        "create",
        "--head",
        "awrapper/5e551011",
        "--title",
        "Add a file",
        "--body",
        "Its reasons",
    ]


def test_without_a_remote_nothing_is_committed(bench):
    bench.git("remote", "remove", "origin")
    bench.write("new.txt", "one\n")

    assert "git remote add" in bench.run("promote", SESSION, "-m", "x", code=1)[1]
    assert bench.git("status", "--porcelain", folder=bench.work) == "?? new.txt"


def test_comments_become_one_prompt_with_the_lines_they_are_on(bench, engine):
    told = bench.json(
        "changes", SESSION, "--comment", "README.md:1", "Say more", "--comment", "a:9", "Why?", "--dry-run"
    )

    assert "README.md, line 1:\n> # Hello\nSay more" in told["prompt"]
    assert "a, line 9:\nWhy?" in told["prompt"]
    assert engine.changes.comments_prompt("5e55", [Comment("../x", 1, "t")]).count(">") == 0
    for place in ("README.md", ":1", "a:0", "a:x", "a:²"):
        assert "PATH:LINE" in bench.run("changes", SESSION, "--comment", place, "x", code=2)[1]


def test_a_folder_without_git_says_so(bench):
    assert bench.json("changes", PLAIN)["git_available"] is False
    assert "not a git repository" in bench.run("diff", PLAIN, code=1)[1]
    assert bench.json("merge", PLAIN, code=1)["error"]["code"] == "git-unavailable"
    shutil.rmtree(bench.work)
    assert f"`agents worktree restore {SESSION}`" in bench.json("changes", SESSION)["reason"]


def test_sessions_are_named_by_a_beginning_that_is_theirs_alone(bench, engine):
    for name in ("", "nobody"):
        with pytest.raises(RequestRefused, match="there is no live session"):
            engine.changes.status(name)


def test_who_watches_shares_a_look_and_an_order_is_seen_at_once(bench, engine):
    first = engine.changes.status(SESSION, max_age_s=60)
    bench.write("new.txt", "x")
    assert engine.changes.status("5e55", max_age_s=60) is first
    assert engine.changes.status(SESSION).unstaged

    engine.changes.stage(SESSION, ["new.txt"])

    assert engine.changes.status(SESSION, max_age_s=60).staged


def test_a_read_only_engine_looks_and_changes_nothing(bench):
    engine = Engine(Surroundings(paths=from_environment(), read_only=True))
    bench.write("new.txt", "x")
    try:
        assert engine.changes.status(SESSION).unstaged[0].path == "new.txt"
        for change in (
            lambda: engine.changes.stage(SESSION, ["new.txt"]),
            lambda: engine.changes.merge(SESSION),
            lambda: engine.changes.promote(SESSION, "x"),
            lambda: engine.changes.write_file(SESSION, "x", "y"),
        ):
            with pytest.raises(RequestRefused, match="read-only"):
                change()
    finally:
        engine.close()
    assert issubclass(ChangesTimedOut, RequestRefused)


def test_a_diff_has_colours_on_a_terminal_alone(bench, monkeypatch):
    bench.write("README.md", "# \x1b[31mRed\x07\n")
    assert "\x1b" not in bench.run("diff", SESSION)[0]
    with monkeypatch.context() as patch:
        patch.setattr(output.os, "isatty", lambda _descriptor: True)
        patch.delenv("NO_COLOR", raising=False)
        shown = bench.run("diff", SESSION)[0]
        patch.setenv("NO_COLOR", "1")
        assert "\x1b" not in bench.run("diff", SESSION)[0]

    assert "\x1b[32m+# " in shown
    assert "\x1b[31mRed" not in shown
    assert "\x07" not in shown

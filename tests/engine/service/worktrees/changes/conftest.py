"""A repository with a session's worktree, made by git itself."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from oulipoly_engine.service.worktrees.base.place import Place, open_checkout

SESSION = "5e551011-0000-4000-8000-000000000000"


class Repository:
    """A repository whose branch `main` has one commit, and a worktree of it on `aw/<session>`."""

    def __init__(self, folder, template=None):
        self.main = folder / "repo"
        self.branch = f"aw/{SESSION}"
        self.work = self.main / ".agent-runner-worktrees" / SESSION
        if template is None:
            self.make()
        else:
            shutil.copytree(template, self.main)
        self.base_commit = self.git("rev-parse", "HEAD")
        self.git("worktree", "add", "-q", "-b", self.branch, str(self.work))

    def make(self):
        self.main.mkdir(parents=True)
        self.git("init", "-q", "-b", "main", "--template=")
        for key, value in {"user.name": "A Person", "user.email": "person@example.com"}.items():
            self.git("config", key, value)
        self.write(".git/info/exclude", "/.agent-runner-worktrees/\n", self.main)
        self.write("README.md", "# Hello\n", self.main)
        self.commit("Begin", folder=self.main)

    def git(self, *words, folder=None, check=True):
        done = subprocess.run(
            ["git", "-C", str(folder or self.main), *words], capture_output=True, check=False, env=os.environ
        )
        assert not check or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def write(self, name, content, folder=None):
        path = (folder or self.work) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def commit(self, message="More", *, folder=None):
        folder = folder or self.work
        self.git("add", "-A", folder=folder)
        self.git("commit", "-q", "--no-verify", "-m", message, folder=folder)
        return self.git("rev-parse", "HEAD", folder=folder)

    def status(self, folder=None):
        return self.git("status", "--porcelain", "-uall", folder=folder or self.work)

    @property
    def place(self):
        return Place(SESSION, self.work, self.main, self.branch, "main", self.base_commit)

    @property
    def checkout(self):
        return open_checkout(self.place)


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A repository to copy: eight calls of git less in every test."""
    repository = Repository.__new__(Repository)
    repository.main = tmp_path_factory.mktemp("template") / "repo"
    repository.make()
    return repository.main


@pytest.fixture
def repo(tmp_path, template):
    return Repository(Path(os.path.realpath(tmp_path)), template)

"""A merge, a rebase or an apply killed between its steps, or within one: git itself says that all or nothing was done.

The short form stops before each order to git; the long one, `scripts/test-kills -k merge`, at any instant.
"""

import os
import signal
import subprocess
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.worktrees.base.repository_lock import lock_repository
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.operations import operations
from oulipoly_engine.store.worktrees import worktrees

SESSION = "5e551011-0000-4000-8000-000000000000"
FILES = 12
# Has all modules loaded, and begins a child for each line that it reads: what to do, and before which order to git the
# child is to die. It tells the child's number, and at its end how it ended and how many orders there were.
PARENT = """
import os, signal, sys
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.service.worktrees.changes import moves
import oulipoly_engine.facade.worktrees.changes
kept, count = moves.order, 0
def order(git, *words, **options):
    global count
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return kept(git, *words, **options)
moves.order = order
for line in sys.stdin:
    verb, last = line.split()[0], int(line.split()[1])
    child = os.fork()
    if child == 0:
        engine = Engine()
        getattr(engine.changes, verb)("5e55")
        engine.close()
        os._exit(count)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class World:
    """A repository in which `main` and a session's branch both have many files to give to the other."""

    def __init__(self, folder):
        self.main, self.work = folder / "repo", folder / "work"
        self.main.mkdir()
        self.git("init", "-q", "-b", "main")
        for key, value in {"user.name": "A Person", "user.email": "person@example.com"}.items():
            self.git("config", key, value)
        self.fill(self.main, "both", "old")
        self.git("worktree", "add", "-q", "-b", f"aw/{SESSION}", str(self.work))
        self.fill(self.main, "main", "m" * 5000)
        (self.work / "both0").unlink()
        self.fill(self.work, "both", "new", first=1)
        self.fill(self.work, "deep/work", "w" * 5000)
        (self.main / "loose").write_text("a person's own")
        (self.main / "staged").write_text("a person's own")
        self.git("add", "staged")
        now = datetime(2026, 11, 20, 10, tzinfo=UTC)
        with closing(open_store(from_environment().state_db)) as store:
            row = Worktree(
                session_id=SESSION,
                repository=str(self.main),
                path=str(self.work),
                branch=f"aw/{SESSION}",
                base="main",
                base_commit=self.git("merge-base", "main", f"aw/{SESSION}"),
                state="ready",
                created_at=now,
                updated_at=now,
            )
            worktrees.insert(store, row)

    def git(self, *words, folder=None):
        done = subprocess.run(["git", "-C", str(folder or self.main), *words], capture_output=True, check=True)
        return done.stdout.decode().strip()

    def fill(self, folder, name, text, first=0):
        for number in range(first, FILES):
            path = folder / f"{name}{number}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{text}{number}\n")
        self.git("add", "-A", folder=folder)
        self.git("commit", "-qm", f"{name} {text[:3]}", folder=folder)

    def picture(self):
        """What a person would see: both branches, both checkouts, and no lock left."""
        assert not list(self.main.glob(".git/**/*.lock"))
        for folder in (self.main, self.work):  # each has an index of its own
            self.git("fsck", "--no-dangling", "--no-progress", folder=folder)
        shown = self.git("rev-parse", "main", f"aw/{SESSION}").splitlines()
        return shown + [self.git("status", "--porcelain", "-uall", folder=folder) for folder in (self.main, self.work)]

    def back(self, verb, before):
        """Take back by git what a move has done, for the next one."""
        if verb == "rebase":
            self.git("reset", "-q", "--hard", before[1], folder=self.work)
        elif verb == "merge":
            tip, old = self.git("rev-parse", "main"), before[0]
            self.git("read-tree", "-m", "-u", tip, old)
            self.git("update-ref", "refs/heads/main", old, tip)
        else:
            self.git("restore", "--staged", "--worktree", ".", ":!staged")
        assert self.picture() == before


class Parent:
    """The process whose children do what is killed."""

    def __init__(self, commands):
        self._process = commands.start([], program=["-c", PARENT], feeds=True)

    def begin(self, verb, last=0):
        """Begin a move that dies before an order; 0: none. Returns its process."""
        self._process.stdin.write(f"{verb} {last}\n".encode())
        return int(self._process.stdout.readline())

    def wait(self):
        """Return how it ended: minus the signal, or how many orders it gave."""
        return int(self._process.stdout.readline())

    def close(self):
        self._process.communicate()


@pytest.fixture
def parent(world, commands):
    parent = Parent(commands)
    yield parent
    parent.close()


def settle():
    """Do what the next command does first, and return how the last move stands."""
    engine = Engine(Surroundings(paths=from_environment()))
    try:
        said = engine.worktrees.reconcile()
    finally:
        engine.close()
    with closing(open_store(from_environment().state_db)) as store:
        assert operations.find(store, "begun") == (), said
        moves = [*operations.find(store, "undone"), *operations.find(store, "done")]
    return max(moves, key=lambda move: move.begun_at).state if moves else "undone"


def whole(world, parent, verb):
    """How everything looks before a move and after it, how many orders it gives, and how long it takes."""
    before = world.picture()
    began = time.monotonic()
    parent.begin(verb)
    orders = parent.wait()
    length_s = time.monotonic() - began
    assert orders > 0
    after = world.picture()
    world.back(verb, before)
    return before, after, orders, length_s


@pytest.fixture
def world(tmp_path):
    return World(Path(os.path.realpath(tmp_path)))


def same(verb, shown, expected):
    """A commit that was made has another time in each attempt: the files are compared, and the other branch."""
    return shown[1:] == expected[1:] if verb == "merge" else shown[0] == expected[0] and shown[2:] == expected[2:]


@pytest.mark.parametrize("verb", ["merge", "rebase", "apply"])
def test_a_kill_between_the_steps_leaves_all_or_nothing(world, parent, verb):
    before, after, orders, _ = whole(world, parent, verb)
    for last in range(1, orders + 1):
        parent.begin(verb, last)
        assert parent.wait() == -signal.SIGKILL
        check(world, verb, before, after)


@pytest.mark.kills
@pytest.mark.parametrize("verb", ["merge", "rebase", "apply"])
def test_a_kill_at_any_instant_leaves_all_or_nothing(world, parent, verb, kills):
    before, after, _, length_s = whole(world, parent, verb)
    for number in range(len(kills)):
        child = parent.begin(verb)
        time.sleep(length_s * (number + 1) / (len(kills) + 1))
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        parent.wait()
        check(world, verb, before, after)


def check(world, verb, before, after):
    with lock_repository(from_environment().locks, world.main / ".git"):
        pass  # git, which the killed process had started, may hold it a moment longer, and nobody waits for it
    state = settle()
    shown = world.picture()
    if state == "done" and shown != before:
        assert same(verb, shown, after)
        world.back(verb, before)
    else:
        assert shown == before

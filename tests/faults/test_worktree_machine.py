"""Any order of making, changing, removing, restoring, killing and meddling: nothing is lost, and git agrees."""

import os
import runpy
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade.engine import Engine

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
Repository = runpy.run_path(str(FIXTURES / "worktree_repository.py"))["Repository"]
Worker = runpy.run_path(str(FIXTURES / "worktree_worker.py"))["Worker"]
SESSIONS = st.sampled_from(["a", "b-2"])
STEPS = {"create": 40, "remove": 90, "restore": 70}  # about how many there are
MAY_BECOME = {  # what a worktree can be once a step that was killed, or was quicker, is settled
    ("create", "none"): {"ready", "failed"},
    ("create", "failed"): {"ready", "none"},
    ("remove", "ready"): {"removed"},
    ("restore", "removed"): {"ready"},
}


class Machine(RuleBasedStateMachine):
    """What a session's worktree holds is known by its picture from just before the last removal."""

    @initialize()
    def begin(self):
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(dir=os.environ["HOME"])))
        self.repo = Repository(self.folder / "repo")
        self.engine = Engine()
        self.trees = self.engine.worktrees
        self.worker = Worker(self.repo, self.commands)
        self.pictures = {}
        self.number = 0

    def teardown(self):
        if hasattr(self, "worker"):
            self.worker.close()
            for one in self.trees.list(has_removed=True, measures=False):
                with self.trees._home.lend_store() as store, store.write():
                    store.execute("DELETE FROM worktrees WHERE session_id = ?", (one.worktree.session_id,))
            self.engine.close()
            shutil.rmtree(self.folder)

    def state(self, session):
        found = {one.worktree.session_id: one.worktree for one in self.trees.list(has_removed=True, measures=False)}
        return found[session].state if session in found else "none"

    def path(self, session):
        return self.repo.folder / ".agent-runner-worktrees" / session

    @rule(session=SESSIONS)
    def create(self, session):
        before = self.state(session)
        try:
            self.trees.create(session, self.repo.folder)
        except RequestRefused:
            assert before in ("ready", "removed")
        else:
            assert before in ("none", "failed")

    @rule(session=SESSIONS, kind=st.sampled_from(["commit", "stage", "change", "delete", "untracked", "conflict"]))
    def work(self, session, kind):
        path = self.path(session)
        if self.state(session) != "ready" or not path.exists():
            return
        self.number += 1
        text = f"{kind} {self.number}\r\n"
        match kind:
            case "commit":
                self.repo.write("a.txt", text, path)
                self.repo.run("commit", "-q", "-a", "-m", text, folder=path)  # refused in the middle of a merge
            case "stage":
                self.repo.write("s", text, path)
                self.repo.git("add", "s", folder=path)
            case "change":
                self.repo.write("a.txt", text, path)
            case "delete":
                (path / "run.sh").unlink(missing_ok=True)
            case "untracked":
                self.repo.write(f"new/{self.number}", text, path)
            case "conflict":
                self.repo.write("a.txt", text)
                self.repo.commit(text, adds=True)
                self.repo.run("merge", "main", folder=path)

    @rule(session=SESSIONS)
    def remove(self, session):
        before = self.state(session)
        self.remember(session)
        try:
            self.trees.remove(session, force=True)
        except RequestRefused:
            assert before == "none"
        else:
            assert self.state(session) == ("failed" if before == "failed" else "removed")

    @rule(session=SESSIONS)
    def restore(self, session):
        before = self.state(session)
        try:
            self.trees.restore(session)
        except RequestRefused:
            assert before != "removed"
        else:
            self.compare(session)

    @rule(session=SESSIONS, verb=st.sampled_from(sorted(STEPS)), share=st.floats(0, 1))
    def kill(self, session, verb, share):
        before = self.state(session)
        self.remember(session)
        self.worker.order(f"step:{1 + int(share * STEPS[verb])}", verb, session)
        after = self.state(session)  # which settles it
        allowed = {before} | MAY_BECOME.get((verb, before), set())
        assert after in allowed, (verb, before, after)
        if after == "ready" and before in ("ready", "removed"):
            self.compare(session)

    @rule(session=SESSIONS)
    @precondition(lambda self: self.number % 3 == 2)
    def somebody_deletes_the_folder(self, session):
        shutil.rmtree(self.path(session), ignore_errors=True)
        self.pictures.pop(session, None)

    @rule()
    def somebody_collects_garbage(self):
        self.repo.git("gc", "-q", "--prune=now")

    def remember(self, session):
        if self.state(session) == "ready" and self.path(session).exists():
            self.pictures[session] = self.repo.picture(self.path(session))

    def compare(self, session):
        if session in self.pictures and self.path(session).exists():
            assert self.pictures[session] == self.repo.picture(self.path(session))

    @invariant()
    def git_agrees(self):
        if not hasattr(self, "repo"):
            return
        ready = {one.worktree.path for one in self.trees.list(measures=False) if one.worktree.state == "ready"}
        assert ready == self.repo.worktrees()
        assert () == self.trees.reconcile()
        self.repo.assert_sound()


def test_any_order(commands):
    run(commands, 3, 8)


@pytest.mark.kills
@pytest.mark.timeout(1800)
def test_any_order_long(commands):
    run(commands, 25, 15)


def run(commands, examples, steps):
    Machine.commands = commands
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )

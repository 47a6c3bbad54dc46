"""Files travel with a session's branch: kept as turns end, shown before they go back, and brought back by any face."""

import json
import os
import subprocess
import time

import pytest

from oulipoly_engine.cli.main import main


def git(folder, *words):
    return subprocess.run(
        ["git", "-C", folder, *words], env=os.environ, capture_output=True, check=True
    ).stdout.decode()


class Repository:
    """A user's repository, and a session that works in it."""

    def __init__(self, live):
        self.live, self.folder = live, live.root / "repo"
        self.folder.mkdir()
        git(self.folder, "init", "-q")
        git(self.folder, "config", "user.email", "person@example.com")
        git(self.folder, "config", "user.name", "A Person")
        self.write("a", "at first")
        self.write(".gitignore", "*.log\n")
        self.write("run.log", "never kept")
        git(self.folder, "add", ".")
        git(self.folder, "commit", "-qm", "First")
        self.runtime = live.scripted()

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def files(self):
        names = sorted(path.name for path in self.folder.iterdir() if path.is_file())
        return {name: (self.folder / name).read_text() for name in names if name != ".gitignore"}

    def begin(self):
        self.session = self.live.begin(runtime=self.runtime, folder=self.folder)
        return self.session

    def turn(self, script, word):
        """Have the agent run a shell script in a turn, and wait until its files are kept."""
        steps = [["start", str(self.live.root / "said"), "sh", "-c", script], ["say", word]]
        self.live.live.send(self.session, json.dumps(steps), waits=True)
        self.wait_for(lambda: len(self.snapshots("after")) == len(self.live.live.turns(self.session)))

    def snapshots(self, moment):
        return self.live.rows("SELECT * FROM turn_files WHERE moment = ?", moment)

    def wait_for(self, is_it):
        deadline = time.monotonic() + 60
        while not is_it():
            assert time.monotonic() < deadline, self.live.events(self.session)
            time.sleep(0.01)

    def entry(self, text):
        self.live.engine.sessions.transcripts.glance()
        tree = self.live.engine.sessions.branches.tree(self.session)
        return next(entry.entry_id for entry in tree.entries if entry.preview == text)


@pytest.fixture
def repository(live):
    return Repository(live)


def test_chat_and_files_go_back_to_an_answer_together_and_forth_again(live, repository, capfd):
    session = repository.begin()
    repository.turn("echo one >a; echo new >b", "first answer")
    repository.turn("rm a; echo two >b; echo three >c", "second answer")
    second = repository.files()
    answer = repository.entry("first answer")

    assert main(["session", "branch", session, answer, "--preview", "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (["b"], ["a"], ["c"], []) == (told["changing"], told["coming"], told["going"], told["unsaved"])
    assert ["run.log"] == told["left_out"]["ignored"]
    assert second == repository.files()

    assert main(["session", "branch", session, answer, "--restore", "both", "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert {"a": "one\n", "b": "new\n", "run.log": "never kept"} == repository.files()
    assert answer == live.engine.sessions.branches.tree(session).leaf == told["leaf"]

    assert main(told["way_back"].split()[1:]) == 0
    assert second == repository.files()
    assert repository.entry("second answer") == live.engine.sessions.branches.tree(session).leaf

"""Files travel with a session's branch: kept as turns end, shown before they go back, and brought back by any face."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest
from fastapi.testclient import TestClient

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.requests import TurnInFlight
from oulipoly_engine.core.worktrees.refusals import FileMissing
from oulipoly_engine.errors import Declined, RunnerError
from oulipoly_engine.facade.worktrees.work import NewWork
from oulipoly_engine.web.access.gate import Serving
from oulipoly_engine.web.app import make_app
from oulipoly_tui.linear.sessions import _open_tree
from oulipoly_tui.linear.talk import Talk


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

    def begin(self, prompt=None):
        self.session = self.live.begin(prompt, runtime=self.runtime, folder=self.folder)
        if prompt is None:
            self.wait_for(lambda: git(self.folder, "for-each-ref", "refs/agent-runner/turn"))
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
    preview = json.loads(capfd.readouterr().out)
    assert (["b"], ["a"], ["c"], []) == (preview["changing"], preview["coming"], preview["going"], preview["unsaved"])
    assert ["run.log"] == preview["left_out"]["ignored"]
    assert second == repository.files()

    assert main(["session", "branch", session, answer, "--restore", "both", "--json"]) == 0
    answered = json.loads(capfd.readouterr().out)
    assert {"a": "one\n", "b": "new\n", "run.log": "never kept"} == repository.files()
    assert answer == live.engine.sessions.branches.tree(session).leaf == answered["leaf"]

    assert main(answered["way_back"].split()[1:]) == 0
    assert second == repository.files()
    assert repository.entry("second answer") == live.engine.sessions.branches.tree(session).leaf


def test_changes_that_no_snapshot_has_are_asked_for_and_kept(live, repository):
    session = repository.begin()
    repository.turn("echo one >a", "first answer")
    repository.turn("echo two >a", "second answer")
    repository.write("a", "by hand")
    files = live.engine.turn_files
    answer = repository.entry("first answer")

    with pytest.raises(Declined, match="no snapshot of a turn: a;"):
        files.restore(session, answer, with_chat=True)
    assert "by hand" == repository.files()["a"]
    done = files.restore(session, answer, with_chat=False, agree=lambda plan: plan.preview.unsaved == ("a",))
    assert "one\n" == repository.files()["a"]
    assert repository.entry("second answer") == live.engine.sessions.branches.tree(session).leaf
    assert "by hand" == git(repository.folder, "show", f"{done.before}:a")
    files.restore(session, "", with_chat=True)  # before all
    assert "at first" == repository.files()["a"]


def test_nothing_is_restored_below_an_agent_that_works(live, repository):
    session = repository.begin()
    repository.turn("echo one >a", "first answer")
    answer = repository.entry("first answer")
    repository.write("a", "two")
    other = live.begin(json.dumps([["say", "ready"], ["listen"]]), runtime=repository.runtime, folder=repository.folder)
    live.until_said(other, "ready")

    with pytest.raises(TurnInFlight, match=f"session {other} works in .* as well"):
        live.engine.turn_files.restore(session, answer, with_chat=True, agree=lambda _: True)
    live.live.order(other, orders.Cancel(), starts=False)
    live.until_closed(other)
    live.live.send(session, json.dumps([["say", "ready"], ["listen"]]))
    live.until_said(session, "ready")
    with pytest.raises(RunnerError, match="a turn runs"):
        live.engine.turn_files.restore(session, answer, with_chat=True, agree=lambda _: True)
    assert "two" == repository.files()["a"]


def test_a_restore_that_is_killed_is_told_of_and_goes_on_or_back(live, repository):
    session = repository.begin()
    repository.turn("for name in b c d e; do echo one >$name; done", "first answer")
    repository.turn("for name in b c d e; do echo two >$name; done", "second answer")
    second = repository.files()
    program = live.root / "bin" / "git"  # which has its caller killed where files are about to be written
    program.parent.mkdir()
    words = f'case " $* " in *" checkout-index "*) kill -9 $PPID; exit 1;; esac; exec {shutil.which("git")} "$@"'
    program.write_text(f"#!/bin/sh\n{words}\n")
    program.chmod(0o755)
    command = ["session", "branch", session, repository.entry("first answer"), "--restore", "both"]
    killed = subprocess.run(
        [sys.executable, "-m", "oulipoly_tui", *command],
        env=os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True,
        check=False,
    )

    assert -9 == killed.returncode, killed.stderr
    assert second == repository.files()
    (sentence,) = live.open_engine().recovery.settle_at_start()
    assert f"going back in session {session} was cut off: the same order finishes it, `agents " in sentence
    assert () == live.open_engine().recovery.settle_at_start()
    assert main(command) == 0
    assert "one\n" == repository.files()["e"]
    assert repository.entry("first answer") == live.engine.sessions.branches.tree(session).leaf
    assert main(sentence.split("`")[1].split()[1:]) == 0
    assert second == repository.files()


def test_switched_off_nothing_is_kept_and_only_the_chat_goes_back(live, repository):
    config = live.demo.config / "config.toml"
    config.write_text(f"keep_turn_files = false\n{config.read_text()}")
    session = repository.begin(json.dumps([["say", "first answer"]]))
    live.until_said(session, "first answer")
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)

    assert "" == git(repository.folder, "for-each-ref", "refs/agent-runner")
    with pytest.raises(FileMissing, match="only the chat can go back"):
        live.engine.turn_files.preview(session, repository.entry("first answer"))


def test_a_session_in_a_worktree_keeps_the_files_of_a_turn_that_ends_its_process(live, repository):
    prompt = json.dumps([["start", str(live.root / "said"), "sh", "-c", "echo one >a"], ["say", "first answer"]])
    wish = NewWork(repository.folder, runtime=repository.runtime, prompt=prompt, lifecycle="oneshot")
    begun = live.engine.work.begin(wish)
    repository.session = begun.session.session_id
    live.until_closed(repository.session)

    (row,) = repository.snapshots("after")
    assert "one\n" == git(repository.folder, "show", f"{row['reference']}:a")
    assert "at first" == repository.files()["a"]


def test_a_phone_is_shown_what_would_change_restores_it_and_undoes_that(live, repository):
    session = repository.begin()
    repository.turn("echo one >a", "first answer")
    repository.turn("echo two >a; echo >'<b>'", "second answer")
    repository.write("a", "by hand")
    app = make_app(live.engine, Serving(port=80))
    page = {"headers": {"accept": "text/html"}, "follow_redirects": False}
    phone = TestClient(app, "http://127.0.0.1", **page)
    code = live.engine.web.make_code("a phone", ("view", "answer", "operate")).code
    phone.post("/pair", data={"code": code, "name": "a phone"})
    place = f"/sessions/{session}/tree"
    assert "Restore files …" in phone.get(place).text
    answer = repository.entry("first answer")

    def press(text, act):
        hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', text))
        assert f'value="{act}"' in text
        return phone.post(place, data=hidden | {"act": act})

    shown = phone.post(place, data={"entry_id": answer, "act": "files"}).text
    assert "changes a (in no snapshot)" in shown
    assert "goes    &lt;b&gt;" in shown
    assert 409 == press(shown, "restore both").status_code
    done = press(
        shown.replace('type="checkbox" name="overwrite"', 'type="hidden" name="overwrite" value="on"'), "restore both"
    )
    assert 200 == done.status_code, done.text
    assert "one\n" == repository.files()["a"]
    assert answer == live.engine.sessions.branches.tree(session).leaf
    assert 200 == press(done.text, "restore both").status_code
    assert {"a": "by hand", "<b>": "\n"}.items() <= repository.files().items()
    assert repository.entry("second answer") == live.engine.sessions.branches.tree(session).leaf
    assert 400 == phone.post(place, data={"entry_id": answer, "act": "restore none"}).status_code


def test_plain_lines_say_what_would_change_and_restore_it(live, repository, capfd):
    session = repository.begin()
    repository.turn("echo one >a", "first answer")
    repository.turn("echo two >a", "second answer")
    answers = iter(("2", "Restore files alone", "y"))
    talk = Talk(live.engine, lambda _: next(answers), False, lambda: None)
    _open_tree(talk, live.engine.sessions.catalogue.find(session))

    said = capfd.readouterr().out
    assert "changes a\n" in said
    assert "\nThe files are as they were. This leads back: agents session branch " in said
    assert "one\n" == repository.files()["a"]


def test_a_device_sees_what_would_change_and_restores_it(live, repository):
    session = repository.begin()
    repository.turn("echo one >a", "first answer")
    repository.write("a", "by hand")
    token = live.engine.web.redeem(live.engine.web.make_code("a test", ("view", "operate")).code, "", "here").token
    app = make_app(live.engine, Serving(port=8787))
    client = TestClient(app, "http://localhost:8787", headers={"authorization": f"Bearer {token}"})
    place = f"/sessions/{session}/branch"
    order = {"entry_id": repository.entry("first answer"), "restore": "both"}

    seen = client.get(place, params={"entry_id": order["entry_id"]}).json()
    assert (["a"], ["a"], ["run.log"]) == (seen["changing"], seen["unsaved"], seen["left_out"]["ignored"])
    refused = client.post(place, json=order)
    assert (409, "declined") == (refused.status_code, refused.json()["error"]["code"])
    done = client.post(place, json=order | {"overwrite": True}).json()
    assert ("one\n", order["entry_id"]) == (repository.files()["a"], done["leaf"])
    back = {"entry_id": done["former_leaf"], "restore": "files", "files_from": done["before"]}
    assert 200 == client.post(place, json=back).status_code
    assert "by hand" == repository.files()["a"]
    assert 404 == client.get(place, params={"files_from": "nonsense"}).status_code

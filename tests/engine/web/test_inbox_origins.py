"""What a repository and a device ask, in the one inbox: asked once, answered in either way, and what it allows."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.worktrees.worktree_refusals import SetupNotAllowed
from oulipoly_engine.errors import RequestRefused

FILE = "[worktree]\nsetup = 'touch made'\nteardown = 'true'\ncopy = ['.env']\n"


@pytest.fixture
def repository(tmp_path):
    """A git repository with a commit and commands that nobody has allowed."""
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / ".agent-runner.toml").write_text(FILE)
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def refused(engine, repository, session_id="aaaa1111"):
    """Try to make a worktree; return the request that asks for its commands."""
    with pytest.raises(SetupNotAllowed) as error:
        engine.worktrees.create(session_id, repository)
    return engine.live.find_request(error.value.extra["request_id"])


def forget_confirmations(engine):
    """Have no device be confirmed, as a quarter of an hour after it was paired."""
    with engine.web._home.lend_store() as store, store.write():
        store.execute("UPDATE web_devices SET confirmed_until = NULL")


def test_a_repository_asks_once_and_its_commands_run_when_it_is_approved(engine, repository, capfd):
    request = refused(engine, repository)
    assert request == refused(engine, repository, "aaaa2222")
    assert 0 == main(["requests", "show", request.request_id, "--json"])
    shown = json.loads(capfd.readouterr().out)
    (before,) = engine.live.requests()
    assert 0 == main(["requests", "approve", request.request_id, "--digest", shown["digest"]])
    worktree = engine.worktrees.create("aaaa1111", repository)
    (grant,) = engine.grants.list()

    assert ("worktree", request) == (shown["origin"], before)
    assert "# in each new worktree\ntouch made\n# before each removal\ntrue" == shown["prompt"]["command"]
    assert "copied from your checkout: .env" in shown["prompt"]["reason"]
    assert ("commands", request.native_id) == (grant.kind, grant.digest)
    assert ("ready", True) == (worktree.state, (Path(worktree.path) / "made").exists())


def test_what_is_allowed_in_the_old_way_answers_the_request(engine, repository):
    request = refused(engine, repository)
    assert 0 == main(["worktree", "allow", "--repo", str(repository), "--yes"])

    kept = engine.live.find_request(request.request_id)
    assert ("answered", "approve") == (kept.status, kept.decision)
    assert () == engine.live.requests()


def test_no_agent_allows_the_commands_of_a_repository(engine, repository, monkeypatch, capfd):
    monkeypatch.setenv("OULIPOLY_PARENT_INVOCATION", '{"source":"claude1","id":"3b241101-e2bb-4255-8caf-4136c566a962"}')

    assert 1 == main(["worktree", "allow", "--repo", str(repository), "--yes"])
    assert "an agent may not allow the commands of a repository" in capfd.readouterr().err
    assert () == engine.grants.list()


def test_other_commands_are_asked_for_anew(engine, repository):
    request = refused(engine, repository)
    (repository / ".agent-runner.toml").write_text(FILE.replace("made", "other"))
    subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@x", "commit", "-qam", "x"], cwd=repository, check=True
    )
    other = refused(engine, repository)

    assert (other,) == engine.live.requests()
    with pytest.raises(RequestRefused, match="cancelled already"):
        engine.live.answer(request.request_id, "approve")
    assert () == engine.grants.list()


def test_a_denied_repository_runs_nothing_and_asks_again(engine, repository):
    request = refused(engine, repository)
    engine.live.answer(request.request_id, "deny")

    assert request.request_id != refused(engine, repository).request_id
    assert () == engine.grants.list()


def test_a_device_asks_at_the_computer_to_be_confirmed(engine, browse):
    client = browse("view", "answer", "operate")
    forget_confirmations(engine)
    asked = client.post("/confirm", json={}).json()
    (request,) = engine.live.requests()
    again = client.post("/confirm", json={}).json()
    itself = client.post(f"/requests/{request.request_id}", json={"decision": "approve"})
    before = client.get("/me").json()["confirmed"]
    assert 0 == main(["requests", "approve", request.request_id])

    assert ({"confirmed": False, "request_id": request.request_id},) * 2 == (asked, again)
    assert "device" == request.origin
    assert (403, "not-allowed") == (itself.status_code, itself.json()["error"]["code"])
    assert (False, True) == (before, client.get("/me").json()["confirmed"])


def test_a_device_that_is_confirmed_in_the_old_way_asks_no_more(engine, browse):
    client = browse("view", "answer", accept="text/html", origin="http://localhost:8787")
    page = client.post("/confirm", data={"back": "/requests"}).text
    (request,) = engine.live.requests()
    engine.web.confirm(request.asker)

    assert "approve it on the computer" in page
    assert re.search(r'href="/requests">back', page)
    assert () == engine.live.requests()


def test_a_page_sends_a_device_to_its_confirmation_first(engine, browse, repository):
    refused(engine, repository)
    client = browse("view", "answer", "operate", accept="text/html", origin="http://localhost:8787")
    forget_confirmations(engine)
    page = client.get("/requests").text

    assert "touch made" in page
    assert 'value="approve"' not in page
    assert "/confirm?back=" in page


KILLED = """
import os, signal, sys
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.store.grants import grants

grants.allow = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Engine().live.answer(sys.argv[1], "approve")
"""


def test_an_answer_that_is_killed_before_it_allows_anything_was_not_given(engine, repository):
    request = refused(engine, repository)
    killed = subprocess.run([sys.executable, "-c", KILLED, request.request_id], check=False)

    assert -9 == killed.returncode
    assert ((request,), ()) == (engine.live.requests(), engine.grants.list())
    assert "answered" == engine.live.answer(request.request_id, "approve")

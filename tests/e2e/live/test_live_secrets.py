"""A secret that somebody sends to an agent reaches it, and stays in no file of ours."""

import json
import re

import pytest
from starlette.testclient import TestClient

from oulipoly_engine.cli.main import main
from oulipoly_engine.web.access.gate import Serving
from oulipoly_engine.web.app import make_app

# Made of pieces, so that a scanner for leaked keys finds none here.
CANARIES = (
    "sk-" + "ant-api03-7QxCanaryOfAnApiKey42",
    "7QxCanaryOfABearer42",
    "7QxCanaryOfAUrl42",
    "MIIE7QxCanaryOfAPrivateKey42",
)


def write_message(way):
    """Return a message with a canary of each kind, which no other way has, and the canaries."""
    api_key, bearer, password, key = (f"{canary}{way}" for canary in CANARIES)
    text = (
        f"use {api_key} here\nAuthorization: Bearer {bearer}\nclone https://ann:{password}@host.example/x.git\n"
        f"-----BEGIN {'PRIVATE'} KEY-----\n{key}\n-----END {'PRIVATE'} KEY-----"
    )
    return text, (api_key, bearer, password, key)


@pytest.fixture
def run(capfd):
    """Run our command in this process and return the JSON that it prints."""

    def run(*words):
        assert 0 == main([*words, "--json"]), capfd.readouterr().err
        return json.loads(capfd.readouterr().out)

    return run


@pytest.fixture
def client(live):
    """A client of the server's app, with a device that may do all."""
    code = live.engine.web.make_code("a test", ("view", "answer", "operate")).code
    token = live.engine.web.redeem(code, "", "here").token
    app = make_app(live.engine, Serving(port=8787))
    return TestClient(app, "http://localhost:8787", headers={"authorization": f"Bearer {token}"})


def test_secrets_of_messages_reach_the_agent_and_no_file(live, run, client):
    runtime = live.scripted()
    texts, canaries = zip(*map(write_message, ("New", "Send", "RestNew", "RestSend", "App", "AppSend")), strict=True)

    begun = run("session", "new", "--runtime", runtime, "--cwd", str(live.root), "--prompt", texts[0], "--wait")
    run("session", "send", begun["session_id"], texts[1], "--wait")
    place = {"repo_path": str(live.root), "use_worktree": False, "agent_id": runtime}
    created = client.post("/sessions", json=place | {"initial_message": texts[2]})
    assert 200 == created.status_code, created.text
    live.live.wait(created.json()["id"], created.json()["turn_id"])
    sent = client.post(f"/sessions/{created.json()['id']}/messages", json={"content": texts[3]})
    assert 200 == sent.status_code, sent.text
    live.live.wait(created.json()["id"], sent.json()["turn_id"])
    session, turn = live.begin_turn(texts[4], runtime=runtime)
    live.live.wait(session, turn)
    live.live.send(session, texts[5], waits=True)

    assert list(texts) == live.texts()
    files = [path for path in live.engine.paths.data.rglob("*") if path.is_file()]
    names = {path.name for path in files}
    assert {"state.db", "state.db-wal"} <= names, names
    assert any(live.engine.paths.session_logs in path.parents for path in files), names
    secret = re.compile("|".join(re.escape(canary) for of_way in canaries for canary in of_way).encode())
    assert {} == {path: seen for path in files if (seen := secret.findall(path.read_bytes()))}

"""A secret that somebody sends to an agent reaches it, and stays in no file of ours."""

import json
import re
import subprocess
from contextlib import suppress

import pytest
from starlette.testclient import TestClient

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.checks.alerts import Alert, of_request, to_line
from oulipoly_engine.core.web import notices
from oulipoly_engine.facade.live.sessions import NewSession
from oulipoly_engine.web.access.gate import Serving
from oulipoly_engine.web.app import make_app

# Made of pieces, so that a scanner for leaked keys finds none here.
CANARIES = (
    "sk-" + "ant-api03-7QxCanaryOfAnApiKey42",
    "7QxCanaryOfABearer42",
    "7QxCanaryOfAUrl42",
    "MIIE7QxCanaryOfAPrivateKey42",
)

WEBHOOKS = ("https://ntfy.sh/topic", "https://hooks.slack.com/services/a/b", "https://host.example/hook")


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
    names = find_files(live)
    assert {"state.db", "state.db-wal"} <= {path.name for path in names}, names
    assert any(live.engine.paths.session_logs in path.parents for path in names), names
    assert {} == find_in_files(live, canaries)


def find_files(live):
    return [path for path in live.engine.paths.data.rglob("*") if path.is_file()]


def find_in_files(live, canaries):
    """Return the canaries that stand in each file of the data folder."""
    secret = re.compile("|".join(re.escape(canary) for of_way in canaries for canary in of_way).encode())
    return {path: seen for path in find_files(live) if (seen := secret.findall(read(path)))}


def read(path):
    """Return what is in a file; one that has gone since was a turn's snapshot under way."""
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


def find_in_answers(client, canaries, *paths):
    """Return the canaries that stand in each answer, as JSON and as a page."""
    secret = re.compile("|".join(re.escape(canary) for of_way in canaries for canary in of_way))
    answers = {
        f"{path} {kind}": client.get(path, headers={"accept": kind})
        for path in paths
        for kind in ("application/json", "text/html")
    }
    assert {200} == {answer.status_code for answer in answers.values()}, answers
    return {name: seen for name, answer in answers.items() if (seen := secret.findall(answer.text))}


def test_secrets_of_names_reasons_comments_and_commands_stay_in_no_file_notice_or_answer(live, run, client):
    ways = (
        "Name",
        "Note",
        "Title",
        "RestTitle",
        "Reason",
        "RestReason",
        "Comment",
        "RestComment",
        "Device",
        "Command",
        "Answer",
    )
    texts, canaries = zip(*map(write_message, ways), strict=True)
    long = dict(zip(ways, texts, strict=True))
    short = {way: text.partition("\n")[0] for way, text in long.items()}  # names are one line
    folder = live.root / "repo"
    folder.mkdir()
    subprocess.run(["git", "-C", folder, "init", "-q"], check=True)
    (folder / "notes.md").write_text("hello\n")
    begun = live.live.begin(NewSession(folder, runtime=live.scripted(), prompt="[]", title=short["Title"]))
    session = begun.session.session_id
    live.live.wait(session, begun.turn_id)

    turn = live.live.send(session, json.dumps([["approve_command", long["Command"]]])).turn_id
    request = live.request(session)
    line = of_request(request, short["Title"]).text
    calls = [notices.tell_request(url, request, line, "https://here.example/requests/1", "t") for url in WEBHOOKS]
    alert = Alert("run", long["Command"], long["Reason"], long["Note"], short["Title"])
    calls += [notices.tell(url, alert, to_line(alert.text), "https://here.example/") for url in WEBHOOKS]
    run("requests", "deny", request.request_id, "--reason", long["Reason"])
    live.live.wait(session, turn)
    turn = live.live.send(session, json.dumps([["approve"]])).turn_id
    denied = {"decision": "deny", "reason": long["RestReason"]}
    assert 200 == client.post(f"/requests/{live.request(session).request_id}", json=denied).status_code
    live.live.wait(session, turn)
    turn = live.live.send(session, json.dumps([["question", "which"]])).turn_id
    live.live.answer(live.request(session).request_id, "answer", answers={"which": (long["Answer"],)})
    live.live.wait(session, turn)
    sent = run("changes", session, "--comment", "notes.md:1", long["Comment"])
    live.live.wait(session, sent["turn_id"])
    comments = {"comments": [{"path": "notes.md", "line": 1, "text": long["RestComment"]}]}
    sent = client.post(f"/sessions/{session}/comments", json=comments, headers={"idempotency-key": "once"})
    live.live.wait(session, sent.json()["turn_id"])
    place = {"repo_path": str(folder), "use_worktree": False, "agent_id": "scripted", "title": short["RestTitle"]}
    assert 200 == client.post("/sessions", json=place).status_code
    assert 0 == main(["session", "name", session, short["Name"]])
    assert 0 == main(["session", "note", session, long["Note"]])
    live.engine.web.redeem(live.engine.web.make_code(short["Device"], ("view",)).code, short["Device"], "here")

    assert [long["Comment"] in text for text in live.texts()[-2:]] == [True, False]
    assert long["RestComment"] in live.texts()[-1]
    assert [] == [call.body for call in calls if b"7QxCanary" in call.body]
    assert {} == find_in_files(live, canaries)
    paths = [
        "/sessions",
        "/requests",
        "/devices",
        *(f"/sessions/{session}{part}" for part in ("", "/messages", "/log")),
    ]
    assert {} == find_in_answers(client, canaries, *paths, f"/requests/{request.request_id}")

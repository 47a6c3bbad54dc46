"""The OpenAPI document is true: schemathesis asks whatever it allows, and reads every answer against it."""

import json
import os
import re
import subprocess
from copy import deepcopy
from functools import partial
from pathlib import Path

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from oulipoly_engine.web.app import make_app

EXAMPLES = 60 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 2  # of each operation; there are 50
ENDLESS = ("/events",)
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


class World:
    """A demo world with a session of each kind, and its document: what a model does not name is an error in it."""

    def __init__(self, live):
        self.live, self.engine = live, live.engine
        config = live.demo.config / "config.toml"
        config.write_text(f"serve_commit = true\nserve_promote = true\n{config.read_text()}")
        self.app = make_app(live.engine)
        self.headers = {"host": "localhost", "authorization": f"Bearer {self.pair('a judge')[1]}"}
        self.other, _ = self.pair("another device")
        document = deepcopy(self.app.openapi())
        for schema in document["components"]["schemas"].values():
            if "properties" in schema:
                schema.setdefault("additionalProperties", False)
        self.document = schemathesis.openapi.from_dict(document)
        self.document.app, self.document.location = self.app, "/openapi.json"

    def pair(self, name):
        """Return the id and the token of a new device that may do everything."""
        code = self.engine.web.make_code(name, ("view", "answer", "operate")).code
        paired = self.engine.web.redeem(code, "", "here")
        return paired.device.device_id, paired.token

    def judge(self, case):
        """Ask, and read the answer against the document."""
        case.headers = {**(case.headers or {}), **self.headers}
        response = case.call()
        case.validate_response(response, checks=CHECKS)
        assert 500 != response.status_code, response.text
        return response

    def ask(self, method, path, query=None, body=None, **words):
        """Ask for something that there is; returns the answer's JSON."""
        more = {} if body is None else {"body": body, "media_type": "application/json"}
        case = self.document[path][method].Case(path_parameters=words, query=query or {}, **more)
        response = self.judge(case)
        assert 200 == response.status_code, (method, path, response.text)
        return response.json() if "application/json" in response.headers["content-type"] else response.text


@pytest.fixture
def world(live):
    """A demo world and its document."""
    return World(live)


def is_over(event):
    """Tell whether an event is the end of a turn."""
    return type(event).__name__ == "TurnEnded"


def test_every_operation_says_what_it_answers(app):
    document = app.openapi()
    operations = [(path, operation) for path, kinds in document["paths"].items() for operation in kinds.values()]
    shapes = [
        kind["schema"] for _, operation in operations for kind in operation["responses"]["200"]["content"].values()
    ]
    named = set(re.findall(r'"\$ref": "([^"]*)"', json.dumps(document)))

    assert len(operations) >= 50
    assert named == {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert all(shape.keys() & {"$ref", "type", "anyOf"} for shape in shapes)
    assert all({"400", "421"} <= operation["responses"].keys() for _, operation in operations)
    assert all("default" not in operation["responses"] for _, operation in operations)
    assert {"/health", "/pair", "/authority.pem"} == {
        path for path, kind in operations if "401" not in kind["responses"]
    }


@pytest.fixture
def repository(world):
    """A git repository with a remote one and set-up commands."""
    folder, remote = world.live.root / "repo", world.live.root / "remote.git"
    folder.mkdir()
    (folder / "README.md").write_text("hi\n")
    (folder / ".agent-runner.toml").write_text("[worktree]\nsetup = ['true']\n")
    for words in (
        ["init", "-q", "--bare", str(remote)],
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "A"],
        ["config", "user.email", "a@example.invalid"],
        ["remote", "add", "origin", str(remote)],
        ["add", "."],
        ["commit", "-q", "-m", "Begin"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.fixture
def session(world, repository):
    """The path's word of a session whose first turn is over."""
    place = {"repo_path": str(repository)}
    state = world.ask("GET", "/setup", place)
    world.ask("POST", "/setup", body=place | {"digest": state["digest"]})
    begun = world.ask("POST", "/sessions", body=place | {"agent_id": "demo-codex1", "initial_message": "hello"})
    world.live.until(begun["id"], is_over, within_s=60)
    return {"session_id": begun["id"]}


def test_answers_about_the_computer_and_a_session_have_the_shapes_that_the_document_says(world, session):
    ask = world.ask
    detail = ask("GET", "/sessions/{session_id}", **session)
    ask("PATCH", "/sessions/{session_id}", body={"block_while_running": False}, **session)
    for path in (
        "/sessions",
        "/agents",
        "/pools",
        "/quota",
        "/browse",
        "/health",
        "/me",
        "/me/push",
        "/config",
        "/devices",
    ):
        assert ask("GET", path)
    ask("GET", "/browse", {"path": str(world.live.root)})
    ask("GET", "/why/{model}", model=ask("GET", "/pools")[0]["id"])

    Path(detail["artifact_dir"], "report.txt").write_text("done")
    for path in ("messages", "trace", "events", "artifacts", "log"):
        assert ask("GET", f"/sessions/{{session_id}}/{path}", **session)
    assert "done" == ask("GET", "/sessions/{session_id}/artifacts/file", {"path": "report.txt"}, **session)
    code = world.engine.web.make_code().code
    ask("POST", "/confirm", body={"code": code})
    ask("DELETE", "/me/push")
    ask("DELETE", "/devices/{device_id}", device_id=world.other)


def test_answers_about_turns_requests_and_the_queue_have_the_shapes_that_the_document_says(world, session):
    ask, live = world.ask, world.live
    ask("POST", "/sessions/{session_id}/messages", body={"content": "[[approve:ls]]"}, **session)
    request = {"request_id": live.request(session["session_id"]).request_id}
    for text in ("one", "two"):
        ask("POST", "/sessions/{session_id}/queue", body={"content": text}, **session)
    message = {"message_id": ask("GET", "/sessions/{session_id}/queue", **session)[1]["message_id"]}
    ask("PATCH", "/sessions/{session_id}/queue/{message_id}", body={"text": "2", "place": 1}, **message, **session)
    ask("DELETE", "/sessions/{session_id}/queue/{message_id}", **message, **session)
    ask("POST", "/sessions/{session_id}/steer", body={"content": "and more"}, **session)
    assert ask("GET", "/requests")
    ask("GET", "/requests/{request_id}", **request)
    ask("POST", "/requests/{request_id}", body={"decision": "deny"}, **request)
    assert ask("GET", "/requests", {"all": True})
    ask("POST", "/sessions/{session_id}/cancel", **session)
    ask("GET", "/sessions/{session_id}/events", **session)


def test_answers_about_changes_have_the_shapes_that_the_document_says(world, session):
    ask = world.ask
    folder = Path(ask("GET", "/sessions/{session_id}", **session)["worktree_path"])
    (folder / "README.md").write_text("hello\n")
    (folder / "picture").write_bytes(bytes(9))
    order = partial(ask, "POST", "/sessions/{session_id}/git", **session)
    changes = ask("GET", "/sessions/{session_id}/changes", **session)
    hunks = ask("GET", "/sessions/{session_id}/diff", {"path": "README.md"}, **session)["hunks"]
    ask("GET", "/sessions/{session_id}/diff", {"path": "picture"}, **session)
    etag = ask("GET", "/sessions/{session_id}/file", {"path": "README.md"}, **session)["etag"]
    written = {"path": "README.md", "content": "hello you\n", "expected_etag": etag}
    ask("PUT", "/sessions/{session_id}/file", body=written, **session)
    order(body={"op": "stage", "paths": ["README.md"]})
    order(body={"op": "discardWorktree", "paths": ["picture"]})
    order(body={"op": "undoDiscard"})
    order(body={"op": "commit", "message": "Greet"})
    order(body={"op": "previewMerge"})
    ask("GET", "/sessions/{session_id}/promote/preflight", **session)
    ask("POST", "/sessions/{session_id}/promote", body={"message": "All"}, **session)
    order(body={"op": "merge"})
    order(body={"op": "undoMove"})
    remark = {"path": "README.md", "line": 1, "text": "why?"}
    ask("POST", "/sessions/{session_id}/comments", body={"comments": [remark]}, **session)

    assert (2, 1) == (len(changes["unstaged"]), len(hunks))
    assert ask("GET", "/sessions/{session_id}/changes", **session)["committed"]


@pytest.mark.parametrize("is_known", [False, True], ids=["any session", "a session that there is"])
def test_every_answer_to_any_request_is_as_the_document_says(world, request, is_known):
    known = request.getfixturevalue("session") if is_known else {}
    # Another device than its own, without which it could ask nothing more.
    known = known | {"device_id": world.other}
    asked = set()
    operations = [result.ok() for result in world.document.get_all_operations()]
    for operation in sorted(operations, key=lambda each: (each.path, each.method)):
        if operation.path in ENDLESS:
            continue

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            phases=[hypothesis.Phase.generate],
        )
        @hypothesis.given(case=operation.as_strategy())
        def judge(case):
            case.path_parameters |= {name: word for name, word in known.items() if name in case.path_parameters}
            world.judge(case)

        judge()
        asked.add((operation.method, operation.path))

    assert 50 == len(asked)

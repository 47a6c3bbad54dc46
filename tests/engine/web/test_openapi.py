"""The OpenAPI document is true: schemathesis asks whatever it allows, and reads every answer against it."""

import json
import os
import random
import re
import subprocess
import time
from collections import Counter
from copy import deepcopy
from functools import partial
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ensure_resource_availability,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    use_after_free,
)

from oulipoly_engine.web.app import make_app

EXAMPLES = 60 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 2  # of each operation; there are 50
ENDLESS = ("/events",)
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance, response_headers_conformance]
OF_STATES = [use_after_free, ensure_resource_availability]
WALKS = 40 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 2
STEPS = 60  # of a walk
AGENTS = ("codex", "claude")


@pytest.fixture(scope="module")
def document(openapi):
    """The document as schemathesis reads it; what a model does not name is an error in it.

    It is the same for every engine, and what it keeps of the schemas takes longer to make than all that is asked.
    """
    schema = deepcopy(openapi)
    for model in schema["components"]["schemas"].values():
        if "properties" in model:
            model.setdefault("additionalProperties", False)
    return schemathesis.openapi.from_dict(schema)


class World:
    """A demo world with a session of each kind, and the document of its app."""

    def __init__(self, live, document):
        self.live, self.engine = live, live.engine
        config = live.demo.config / "config.toml"
        config.write_text(f"serve_commit = true\nserve_promote = true\n{config.read_text()}")
        self.app = make_app(live.engine)
        self.headers = self.new_headers()
        self.other, _ = self.pair("another device")
        self.document = document

    def new_headers(self):
        """Return the headers of a new device."""
        return {"host": "localhost", "authorization": f"Bearer {self.pair('a judge')[1]}"}

    def pair(self, name):
        """Return the id and the token of a new device that may do everything."""
        code = self.engine.web.make_code(name, ("view", "answer", "operate")).code
        paired = self.engine.web.redeem(code, "", "here")
        return paired.device.device_id, paired.token

    def judge(self, case):
        """Ask, and read the answer against the document."""
        case.headers = {**(case.headers or {}), **self.headers}
        response = case.call(app=self.app)
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
def world(live, document):
    """A demo world and its document."""
    return World(live, document)


def is_over(event):
    """Tell whether an event is the end of a turn."""
    return type(event).__name__ == "TurnEnded"


def test_every_operation_says_what_it_answers(document):
    document = document.raw_schema
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


def test_each_id_that_an_operation_takes_is_told_by_the_answer_of_another(document):
    operations = [(path, one) for path, kinds in document.raw_schema["paths"].items() for one in kinds.values()]
    links = [link for _, one in operations for link in one["responses"]["200"].get("links", {}).values()]
    targets = {one["operationId"]: set(re.findall(r"{(\w+)}", path)) for path, one in operations}

    assert {name for name, ids in targets.items() if ids} <= {link["operationId"] for link in links}
    assert all(targets[link["operationId"]] <= link["parameters"].keys() for link in links)


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


def test_the_answer_of_each_operation_has_the_shape_that_the_document_says(world, session):
    ask_about_the_computer_and_a_session(world, session)
    ask_about_changes(world, session)
    ask_about_turns_requests_and_the_queue(world, session)


def ask_about_the_computer_and_a_session(world, session):
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


def ask_about_changes(world, session):
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


def ask_about_turns_requests_and_the_queue(world, session):
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


def test_every_answer_to_any_request_is_as_the_document_says(world, session):
    # Another device than its own, without which it could ask nothing more.
    known = session | {"device_id": world.other}
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
            world.judge(case)  # about any session
            words = {name: word for name, word in known.items() if name in case.path_parameters}
            if words:
                case.path_parameters |= words
                world.judge(case)  # about the session that there is

        judge()
        asked.add((operation.method, operation.path))

    assert 65 == len(asked)


class Walker:
    """What walks through one world have in common: real words for what bodies ask for, and what was answered."""

    def __init__(self, world, base_url, folder):
        self.world, self.base_url, self.folder = world, base_url, str(folder)
        self.digest = world.engine.worktrees.setup_of(folder, "").setup.digest
        self.random = random.Random(1)
        self.answers = Counter()
        self.steps, self.failures, self.begun = [], [], set()

    def is_first_of(self, kind):
        """Tell whether no walk of this kind has begun."""
        is_first = kind not in self.begun
        self.begun.add(kind)
        return is_first

    def prepare(self, case):
        """Give a request, most of the time, a body of a client that has read what it asks about."""
        case.headers = {**(case.headers or {}), **self.world.headers}
        bodies = self.bodies(case.operation.label)
        if bodies and self.random.random() < 0.8:
            case.body = self.random.choice(bodies)

    def bodies(self, label):
        """Return bodies for an operation that fit what there is now."""
        engine, place = self.world.engine, {"repo_path": self.folder}
        if label in ("POST /pair", "POST /confirm"):
            return [{"code": engine.web.make_code("more").code}]
        texts = [{"content": text} for text in ("hello", "[[approve:ls]]")]
        begun = [{"initial_message": text} for text in ("hello", "[[approve:ls]]")]
        calls = [request.native_id for request in engine.live.requests()][-1:] or ["gone"]
        of_session = {
            "": [{"block_while_running": False}],
            "/fork": [{}, {"runtime_id": "demo-claude1"}, {"at_turn": "gone"}],
            "/branch": [{"entry_id": "live"}],
            "/label": [{"entry_id": "live", "label": "good"}],
            "/messages": texts,
            "/steer": texts,
            "/queue": texts,
            "/queue/{message_id}": [{"text": "another"}, {"place": 1}],
            "/approvals": [{"call_id": calls[0], "decision": word} for word in ("approve", "deny")],
            "/file": [{"path": name, "content": self.random.choice("ab")} for name in ("README.md", "new.txt")],
            "/git": [
                *({"op": op, "paths": ["README.md", "new.txt"]} for op in ("stage", "unstage", "discardWorktree")),
                *({"op": op} for op in ("undoDiscard", "previewMerge", "apply", "undoMove", "rebase")),
                *({"op": op, "message": "More"} for op in ("commit", "merge")),
            ],
            "/promote": [{"message": "All"}],
            "/comments": [{"comments": [{"path": "README.md", "line": 1, "text": "why?"}]}],
            "/conflict": [{}],
        }
        others = {
            "POST /sessions": [place | words | {"agent_id": f"demo-{cli}1"} for words in begun for cli in AGENTS],
            "POST /setup": [place | {"digest": self.digest}],
            "POST /requests/{request_id}": [{"decision": word} for word in ("approve", "deny")],
        }
        _, _, path = label.partition(" /sessions/{session_id}")
        return others.get(label) or of_session.get(path)

    def look_again(self, case, response):
        """Compare what an order has told with what there is afterwards."""
        label, ids = case.operation.label, case.path_parameters
        self.answers[label, response.status_code] += 1
        if 401 == response.status_code:  # the device has revoked itself
            self.world.headers |= self.world.new_headers()
        if 200 != response.status_code:
            return
        answer = response.json() if "json" in response.headers["content-type"][0] else None
        match label:
            case "POST /sessions" | "POST /sessions/{session_id}/fork":
                assert answer["id"] in [each["id"] for each in self.read("/sessions")]
            case "POST /sessions/{session_id}/cancel":
                self.wait_until(lambda: self.read(f"/sessions/{answer['id']}")["pid"] is None)
                assert self.read(f"/sessions/{answer['id']}")["status"] in ("canceled", "completed", "failed")
            case "PATCH /sessions/{session_id}":
                assert case.body["block_while_running"] == answer["block_while_running"]
            case "DELETE /sessions/{session_id}/queue/{message_id}":
                assert ids["message_id"] not in [each["message_id"] for each in answer]
            case "PUT /sessions/{session_id}/file":
                place = f"/sessions/{ids['session_id']}/file?path={quote(case.body['path'])}"
                assert case.body["content"] == self.read(place)["content"]
            case "POST /requests/{request_id}":
                assert answer["status"] == self.read(f"/requests/{answer['id']}")["status"]
            case "DELETE /devices/{device_id}":
                assert answer["device_id"] not in [each.device_id for each in self.world.engine.web.devices()]

    def read(self, path):
        """Ask for what there is."""
        with urlopen(Request(self.base_url + path, headers=self.world.headers)) as answer:
            return json.load(answer)

    def settle(self):
        """Wait until nothing moves by itself: what is asked next is answered the same each time."""
        works = self.world.engine.work
        self.wait_until(lambda: all(one.pending_approval or not one.busy for one in works.list(100, all_live=True)))

    @staticmethod
    def wait_until(is_so):
        """Wait until something is so."""
        deadline = time.monotonic() + 60
        while not is_so():
            assert time.monotonic() < deadline
            time.sleep(0.01)


def make_machine(document):
    """Return the class of walks along the links of a document, and no others that could be guessed."""
    document.config.phases.stateful.inference.algorithms = []
    return document.as_state_machine()


OF_WALKS = settings(
    max_examples=1,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[hypothesis.Phase.generate],
)


def test_walks_along_the_links_find_what_the_document_says(world, session, repository, served):
    walker = Walker(world, served.url, repository)

    class Walk(make_machine(world.document)):
        def before_call(self, case):
            if walker.is_first_of(type(self)):
                hypothesis.reject()  # the simplest walk asks for the same again and again
            walker.prepare(case)

        def get_call_kwargs(self, case):
            return super().get_call_kwargs(case) | {"base_url": served.url}

        def after_call(self, response, case):
            super().after_call(response, case)
            walker.settle()

        def validate_response(self, response, case, additional_checks=None, **kwargs):
            step = f"{case.operation.label} {case.path_parameters} {case.query} {case.body}: {response.status_code}"
            walker.steps.append(step)
            # Raised here, they would have Hypothesis walk again, through a world that is no longer the same.
            try:
                case.validate_response(
                    response, checks=CHECKS + OF_STATES, recorder=self.recorder, transport_kwargs=kwargs
                )
                assert 500 != response.status_code, response.text
                walker.look_again(case, response)
            except (AssertionError, FailureGroup, HTTPError) as error:
                walker.failures.append(f"{error}\n{walker.steps[-20:]}")

    for seed in range(WALKS):
        run_state_machine_as_test(hypothesis.seed(seed)(type("Walk", (Walk,), {})), settings=OF_WALKS)

    assert not walker.failures, "\n\n".join(walker.failures)
    assert 25 <= len({label for label, status in walker.answers if 200 == status})  # of the 40 and more that are linked

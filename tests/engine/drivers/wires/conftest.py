"""Recorded wires through a driver: what the client wrote becomes orders, what the CLI wrote is received."""

import json
from collections import Counter
from pathlib import Path

import pytest

from oulipoly_engine.core.live import events
from oulipoly_engine.drivers.acp import AcpDriver
from oulipoly_engine.drivers.base import Opening, Resolution
from oulipoly_engine.drivers.claude import ClaudeDriver

WIRES = Path(__file__).resolve().parents[3] / "fixtures" / "wires"


def read_processes(name):
    """The processes of a recording, each a list of (direction, message, note)."""
    processes = [[]]
    for line in (WIRES / f"{name}.jsonl").read_text().splitlines():
        record = json.loads(line)
        direction, message = record["dir"], record["msg"]
        is_first = direction.startswith("client->") and first_word(message) == "initialize"
        if processes[-1] and ((is_first and any(one[0] != "note" for one in processes[-1])) or ended(processes[-1])):
            processes.append([])
        processes[-1].append((direction, message))
    return processes


def ended(process):
    return process[-1][0] == "note" and str(process[-1][1]).startswith("exit ")


def first_word(message):
    return message.get("method") or message.get("request", {}).get("subtype") if isinstance(message, dict) else None


class Replay:
    """One driver, and all that it has said."""

    def __init__(self, driver):
        self.driver = driver
        self.events = []
        self.written = []
        self.ids = {}  # the recording's id of a request of the client: the driver's

    def take(self):
        output = self.driver.take()
        self.events += output.events
        fresh = [json.loads(line) for line in output.data.splitlines()]
        self.written += fresh
        return fresh

    def receive(self, message):
        line = message["_raw"].encode() if "_raw" in message else json.dumps(message).encode()
        self.driver.receive(line)
        return self.take()

    def close(self):
        self.driver.closed()
        self.take()

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def items(self, kind=None):
        return [one.item for one in self.of(events.ItemEnded) if kind is None or one.item.kind == kind]

    def assert_sound(self):
        """Items and requests open once and end once, within their turn; turns do not overlap."""
        items, requests, is_running, before = {}, set(), False, Counter()
        for event in self.events:
            match event:
                case events.TurnStarted():
                    assert not is_running
                    is_running = True
                case events.TurnEnded():
                    assert is_running
                    assert not items
                    assert not requests
                    is_running = False
                case events.ItemStarted(item=item):
                    assert item.id not in items
                    assert item.status == "running"
                    items[item.id] = item
                case events.ItemDelta(item_id=item_id, text=text):
                    assert text
                    assert item_id in items
                case events.ItemEnded(item=item):
                    assert items.pop(item.id).kind == item.kind
                    assert item.status != "running"
                case events.RequestOpened(native_id=native_id):
                    assert native_id not in requests
                    requests.add(native_id)
                case events.RequestResolved(native_id=native_id):
                    requests.remove(native_id)
                case _:
                    before[type(event)] += 1
        assert not items
        assert not requests


class ClaudeReplay(Replay):
    """Claude's recordings."""

    def play(self, process):
        """Carry a process's lines over."""
        if not any(first_word(message) == "initialize" for direction, message in process if "client->" in direction):
            self.order({"type": "control_request", "request_id": "none", "request": {"subtype": "initialize"}})
            success = {"subtype": "success", "request_id": "none", "response": {}}
            self.answer({"type": "control_response", "response": success})
        for direction, message in process:
            if direction.startswith("client->"):
                self.order(message)
            elif direction.endswith("->client"):
                self.answer(message)

    def answer(self, message):
        if message.get("type") == "control_response":
            told = message["response"]
            message = {**message, "response": {**told, "request_id": self.ids.get(told["request_id"], "unknown")}}
        self.receive(message)

    def order(self, message):
        match message.get("type"):
            case "user":
                self.send(message["message"]["content"])
            case "control_request":
                self.ask(message["request"])
                for line in self.take():
                    if line["type"] == "control_request":
                        self.ids[message["request_id"]] = line["request_id"]
            case "control_response":
                self.driver.answer(message["response"]["request_id"], claude_resolution(message["response"]))
        self.take()

    def send(self, content):
        text = content if isinstance(content, str) else content[0].get("text", "")
        if self.driver._turns.current is not None:
            self.driver.steer("steered", text)
        elif text == "/compact":
            self.driver.compact("turn")
        else:
            self.driver.send("turn", text)

    def ask(self, request):
        match request["subtype"]:
            case "initialize":
                self.driver.begin()
            case "interrupt":
                self.driver.interrupt()
            case "set_model":
                self.driver.set_model(request["model"])


def claude_resolution(response):
    told = response.get("response", {})
    if told.get("behavior") != "allow":
        return Resolution("cancel" if told.get("interrupt") else "deny", told.get("message", ""))
    answers = told.get("updatedInput", {}).get("answers")
    if answers is not None:
        return Resolution("answer", answers={"question_1": tuple(answers.values())})
    return Resolution("approve_for_session" if "updatedPermissions" in told else "approve")


class AcpReplay(Replay):
    """Recordings of ACP agents; only the process's first session is driven."""

    OPENINGS = ("session/load", "session/resume")  # the driver takes what does not tell the past again
    OWN = ("session/set_mode", "session/set_config_option")  # what the driver says for its profile

    def __init__(self, driver):
        super().__init__(driver)
        self.session_id = driver.opening.resume

    def play(self, process):
        for direction, message in process:
            if direction.startswith("client->"):
                self.order(message)
            elif direction.endswith("->client"):
                self.answer(message)

    def take(self):
        fresh = super().take()
        for line in fresh:
            if line.get("method") in self.OWN:
                self.driver.receive(json.dumps({"jsonrpc": "2.0", "id": line["id"], "result": {}}).encode())
                fresh += self.take()
        return fresh

    def answer(self, message):
        if "method" not in message and "id" in message:
            if message["id"] not in self.ids:
                return
            message = {**message, "id": self.ids[message["id"]]}
        result = message.get("result")
        if not self.session_id and isinstance(result, dict):
            self.session_id = result.get("sessionId", "")
        self.asked = self.receive(message)

    def order(self, message):
        method, params = message.get("method"), message.get("params", {})
        if params.get("sessionId") not in (None, self.session_id):
            return
        match method:
            case "initialize":
                self.driver.begin()
            case "session/prompt" if not self.driver.is_running:
                self.driver.send("turn", params["prompt"][0]["text"])
            case "session/cancel":
                self.driver.interrupt()
            case "session/set_model":
                self.driver.set_model(params["modelId"])
            case None if "id" in message:
                self.driver.answer(json.dumps(message["id"]), acp_resolution(message))
        fresh = [*getattr(self, "asked", []), *self.take()]
        self.asked = []
        for line in fresh:
            if "id" in line and self.is_same(line.get("method"), method):
                self.ids[message["id"]] = line["id"]

    def is_same(self, own, recorded):
        return own is not None and (own == recorded or (own in self.OPENINGS and recorded in self.OPENINGS))


def acp_resolution(message):
    outcome = message.get("result", {}).get("outcome", {})
    chosen = str(outcome.get("optionId", ""))
    if not chosen:
        return Resolution("cancel")
    if "always" in chosen:
        return Resolution("approve_for_session")
    return Resolution("deny" if "reject" in chosen or chosen == "cancel" else "approve")


@pytest.fixture
def claude():
    """A replay of a claude session; give the opening's fields."""
    return lambda **fields: ClaudeReplay(ClaudeDriver(opening(**fields)))


@pytest.fixture
def acp():
    """A replay of a session with an ACP agent."""
    return lambda **fields: AcpReplay(AcpDriver(opening(**fields)))


@pytest.fixture
def processes():
    """The processes of a recording."""
    return read_processes


def opening(**fields):
    return Opening(**{"cwd": "/home/user/proj", "new_id": "00000000-0000-4000-8000-000000000000", **fields})

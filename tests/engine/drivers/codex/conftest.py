"""Codex's side of the wire, made by hand or out of recorded wires."""

import json
from pathlib import Path

import pytest

from oulipoly_engine.core.live.events import (
    ItemEnded,
    ItemStarted,
    OrderFailed,
    RequestOpened,
    RequestResolved,
    SessionOpened,
    TurnEnded,
)
from oulipoly_engine.drivers.base import Opening, Resolution, ReviewTarget
from oulipoly_engine.drivers.codex.driver import CodexDriver

WIRES = Path(__file__).parents[3] / "fixtures" / "wires"
THREAD, TURN = "01a20168-70e5-7342-be6c-a6bdd2ea72f1", "01a20168-711d-78b1-8c77-c95f6c898f24"
OURS = "7f7b2d1c-0000-4000-8000-000000000001"
OPENING = Opening(cwd="/home/user/proj", new_id="unused")


class Peer:
    """Codex, as far as a test lets it speak: answers what the driver asks for, and collects what the driver says."""

    def __init__(self, opening=OPENING):
        self.driver = CodexDriver(opening)
        self.events = []
        self.sent = []  # all messages of the driver
        self.asked = {}  # method -> ids of the driver's requests without an answer

    def begin(self):
        self.driver.begin()
        return self.take()

    def take(self):
        """Collect what the driver has said; returns the new events."""
        output = self.driver.take()
        for line in output.data.splitlines():
            message = json.loads(line)
            self.sent.append(message)
            if "method" in message and "id" in message:
                self.asked.setdefault(message["method"], []).append(message["id"])
        self.events += output.events
        return list(output.events)

    def feed(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.driver.receive(line)
        return self.take()

    def tell(self, method, **params):
        return self.feed({"method": method, "params": params})

    def reply(self, method, result=None, error=None):
        """Answer the oldest open request of that method; without one, nothing is said."""
        ids = self.asked.get(method) or []
        if not ids:
            return []
        outcome = {"result": result} if error is None else {"error": error}
        return self.feed({"id": ids.pop(0), **outcome})

    def open(self, thread_id=THREAD, **thread):
        """Let the session open."""
        self.begin()
        self.reply("initialize", {"userAgent": "agent-runner/0.169.0 (Debian 12.0.0; x86_64) xterm"})
        self.reply("account/read", {"account": {"type": "chatgpt", "email": "a@b.c"}, "requiresOpenaiAuth": True})
        for method in ("thread/start", "thread/resume", "thread/fork"):
            self.reply(method, {"thread": {"id": thread_id}, "model": "gpt-5.5", **thread})
        return self.reply("model/list", {"data": []})

    def run(self, text="hello", own_id=OURS, native_id=TURN):
        """Let a turn run."""
        self.driver.send(own_id, text)
        self.take()
        self.reply("turn/start", {"turn": {"id": native_id}})
        return self.tell("turn/started", threadId=THREAD, turn={"id": native_id})

    def complete(self, status="completed", native_id=TURN, **turn):
        return self.tell("turn/completed", threadId=THREAD, turn={"id": native_id, "status": status, **turn})

    def item(self, method, **item):
        return self.tell(method, threadId=THREAD, turnId=TURN, item=item)

    def methods(self):
        return [message["method"] for message in self.sent if "method" in message]

    def last_sent(self, method):
        return next(message["params"] for message in reversed(self.sent) if message.get("method") == method)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def peer():
    return Peer()


@pytest.fixture
def ready(peer):
    """A session that is open."""
    peer.open()
    return peer


@pytest.fixture
def running(ready):
    """A session whose turn runs."""
    ready.run()
    return ready


def read_wire(name):
    """Return a recorded wire as its processes, each a list of (from the client?, message)."""
    processes, before = [], None
    for line in (WIRES / f"{name}.jsonl").read_text().splitlines():
        record = json.loads(line)
        if before is None or record.get("t", 0) < before - 0.5 or str(record["msg"]).startswith("--- new process"):
            processes.append([])
        before = record.get("t", 0)
        if record["dir"] not in ("note", "codex stderr") and "_raw" not in record["msg"]:
            processes[-1].append((record["dir"].startswith("client->"), record["msg"]))
    return [process for process in processes if process]


class Replay(Peer):
    """The driver in the place of the client that was recorded."""

    def __init__(self, process, *, skip=0):
        """skip: threads of the recorded client that came before the one that is the driver's."""
        self.process, self.skip = process, skip
        self.requests = {}  # the recorded client's: id -> method, if the driver has asked the same
        self.turns = 0
        super().__init__(self._opening())
        self.begin()

    def _opening(self):
        for is_ours, message in self.process:
            if is_ours and message.get("method") == "thread/resume":
                return Opening(cwd="/home/user/proj", new_id="", resume=message["params"]["threadId"])
        return OPENING

    def play(self, count):
        for is_ours, message in self.process[:count]:
            if is_ours:
                self._follow(message)
            else:
                self._hear(message)
            self.take()

    def _follow(self, message):
        """Have the driver do what the recorded client did, as far as it would."""
        params, driver = message.get("params") or {}, self.driver
        method, own_id = message.get("method"), f"turn-{self.turns}"
        if method == "thread/start" and params.get("approvalPolicy"):
            self.skip -= 1
            if self.skip >= 0:
                return
        if "result" in message:
            self._answer(message)
            return
        opened = self.of(SessionOpened)
        is_known = params.get("threadId") in (None, *(event.native_id for event in opened))
        if not is_known and method != "thread/resume":
            return
        refused = [event for event in self.of(OrderFailed) if event.order in ("compact", "review")]
        is_idle = opened and self.turns == len(self.of(TurnEnded)) + len(refused)
        asked = len(self.asked.get(method, ()))
        match method:
            case "turn/start" if is_idle and params.get("input"):
                self.turns += 1
                driver.send(own_id, params["input"][0]["text"])
            case "thread/compact/start" if is_idle:
                self.turns += 1
                driver.compact(own_id)
            case "review/start" if is_idle:
                self.turns += 1
                driver.review(own_id, ReviewTarget())
            case "turn/steer":
                driver.steer(f"steer-{message['id']}", params["input"][0]["text"])
            case "turn/interrupt":
                driver.interrupt()
            case "thread/name/set":
                driver.rename(params["name"])
        self.take()
        if method in ("initialize", "thread/start", "thread/resume") or len(self.asked.get(method, ())) > asked:
            self.requests[message["id"]] = method

    def _answer(self, message):
        words = {"accept": "approve", "acceptForSession": "approve_for_session", "decline": "deny", "cancel": "cancel"}
        told = message["result"]
        decision = told.get("decision") if isinstance(told.get("decision"), str) else "decline"
        answers = {key: tuple(value["answers"]) for key, value in (told.get("answers") or {}).items()}
        resolution = Resolution("answer" if answers else words.get(decision, "deny"), answers=answers)
        self.driver.answer(str(message["id"]), resolution)

    def _hear(self, message):
        if "method" in message:
            self.feed(message)
            return
        method = self.requests.pop(message["id"], None)
        if method is None:
            return
        self.reply(method, message.get("result"), message.get("error"))
        self.reply("account/read", {"account": {"type": "chatgpt"}, "requiresOpenaiAuth": True})
        self.reply("model/list", {"data": []})

    def leave(self):
        self.driver.closed()
        self.take()

    def open_items(self):
        started = {event.item.id for event in self.of(ItemStarted)}
        return started - {event.item.id for event in self.of(ItemEnded)}

    def open_requests(self):
        return {event.native_id for event in self.of(RequestOpened)} - {
            event.native_id for event in self.of(RequestResolved)
        }

    def ends(self):
        return [(event.turn_id, event.status, event.code) for event in self.of(TurnEnded)]


@pytest.fixture
def replay():
    """Return a function that replays one process of a recorded wire, whole and to its end."""

    def play(name, place=0, skip=0):
        played = Replay(read_wire(name)[place], skip=skip)
        played.play(len(played.process))
        played.leave()
        return played

    return play


@pytest.fixture(scope="session")
def codex_wires():
    """Return what reads a recorded wire, and what replays a process of it."""
    return read_wire, Replay

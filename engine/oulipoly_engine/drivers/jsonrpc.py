"""One end of a JSON-RPC conversation in lines, of codex's dialect (no `jsonrpc` field) or version 2.0. Pure.

Ids of our requests are integers from 0. Each request of ours is settled once, by its result, its error, its time-out
or the end of the connection; a reply that comes after that is ignored. Each request of the other end is answered once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from oulipoly_engine.core.text.lines import decode_json
from oulipoly_engine.records import Record, field

TIMED_OUT = -32001
INVALID, UNKNOWN_METHOD = -32600, -32601

Json = Any  # what JSON holds: foreign, and looked at field by field
Broken = Literal["empty-line", "malformed-json", "expected-object", "unknown-shape", "invalid-message"]


class Failure(Record):
    """Why a request of ours has no result. kind: native (the other end's error), timeout, closed."""

    kind: Literal["native", "timeout", "closed"]
    message: str
    code: int = 0
    data: Json = None


class Response(Record):
    """An answer to a request of ours."""

    id: int | str
    result: Json = None
    failure: Failure | None = None
    raw: Mapping[str, Json] = field(default_factory=dict)


class ServerRequest(Record):
    """A request of the other end."""

    id: int | str
    method: str
    params: Mapping[str, Json]


class Notification(Record):
    """A message that wants no answer."""

    method: str
    params: Mapping[str, Json]


class Undecodable(Record):
    """A line that is not a message."""

    why: Broken
    text: str  # its beginning


Received = Response | ServerRequest | Notification | Undecodable
Settle = Callable[[Json, "Failure | None"], None]

_SHOWN = 800  # characters of a line that is not a message


def decode(line: bytes) -> Received:
    """Return what a line says; unknown fields are kept in `raw` of a response."""
    if not line or line.isspace():
        return Undecodable("empty-line", "")
    text = line[:_SHOWN].decode("utf-8", "replace")  # never all of it: lines of 6 MB were seen
    try:
        message = decode_json(line)
    except ValueError:
        return Undecodable("malformed-json", text)
    if not isinstance(message, dict):
        return Undecodable("expected-object", text)
    identity, method = message.get("id"), message.get("method")
    if isinstance(identity, bool) or not isinstance(identity, int | str):
        identity = None
    if "result" in message or "error" in message:
        return _decode_response(message, identity, text)
    if not isinstance(method, str):
        return Undecodable("unknown-shape", text)
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    return Notification(method, params) if identity is None else ServerRequest(identity, method, params)


def _decode_response(message: dict[str, Json], identity: int | str | None, text: str) -> Received:
    error = message.get("error")
    if identity is None or ("result" in message and error is not None):
        return Undecodable("invalid-message", text)
    if error is None:
        return Response(identity, message.get("result"), None, message)
    told = error if isinstance(error, dict) else {"message": str(error)}
    code = told.get("code")
    said = str(told.get("message", "no reason given"))
    failure = Failure("native", said, code if isinstance(code, int) else 0, told.get("data"))
    return Response(identity, None, failure, message)


class _Open(Record, frozen=False):
    """A request of ours that is not settled."""

    method: str
    settle: Settle
    patience_s: float | None
    deadline: float | None = None  # from the first tick on: no clock is read when the request is made


class Endpoint:
    """Our end. `take` what is to be written; `receive` gives what is not an answer to us."""

    def __init__(self, *, has_version: bool, patience_s: float = 120.0) -> None:
        """has_version: messages carry `"jsonrpc": "2.0"`. patience_s: that a request of ours waits for its answer."""
        self._patience_s = patience_s
        self._head: dict[str, Json] = {"jsonrpc": "2.0"} if has_version else {}
        self._next = 0
        self._open: dict[int | str, _Open] = {}
        self._asked: dict[int | str, str] = {}  # open requests of the other end: their method
        self._out = bytearray()

    def request(self, method: str, params: Json, settle: Settle, patience_s: float | None = 0.0) -> int:
        """Ask; `settle` is called once with the result or the failure. Returns the id.

        patience_s: seconds from the next `tick` on; None: as long as it takes; 0: as the endpoint's requests do.
        """
        identity, self._next = self._next, self._next + 1
        self._open[identity] = _Open(method, settle, patience_s if patience_s != 0.0 else self._patience_s)
        self._write({"id": identity, "method": method, "params": params})
        return identity

    def notify(self, method: str, params: Json = None) -> None:
        """Tell something."""
        self._write({"method": method} if params is None else {"method": method, "params": params})

    def receive(self, line: bytes) -> ServerRequest | Notification | Undecodable | None:
        """Take a line: answers to us are settled, the rest is returned. A request that is open twice is refused."""
        received = decode(line)
        match received:
            case Response():
                pending = self._open.pop(received.id, None)
                if pending is not None:
                    pending.settle(received.result, received.failure)
                return None
            case ServerRequest() if received.id in self._asked:
                self._refuse(received.id, INVALID, "a request with this id is open")
                return None
            case ServerRequest():
                self._asked[received.id] = received.method
                return received
        return received

    def is_open(self, identity: int | str) -> bool:
        """Tell whether a request of the other end waits for our answer."""
        return identity in self._asked

    def answer(self, identity: int | str, result: Json) -> bool:
        """Answer a request of the other end. Returns whether it was still open; nothing is said if not."""
        if self._asked.pop(identity, None) is None:
            return False
        self._write({"id": identity, "result": result})
        return True

    def refuse(self, identity: int | str, code: int, message: str) -> bool:
        """Answer with an error; as `answer`."""
        if self._asked.pop(identity, None) is None:
            return False
        self._refuse(identity, code, message)
        return True

    def forget(self, identity: int | str) -> None:
        """Drop a request that the other end has taken back."""
        self._asked.pop(identity, None)

    def tick(self, now: float) -> float | None:
        """Settle what waits too long. Returns the seconds until the next time-out, or None."""
        for one in self._open.values():
            if one.deadline is None and one.patience_s is not None:
                one.deadline = now + one.patience_s
        late = [key for key, one in self._open.items() if one.deadline is not None and one.deadline <= now]
        for key in late:
            one = self._open.pop(key)
            one.settle(None, Failure("timeout", f"{one.method} was not answered in time"))
        deadlines = [one.deadline for one in self._open.values() if one.deadline is not None]
        return max(0.0, min(deadlines) - now) if deadlines else None

    def close(self) -> None:
        """Settle all that is open: the other end is gone."""
        gone, self._open = self._open, {}
        self._asked.clear()
        for one in gone.values():
            one.settle(None, Failure("closed", "the connection has ended"))

    def take(self) -> bytes:
        """Return what is to be written."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def _refuse(self, identity: int | str, code: int, message: str) -> None:
        self._write({"id": identity, "error": {"code": code, "message": message}})

    def _write(self, message: dict[str, Json]) -> None:
        self._out += msgspec.json.encode({**self._head, **message}) + b"\n"

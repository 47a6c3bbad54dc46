"""JSON-RPC in lines, as agents speak it: requests of the client and their answers, and requests of ours."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from oulipoly_demo.base import streams
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.live import wire
from oulipoly_demo.live.wire import Wire


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, message: str, *, code: int = -32600, data: Any = None) -> None:  # noqa: ANN401 - JSON
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class Reply(NamedTuple):
    """The answer to a request, and what is done behind it."""

    result: dict[str, Any] | None  # None: it is answered later
    then: Callable[[], object] = lambda: None


class Server(ABC):
    """One process of an agent."""

    envelope: Mapping[str, str] = {}  # fields of every message

    def __init__(self, context: CliContext, *, term_code: int = 0) -> None:
        """term_code: the exit code at SIGTERM."""
        self.context = context
        self.wire = Wire(self._take_line, term_code=term_code)
        self._asked = 0

    def send(self, **message: Any) -> None:  # noqa: ANN401 - JSON
        """Write a message."""
        wire.send({**self.envelope, **message})

    def request(self, method: str, params: Mapping[str, Any]) -> int:
        """Ask the client; returns the id by which the answer is waited for."""
        identity = self._asked
        self._asked += 1
        self.send(method=method, id=identity, params=dict(params))
        return identity

    def answer(self, identity: Any, result: Any = None, error: Any = None) -> None:  # noqa: ANN401 - JSON
        """Answer a request of the client."""
        self.send(id=identity, **({"result": result} if error is None else {"error": error}))

    @abstractmethod
    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell something."""

    @abstractmethod
    def serve(self, identity: Any, method: str, params: dict[str, Any]) -> Reply:  # noqa: ANN401 - JSON
        """Do what a request asks for. Raises Refused."""

    def hear(self, _method: str, _params: dict[str, Any]) -> None:
        """Take a notification; most agents have no use for any."""
        return

    def _take_line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            streams.complain(f"ERROR {self.context.account}: Failed to deserialize JSONRPCMessage")
            return
        identity = message.get("id")
        params = message.get("params") or {}
        if "method" not in message:
            self.wire.answer(identity, message.get("result"))
        elif identity is None:
            self.hear(str(message["method"]), params)
        else:
            self._take_request(identity, str(message["method"]), params)

    def _take_request(self, identity: Any, method: str, params: dict[str, Any]) -> None:  # noqa: ANN401 - JSON
        try:
            result, then = self.serve(identity, method, params)
        except Refused as refused:
            self.answer(identity, error=refused.error)
            return
        if result is not None:
            self.answer(identity, result)
        then()


def text_of(parts: Any) -> str:  # noqa: ANN401 - JSON
    """Return the text of a prompt's parts."""
    texts = [str(part.get("text", "")) for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n".join(texts)

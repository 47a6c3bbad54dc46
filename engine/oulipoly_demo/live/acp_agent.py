"""The demo's claude as an agent of the Agent Client Protocol, version 1: many sessions in one process.

Source: the protocol's pages; opencode 1.18.33, gemini 0.61.0, claude-agent-acp 0.49.0, codex-acp 2.6.0, seen 2026-11.
DEMO_QUIRKS has what only some of them do: `cancel-needs-answer` (an open request holds a cancelled turn),
`cancel-never` (a turn that was cancelled while it asked never ends), `takes-back` (requests are taken back at a
cancel), `late-calls` (a call is first seen in its request), `once-only` (nothing is allowed for always),
`load-fails`, `login`, `newer` (another version of the protocol), `plain` (no session but a new one), `steering`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from oulipoly_demo.base import claude_files, turn
from oulipoly_demo.base.claude_files import ClaudeConversation
from oulipoly_demo.base.context import VERSION, CliContext
from oulipoly_demo.live import wire
from oulipoly_demo.live.acp_session import AcpSession, Prompt
from oulipoly_demo.live.wire import Task, Wire

_AUTH_REQUIRED, _INVALID, _UNKNOWN, _INTERNAL = -32000, -32602, -32601, -32603
_LOGIN = {"id": "demo-login", "name": "Log in", "description": "Unset DEMO_QUIRKS"}


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, message: str, **data: Any) -> None:  # noqa: ANN401 - JSON
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({"data": data} if data else {})


class Agent:
    """One process of it."""

    def __init__(self, context: CliContext) -> None:
        self.context = context
        self.wire = Wire(self._take_line, term_code=143)
        self.can_ask = False  # the client takes forms
        self._sessions: dict[str, AcpSession] = {}
        self._asked: dict[int, Task] = {}  # requests of ours
        self._next_id = 0

    def run(self) -> int:
        """Serve until stdin ends; returns the exit code."""
        try:
            return self.wire.run()
        finally:
            for session in self._sessions.values():
                session.conversation.close()

    def has(self, quirk: str) -> bool:
        """Tell whether it is to do something differently."""
        return quirk in self.context.quirks

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell something."""
        later = {"_meta": {"sinceVersion": "9.0.0"}} if self.context.drifts else {}
        wire.send({"jsonrpc": "2.0", "method": method, "params": {**params, **later}})

    def ask(self, task: Task, method: str, params: Mapping[str, Any]) -> int:
        """Ask the client; the task is woken with the result, or with None for an error. Returns the request's id."""
        identity, self._next_id = self._next_id, self._next_id + 1
        self._asked[identity] = task
        wire.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": dict(params)})
        return identity

    def forget(self, identity: int) -> None:
        """Take the answer to a request for none."""
        self._asked.pop(identity, None)

    def reply(self, identity: Any, result: Any = None, error: Any = None) -> None:  # noqa: ANN401 - JSON
        """Answer a request of the client."""
        told = {"result": result} if error is None else {"error": error}
        wire.send({"jsonrpc": "2.0", "id": identity, **told})

    def _take_line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict):
            return
        if "method" not in message:
            task = self._asked.pop(message.get("id", -1), None)
            if task is not None:
                self.wire.wake(task, message.get("result"))
            return
        params = message.get("params")
        self._take(message.get("id"), str(message["method"]), params if isinstance(params, dict) else {})

    def _take(self, identity: Any, method: str, params: dict[str, Any]) -> None:  # noqa: ANN401 - JSON
        if method == "session/cancel":
            session = self._sessions.get(str(params.get("sessionId")))
            if session is not None:
                session.cancel()
            return
        if identity is None:
            return
        try:
            if method == "session/prompt":
                self._find(params).take(Prompt(identity, _text_of(params)))
                return
            self.reply(identity, self._do(method, params))
        except Refused as refused:
            self.reply(identity, error=refused.error)
        for session in self._sessions.values():
            session.greet()

    def _do(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                return self._initialize(params)
            case "session/new":
                return self._new()
            case "session/load" | "session/resume" | "session/fork" if not self.has("plain"):
                return self._go_on(method, params)
            case "session/set_mode":
                return self._find(params).set_mode(str(params.get("modeId"))) or self._refuse("mode not found")
            case "session/set_model":
                self._find(params).model = turn.model_name("claude", str(params.get("modelId")))
                return {}
            case "_session/steering" if self.has("steering"):
                return {"outcome": "injected" if self._find(params).steer(_text_of(params)) else "failed"}
            case _:
                raise Refused(_UNKNOWN, f'"Method not found": {method}', method=method)

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        self.can_ask = "form" in ((params.get("clientCapabilities") or {}).get("elicitation") or {})
        sessions: dict[str, Any] = {} if self.has("plain") else {"fork": {}, "resume": {}}
        if self.has("load-fails"):
            sessions = {}
        able = {"loadSession": not self.has("plain"), "sessionCapabilities": sessions}
        return {
            "protocolVersion": 2 if self.has("newer") else 1,
            "agentInfo": {"name": "demo-agent", "title": "Demo Agent", "version": VERSION},
            "agentCapabilities": {**able, "promptCapabilities": {"image": False}},
            "authMethods": [_LOGIN],
            "_meta": {"steering": {"supported": self.has("steering")}},
        }

    def _new(self) -> dict[str, Any]:
        if self.has("login"):
            raise Refused(_AUTH_REQUIRED, "Authentication required")
        return self._open(claude_files.start(self.context, entrypoint="sdk-cli"))

    def _go_on(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        wanted = str(params.get("sessionId"))
        found = None if self.has("load-fails") else claude_files.resume(self.context, wanted, entrypoint="sdk-cli")
        if found is None:
            raise Refused(_INTERNAL, "Internal error", details=f'Invalid session identifier "{wanted}".')
        if method == "session/fork":
            found = claude_files.fork(self.context, found, entrypoint="sdk-cli", session_id=None)
        told = self._open(found)
        if method != "session/resume":
            self._sessions[found.session_id].replay()
        return told

    def _open(self, conversation: ClaudeConversation) -> dict[str, Any]:
        conversation.open(self.context.now())
        session = self._sessions[conversation.session_id] = AcpSession(self, conversation)
        return {"sessionId": conversation.session_id, **session.settings()}

    def _find(self, params: dict[str, Any]) -> AcpSession:
        session = self._sessions.get(str(params.get("sessionId")))
        if session is None:
            raise Refused(_INVALID, f"Invalid params: session not found: {params.get('sessionId')}")
        return session

    def _refuse(self, what: str) -> dict[str, Any]:
        raise Refused(_INVALID, f"Invalid params: {what}")


def _text_of(params: dict[str, Any]) -> str:
    parts = params.get("prompt")
    found = parts if isinstance(parts, list) else []
    return "\n".join(str(part.get("text", "")) for part in found if isinstance(part, dict))

"""The demo's claude as an agent of the Agent Client Protocol, version 1: many sessions in one process.

Source: the protocol's pages; opencode 1.18.33, gemini 0.61.0, claude-agent-acp 0.49.0, codex-acp 2.6.0, seen 2026-11.
DEMO_QUIRKS has what only some of them do: `cancel-needs-answer` (an open request holds a cancelled turn),
`cancel-never` (a turn that was cancelled while it asked never ends), `takes-back` (requests are taken back at a
cancel), `late-calls` (a call is first seen in its request), `once-only` (nothing is allowed for always),
`load-fails`, `login`, `newer` (another version of the protocol), `plain` (no session but a new one), `steering`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_demo.base import claude_files, turn
from oulipoly_demo.base.claude_files import ClaudeConversation
from oulipoly_demo.base.context import VERSION, CliContext
from oulipoly_demo.live.acp_session import AcpSession
from oulipoly_demo.live.rpc import Refused, Reply, Server, text_of
from oulipoly_demo.live.turns import Message, Running

_AUTH_REQUIRED, _INVALID, _UNKNOWN, _INTERNAL = -32000, -32602, -32601, -32603
_LOGIN = {"id": "demo-login", "name": "Log in", "description": "Unset DEMO_QUIRKS"}


class Agent(Server):
    """One process of it."""

    envelope = {"jsonrpc": "2.0"}  # noqa: RUF012 - never changed

    def __init__(self, context: CliContext) -> None:
        super().__init__(context, term_code=143)
        self._can_ask = False  # the client takes forms
        self._sessions: dict[str, AcpSession] = {}

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
        self.send(method=method, params={**params, **later})

    def hear(self, _method: str, _params: dict[str, Any]) -> None:
        """Take a notification."""
        session = self._sessions.get(str(_params.get("sessionId")))
        if _method == "session/cancel" and session is not None:
            session.cancel()

    def serve(self, identity: Any, method: str, params: dict[str, Any]) -> Reply:  # noqa: ANN401 - JSON
        """Do what a request asks for. Raises Refused."""
        match method:
            case "initialize":
                return Reply(self._initialize(params))
            case "session/new":
                return self._new()
            case "session/load" | "session/resume" | "session/fork" if not self.has("plain"):
                return self._go_on(method, params)
            case "session/prompt":
                self._find(params).take(Running(Message(text_of(params.get("prompt")), identity)))
                return Reply(None)
            case "session/set_mode":
                if not self._find(params).set_mode(str(params.get("modeId"))):
                    raise Refused("Invalid params: mode not found", code=_INVALID)
                return Reply({"_meta": {}})
            case "session/set_model":
                self._find(params).model = turn.model_name("claude", str(params.get("modelId")))
                return Reply({})
            case "_session/steering" if self.has("steering"):
                is_taken = self._find(params).steer(text_of(params.get("prompt")))
                return Reply({"outcome": "injected" if is_taken else "failed"})
            case _:
                raise Refused(f'"Method not found": {method}', code=_UNKNOWN, data={"method": method})

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        self._can_ask = "form" in ((params.get("clientCapabilities") or {}).get("elicitation") or {})
        sessions: dict[str, Any] = {"fork": {}, "resume": {}}
        if self.has("plain") or self.has("load-fails"):
            sessions = {}
        able = {"loadSession": not self.has("plain"), "sessionCapabilities": sessions}
        return {
            "protocolVersion": 2 if self.has("newer") else 1,
            "agentInfo": {"name": "demo-agent", "title": "Demo Agent", "version": VERSION},
            "agentCapabilities": {**able, "promptCapabilities": {"image": False}},
            "authMethods": [_LOGIN],
            "_meta": {"steering": {"supported": self.has("steering")}},
        }

    def _new(self) -> Reply:
        if self.has("login"):
            raise Refused("Authentication required", code=_AUTH_REQUIRED)
        return self._open(claude_files.start(self.context, entrypoint="sdk-cli"))

    def _go_on(self, method: str, params: dict[str, Any]) -> Reply:
        identity = str(params.get("sessionId"))
        conversation = None
        if not self.has("load-fails"):
            conversation = claude_files.resume(self.context, identity, entrypoint="sdk-cli")
        if conversation is None:
            details = {"details": f'Invalid session identifier "{identity}".'}
            raise Refused("Internal error", code=_INTERNAL, data=details)
        if method == "session/fork":
            conversation = claude_files.fork(self.context, conversation, entrypoint="sdk-cli", session_id=None)
        reply = self._open(conversation)
        if method != "session/resume":
            self._sessions[conversation.session_id].replay()
        return reply

    def _open(self, conversation: ClaudeConversation) -> Reply:
        conversation.open(self.context.now())
        session = AcpSession(self, conversation, can_ask=self._can_ask)
        self._sessions[conversation.session_id] = session
        return Reply({"sessionId": conversation.session_id, **session.settings()}, session.greet)

    def _find(self, params: dict[str, Any]) -> AcpSession:
        session = self._sessions.get(str(params.get("sessionId")))
        if session is None:
            raise Refused(f"Invalid params: session not found: {params.get('sessionId')}", code=_INVALID)
        return session

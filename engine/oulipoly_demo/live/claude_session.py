"""`claude -p --input-format stream-json`: many turns in one process, control requests in both directions.

Source: Claude Code 2.1.197, seen 2026-11. It says nothing before it is told something, begins each turn with `init`,
takes a message into a turn while a tool runs and queues it while text streams, and leaves with 1 at a broken line.
"""

from __future__ import annotations

import json
import os
from typing import Any

from oulipoly_demo.base import ids, jsonl, streams, turn
from oulipoly_demo.base.claude_files import ClaudeConversation
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.live import claude_lines, wire
from oulipoly_demo.live.claude_turns import ClaudeTurn, ClaudeTurns
from oulipoly_demo.live.turns import Message
from oulipoly_demo.live.wire import Wire

_CLOSED = {"behavior": "deny", "message": "Tool permission request failed: Error: Tool permission stream closed"}


class Session:
    """One process of it."""

    def __init__(
        self, context: CliContext, conversation: ClaudeConversation, model: str, mode: str, *, is_partial: bool
    ) -> None:
        """mode: the permission mode. is_partial: messages are told piece by piece as well."""
        self._context = context
        self._default_model = model
        self._wire = Wire(self._take_line, term_code=143)
        self._turns = ClaudeTurns(context, conversation, self._wire, model, is_partial=is_partial)
        self._turns.mode = mode
        self._can_bypass = mode == "bypassPermissions"
        self._seen = {str(record.get("uuid")) for record in _records(conversation)}

    def run(self) -> int:
        """Serve until stdin ends and the turn that runs is over; returns the exit code."""
        try:
            return self._wire.run(self._end_of_stdin)
        finally:
            self._turns.conversation.close()

    def _take_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except ValueError as error:
            self._break(f"Error parsing streaming input line: {error}")
            return
        if not isinstance(message, dict):
            return
        match message.get("type"):
            case "user":
                self._take_user(message)
            case "control_request":
                self._take_control(str(message.get("request_id")), message.get("request") or {})
            case "control_response":
                self._take_answer(message.get("response") or {})

    def _take_user(self, line: dict[str, Any]) -> None:
        message = line.get("message") or {}
        if message.get("role") != "user":
            self._break(f"Error: Expected message role 'user', got '{message.get('role')}'")
            return
        uuid = str(line.get("uuid") or ids.random_uuid())
        if uuid in self._seen:
            return
        self._seen.add(uuid)
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        text = "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
        running = self._turns.running
        if running is not None and (running.tool_use_id or running.request) and line.get("priority") != "later":
            running.steers.append(Message(text, uuid))
            return
        self._turns.take(ClaudeTurn(Message(text, uuid)))

    def _take_answer(self, response: dict[str, Any]) -> None:
        error = {"behavior": "deny", "message": f"Tool permission request failed: Error: {response.get('error')}"}
        has_failed = response.get("subtype") != "success"
        self._wire.answer(str(response.get("request_id")), error if has_failed else response.get("response"))

    def _take_control(self, request_id: str, request: dict[str, Any]) -> None:
        subtype = request.get("subtype")
        match subtype:
            case "initialize":
                self._answer(request_id, claude_lines.greeting(self._context.account, os.getpid()))
            case "interrupt":
                self._answer(request_id)
                self._turns.interrupt()
            case "set_model":
                named = str(request.get("model"))
                if named.startswith("no-such"):  # the demo takes all other names, which differ from vendor to vendor
                    self._refuse(request_id, f"Invalid model: {named}")
                    return
                self._turns.model = self._default_model if named == "default" else turn.model_name("claude", named)
                text = f"<local-command-stdout>Set model to {self._turns.model}</local-command-stdout>"
                self._turns.tell({"type": "user", "message": {"role": "user", "content": text}, "isReplay": True})
                self._answer(request_id)
            case "set_permission_mode":
                self._set_mode(request_id, str(request.get("mode")))
            case "end_session":
                self._answer(request_id)
                self._wire.leave(0)
            case "mcp_status" | "get_settings" | "get_context_usage" | "set_max_thinking_tokens" | "stop_task":
                self._answer(request_id, {})
            case _:
                self._refuse(request_id, f"Unsupported control request subtype: {subtype}")

    def _set_mode(self, request_id: str, mode: str) -> None:
        if mode == "bypassPermissions" and not self._can_bypass:
            text = "the session was not launched with --dangerously-skip-permissions"
            self._refuse(request_id, f"Cannot set permission mode to bypassPermissions because {text}")
            return
        self._turns.mode = mode
        self._answer(request_id, {"mode": mode})
        self._turns.tell_status(None, permissionMode=mode)

    def _answer(self, request_id: str, response: dict[str, Any] | None = None) -> None:
        result = {} if response is None else {"response": response}
        wire.send({"type": "control_response", "response": {"subtype": "success", "request_id": request_id, **result}})

    def _refuse(self, request_id: str, error: str) -> None:
        response = {"subtype": "error", "request_id": request_id, "error": error}
        wire.send({"type": "control_response", "response": response})

    def _break(self, text: str) -> None:
        streams.complain(text)
        self._wire.leave(1)

    def _end_of_stdin(self) -> None:
        running = self._turns.running
        if running is not None and running.request is not None:
            self._wire.answer(running.request, _CLOSED)


def _records(conversation: ClaudeConversation) -> list[dict[str, Any]]:
    return jsonl.read(conversation.path) if conversation.path.exists() else []

"""`claude -p --input-format stream-json`: many turns in one process, control requests in both directions.

Source: Claude Code 2.1.197, seen 2026-11. It says nothing before it is told something, begins each turn with `init`,
takes a message into a turn while a tool runs and queues it while text streams, and leaves with 1 at a broken line.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from oulipoly_demo.base import claude_files, directives, ids, jsonl, streams, turn
from oulipoly_demo.base.claude_files import ClaudeConversation
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.directives import Directives
from oulipoly_demo.live import claude_lines, wire
from oulipoly_demo.live.claude_steps import ClaudeSteps, Interrupted
from oulipoly_demo.live.claude_talk import Running, Talk
from oulipoly_demo.live.pieces import is_flood, pieces_of
from oulipoly_demo.live.wire import Steps, Wire
from oulipoly_demo.quota import levels

_SLASH = re.compile(r"/[a-z][a-z-]*")
_CLOSED = {"behavior": "deny", "message": "Tool permission request failed: Error: Tool permission stream closed"}
_UNIT_USD = 1e-6  # what a unit of a demo account's quota costs


class Session:
    """One process of it."""

    def __init__(
        self, context: CliContext, conversation: ClaudeConversation, model: str, mode: str, *, is_partial: bool
    ) -> None:
        """mode: the permission mode. is_partial: messages are told piece by piece as well."""
        self._context = context
        self._talk = Talk(context, conversation, is_partial=is_partial)
        self._talk.model = self._default_model = model
        self._steps = ClaudeSteps(context, self._talk, mode)
        self._can_bypass = mode == "bypassPermissions"
        self._wire = Wire(self._take_line, term_code=143)
        self._queue: list[Running] = []
        self._seen = {str(one.get("uuid")) for one in _records(conversation)}
        self._told_limit = ""  # the last rate_limit_event: it is told again only when it differs
        self._cost_usd = 0.0

    def run(self) -> int:
        """Serve until stdin ends and the turn that runs is over; returns the exit code."""
        try:
            return self._wire.run(self._end_of_stdin)
        finally:
            self._talk.conversation.close()

    # What comes ------------------------------------------------------------------------------------------------------
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
                found = self._talk.take_answer(message.get("response") or {})
                if found is not None:
                    self._wire.wake(*found)

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
        running = self._talk.running
        if running is not None and (running.tool_use_id or running.request_id) and line.get("priority") != "later":
            running.steers.append((text, uuid))
            return
        self._queue.append(Running(text, uuid))
        self._next()

    def _take_control(self, request_id: str, request: dict[str, Any]) -> None:
        subtype = request.get("subtype")
        match subtype:
            case "initialize":
                self._answer(request_id, claude_lines.greeting(self._context.account, os.getpid()))
            case "interrupt":
                self._answer(request_id)
                self._interrupt()
            case "set_model":
                named = str(request.get("model"))
                if named.startswith("no-such"):  # the demo takes all other names, which differ from vendor to vendor
                    self._refuse(request_id, f"Invalid model: {named}")
                    return
                self._talk.model = self._default_model if named == "default" else turn.model_name("claude", named)
                text = f"<local-command-stdout>Set model to {self._talk.model}</local-command-stdout>"
                self._talk.tell({"type": "user", "message": {"role": "user", "content": text}, "isReplay": True})
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
        self._steps.mode = mode
        self._answer(request_id, {"mode": mode})
        self._talk.tell_status(None, permissionMode=mode)

    def _answer(self, request_id: str, response: dict[str, Any] | None = None) -> None:
        told = {"subtype": "success", "request_id": request_id}
        wire.send({"type": "control_response", "response": told if response is None else told | {"response": response}})

    def _refuse(self, request_id: str, error: str) -> None:
        told = {"subtype": "error", "request_id": request_id, "error": error}
        wire.send({"type": "control_response", "response": told})

    def _break(self, text: str) -> None:
        streams.complain(text)
        self._wire.leave(1)

    def _end_of_stdin(self) -> None:
        running = self._talk.running
        if running is not None and running.request_id:
            found = self._talk.take_answer(
                {"request_id": running.request_id, "subtype": "success", "response": _CLOSED}
            )
            if found is not None:
                self._wire.wake(*found)

    # Turns -----------------------------------------------------------------------------------------------------------
    def _next(self) -> None:
        if self._talk.running is not None or not self._queue:
            return
        running = self._talk.running = self._queue.pop(0)
        slash = _SLASH.fullmatch(running.text.strip())
        steps = self._play(running) if slash is None else self._obey(running, slash[0])
        running.task = self._wire.start(steps)

    def _play(self, running: Running) -> Steps:
        yield 0.0
        context, conversation = self._context, self._talk.conversation
        conversation.open(context.now())
        self._talk.tell(claude_lines.init_line(context, conversation.session_id, self._talk.model, self._steps.mode))
        messages = [(running.text, running.uuid)]
        text = ""
        asked = Directives()
        try:
            while messages:
                prompt, uuid = messages.pop(0)
                conversation.begin(prompt, self._talk.model, context.now(), uuid=uuid)
                asked = directives.parse(prompt, context.account)
                if (yield from self._fail(asked)):
                    return
                for step in asked.steps:
                    yield from self._steps.do(step)
                messages += running.steers
                running.steers = []
                if not messages:
                    text = yield from self._say(prompt, asked)
        except Interrupted:
            self._stop(running)
            return
        self._end(running, "success", result=text, is_error=False, stop_reason="end_turn", terminal_reason="completed")
        if asked.exit_code is not None:
            self._wire.leave(asked.exit_code)

    def _fail(self, asked: Directives) -> Steps:
        """Fail as the API does, where it would; returns whether it did."""
        if asked.stderr is not None:
            streams.complain(asked.stderr)
        if self._context.drifts:
            yield from self._steps.drift()
        if asked.sleep_s:
            yield asked.sleep_s
        failure = turn.refusal(self._context, asked)
        if failure is None:
            return False
        conversation, running = self._talk.conversation, self._talk.running
        conversation.fail(failure, self._context.now())
        if failure.kind in ("429", "quota"):
            self._tell_limit(claude_lines.rate_limit(failure, self._context))
        self._talk.tell_failure(failure, str(conversation.answer["uuid"]))
        if running is not None:
            told = {"result": failure.text, "is_error": True, "api_error_status": failure.status}
            self._end(running, "success", stop_reason="stop_sequence", terminal_reason="completed", **told)
        return True

    def _say(self, prompt: str, asked: Directives) -> Steps:
        """Say the answer, write it down and charge it; returns it."""
        context, conversation = self._context, self._talk.conversation
        if context.thinking_s:
            yield context.thinking_s
        pace_s = 0.0 if is_flood(asked) else context.pace_s
        text = yield from self._talk.say(pieces_of(asked, conversation.turns), pace_s)
        tokens = turn.settle(context, conversation, prompt, text, self._talk.model)
        self._cost_usd += levels.cost(self._talk.model, tokens) * _UNIT_USD
        if self._talk.running is not None:
            self._talk.running.tokens = tokens
        self._talk.end_text(text, str(conversation.answer["uuid"]), tokens)
        self._tell_limit(claude_lines.rate_limit(None, context))
        return text

    def _tell_limit(self, limit: dict[str, Any]) -> None:
        told = json.dumps(limit)
        if told != self._told_limit:
            self._talk.tell({"type": "rate_limit_event", "rate_limit_info": limit})
        self._told_limit = told

    def _interrupt(self) -> None:
        running = self._talk.running
        if running is None or running.task is None:
            return
        self._wire.stop(running.task)
        self._stop(running)

    def _stop(self, running: Running) -> None:
        reason = self._talk.stop()
        self._talk.conversation.interrupt(self._context.now())
        errors = [f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={reason}"]
        self._end(running, "error_during_execution", is_error=True, terminal_reason=reason, errors=errors)

    def _end(self, running: Running, subtype: str, **told: Any) -> None:  # noqa: ANN401 - JSON
        line = claude_lines.result_line(self._talk.conversation.session_id, running.tokens, subtype)
        used = {} if not running.tokens.input else {self._talk.model: claude_lines.model_usage(running.tokens)}
        line |= {"num_turns": running.calls, "total_cost_usd": round(self._cost_usd, 9), "modelUsage": used}
        self._talk.running = None
        self._talk.tell(line | {"permission_denials": running.denials} | told)
        self._queue[:0] = [Running(text, uuid) for text, uuid in running.steers]  # nobody has taken them
        self._next()

    # Commands --------------------------------------------------------------------------------------------------------
    def _obey(self, running: Running, command: str) -> Steps:
        yield 0.0
        text = ""
        if command == "/compact":
            yield from self._compact()
        elif command == "/clear":
            self._talk.conversation.close()
            self._talk.conversation = claude_files.start(self._context, entrypoint="sdk-cli")
            self._tell_init()
            self._talk.tell_text("(no content)")
        else:
            text = f"Unknown command: {command}"
            self._tell_init()
            self._talk.tell_text(text)
        self._end(running, "success", is_error=False, result=text)

    def _compact(self) -> Steps:
        conversation, context = self._talk.conversation, self._context
        self._talk.tell_status("compacting")
        yield context.thinking_s
        self._talk.tell_status(None, compact_result="success")
        self._tell_init()
        count = len(conversation.turns)
        about = {"trigger": "manual", "pre_tokens": 100 * count, "post_tokens": 100}
        conversation.compact(f"A demo's summary of {count} messages.", context.now())
        self._talk.tell({"type": "system", "subtype": "compact_boundary", "compact_metadata": about})

    def _tell_init(self) -> None:
        session_id = self._talk.conversation.session_id
        self._talk.tell(claude_lines.init_line(self._context, session_id, self._talk.model, self._steps.mode))


def _records(conversation: ClaudeConversation) -> list[dict[str, Any]]:
    return jsonl.read(conversation.path) if conversation.path.exists() else []

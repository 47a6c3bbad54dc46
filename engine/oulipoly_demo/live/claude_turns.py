"""The turns of the demo's claude in a session for programs: messages block by block, results of tools, requests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from oulipoly_demo.base import claude_files, ids
from oulipoly_demo.base.claude_files import ClaudeConversation, api_message, synthetic_message, usage
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.live import claude_lines, wire
from oulipoly_demo.live.edits import Edit
from oulipoly_demo.live.turns import Call, Interrupted, Leave, Message, Running, Turns, output_of
from oulipoly_demo.live.wire import Steps, Wire
from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tokens

_SLASH = re.compile(r"/[a-z][a-z-]*")
_UNIT_USD = 1e-6  # what a unit of a demo account's quota costs
_CONTEXT_LINES = 3
_NONE = Tokens(12, 7)  # of a call that only uses a tool
_BROKEN = (
    'Tool permission request failed: ZodError: [{"code": "invalid_union", "path": ["updatedInput"], '
    '"message": "Invalid input: expected record, received undefined"}]'
)
_STOPPED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. STOP what you are doing and wait "
    "for the user to tell you how to proceed."
)


class ClaudeTurn(Running):
    """The turn that runs."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)
        self.tool_use_id = ""  # of the call that is open
        self.said: list[str] = []  # of the message that is being written
        self.denials: list[dict[str, Any]] = []
        self.refusal = ""  # why the open call was not allowed
        self.tokens = Tokens(0, 0)
        self.calls = 0  # of the model
        self.message_id = ""  # of the one that goes on


class ClaudeTurns(Turns[ClaudeTurn, ClaudeConversation]):
    """One session's side of the conversation."""

    call_prefix = "toolu_"

    def __init__(
        self, context: CliContext, conversation: ClaudeConversation, out: Wire, model: str, *, is_partial: bool
    ) -> None:
        """is_partial: messages are told piece by piece as well."""
        super().__init__(context, conversation, out, model)
        self.mode = "default"
        self._is_partial = is_partial
        self._tasks = 0
        self._told_limit = ""  # the last rate_limit_event: it is told again only when it differs
        self._cost_usd = 0.0

    def tell(self, message: Mapping[str, Any]) -> None:
        """Write a line of the session."""
        own = {"session_id": self.conversation.session_id, "uuid": ids.random_uuid()}
        later = {"sinceVersion": "9.0.0"} if self.context.drifts else {}
        wire.send({**own, **message, **later})

    def tell_status(self, status: str | None, **more: Any) -> None:  # noqa: ANN401 - JSON
        """Write what it is about."""
        self.tell({"type": "system", "subtype": "status", "status": status, **more})

    # The beginning and the end ---------------------------------------------------------------------------------------
    def _begin(self, running: ClaudeTurn) -> Steps:
        yield 0.0
        command = _SLASH.fullmatch(running.message.text.strip())
        if command is not None:
            yield from self._obey(command[0])
            return
        self.conversation.open(self.context.now())
        self._tell_init()
        yield from self.play(running)

    def _take_in(self, message: Message, *, is_first: bool) -> None:
        self.conversation.begin(message.text, self.model, self.context.now(), uuid=message.identity)

    def _complete(self, text: str) -> None:
        self._end("success", result=text, is_error=False, stop_reason="end_turn", terminal_reason="completed")

    def _fail(self, failure: Failure) -> Steps:
        if failure.kind in ("429", "quota"):
            self._tell_limit(claude_lines.rate_limit(failure, self.context))
        self._tell_message(
            synthetic_message(failure.text), error=failure.slug, uuid=str(self.conversation.answer["uuid"])
        )
        ending = {"stop_reason": "stop_sequence", "terminal_reason": "completed"}
        self._end("success", result=failure.text, is_error=True, api_error_status=failure.status, **ending)
        yield 0.0

    def _stop(self) -> None:
        running = self._turn
        if running.request is not None:
            wire.send({"type": "control_cancel_request", "request_id": running.request})
        was_tool = bool(running.tool_use_id)
        if was_tool:
            self._end_tool(_STOPPED, is_error=True)
        elif running.said:
            self._tell_message(self._message([{"type": "text", "text": "".join(running.said)}], Tokens(12, 1)))
        text = "[Request interrupted by user for tool use]" if was_tool else "[Request interrupted by user]"
        self.tell({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}})
        self.conversation.interrupt(self.context.now())
        reason = "aborted_tools" if was_tool else "aborted_streaming"
        errors = [f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={reason}"]
        self._end("error_during_execution", is_error=True, terminal_reason=reason, errors=errors)

    def _end(self, subtype: str, **fields: Any) -> None:  # noqa: ANN401 - JSON
        running = self._turn
        line = claude_lines.result_line(self.conversation.session_id, running.tokens, subtype)
        used = {self.model: claude_lines.model_usage(running.tokens)} if running.tokens.input else {}
        line |= {"num_turns": running.calls, "total_cost_usd": round(self._cost_usd, 9), "modelUsage": used}
        self.running = None
        self.tell(line | {"permission_denials": running.denials} | fields)
        self.queue[:0] = map(ClaudeTurn, running.steers)  # nobody has taken them
        self.next()

    # Commands --------------------------------------------------------------------------------------------------------
    def _obey(self, command: str) -> Steps:
        text = ""
        if command == "/compact":
            yield from self._compact()
        elif command == "/clear":
            self.conversation.close()
            self.conversation = claude_files.start(self.context, entrypoint="sdk-cli")
            self._tell_init()
            self._tell_message(synthetic_message("(no content)"))
        else:
            text = f"Unknown command: {command}"
            self._tell_init()
            self._tell_message(synthetic_message(text))
        self._end("success", is_error=False, result=text)

    def _compact(self) -> Steps:
        self.tell_status("compacting")
        yield self.context.thinking_s
        self.tell_status(None, compact_result="success")
        self._tell_init()
        count = len(self.conversation.turns)
        about = {"trigger": "manual", "pre_tokens": 100 * count, "post_tokens": 100}
        self.conversation.compact(f"A demo's summary of {count} messages.", self.context.now())
        self.tell({"type": "system", "subtype": "compact_boundary", "compact_metadata": about})

    # Messages --------------------------------------------------------------------------------------------------------
    def _start(self, field: str) -> str:
        self._event({"type": "message_start", "message": self._message([], Tokens(12, 1))})
        self._event({"type": "content_block_start", "index": 0, "content_block": {"type": field, field: ""}})
        return self._turn.message_id

    def _tell_piece(self, field: str, identity: str, piece: str) -> None:
        if field == "text":
            self._turn.said.append(piece)
        self._event({"type": "content_block_delta", "index": 0, "delta": {"type": f"{field}_delta", field: piece}})

    def _end_text(self, identity: str, text: str, tokens: Tokens) -> None:
        self._turn.said.clear()
        self._turn.tokens = tokens
        self._cost_usd += levels.cost(self.model, tokens) * _UNIT_USD
        message = self._message([{"type": "text", "text": text}], tokens)
        self._tell_message(message, uuid=str(self.conversation.answer["uuid"]))
        self._end_message("end_turn")
        self._tell_limit(claude_lines.rate_limit(None, self.context))

    def _end_thought(self, identity: str, text: str) -> None:
        self._tell_block({"type": "thinking", "thinking": text, "signature": ""})

    def _tell_init(self) -> None:
        self.tell(claude_lines.init_line(self.context, self.conversation.session_id, self.model, self.mode))

    def _tell_limit(self, limit: dict[str, Any]) -> None:
        text = json.dumps(limit)
        if text != self._told_limit:
            self.tell({"type": "rate_limit_event", "rate_limit_info": limit})
        self._told_limit = text

    def _retry(self) -> None:
        retry = {"attempt": 1, "max_retries": 10, "retry_delay_ms": 500, "error_status": None}
        self.tell({"type": "system", "subtype": "api_retry", **retry, "error": "unknown"})

    def _drift(self) -> Steps:
        self.tell({"type": "weather", "sky": "green"})
        self.tell({"type": "system", "subtype": "aurora", "lumens": 7})
        hologram = {"id": "msg_hologram", "role": "assistant", "content": [{"type": "hologram", "lumens": 7}]}
        self._tell_message(hologram)
        yield from self._request({"subtype": "read_mind", "depth": 7})

    # Tools -----------------------------------------------------------------------------------------------------------
    def _needs_leave(self, call: Call) -> bool:
        return self.mode != "bypassPermissions" and (call.edit is None or self.mode != "acceptEdits")

    def _start_call(self, call: Call) -> None:
        self._start_tool(call.identity, *_use_of(call))

    def _ask_leave(self, call: Call) -> Steps:
        allowance = yield from self._ask_before(call.identity, *_use_of(call))
        if allowance is None:
            return Leave.NO
        updates = [update.get("type") for update in allowance.get("updatedPermissions") or []]
        if call.edit is not None and "setMode" in updates:
            self.mode = "acceptEdits"
        if call.edit is None and "addRules" in updates:
            return Leave.ALWAYS
        return Leave.ONCE

    def _end_call(self, call: Call, *, is_done: bool) -> None:
        if call.edit is None:
            output = output_of(call.subject)
            details = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            self._end_tool(output, details=details | {"noOutputExpected": False})
        elif is_done:
            self._end_tool(f"The file {call.subject} has been changed.", details=_details_of(call.edit))
        else:
            self._end_tool(f"The file {call.subject} cannot be changed.", is_error=True)

    def _refuse_call(self, call: Call) -> None:
        self._end_tool(self._turn.refusal, is_error=True)

    def _question(self, text: str, choices: tuple[str, ...]) -> Steps:
        options = [{"label": choice, "description": ""} for choice in choices]
        question = {"question": text, "header": "Question", "options": options, "multiSelect": False}
        given = {"questions": [question]}
        identity = f"toolu_{ids.message_id()[4:]}"
        self._start_tool(identity, "AskUserQuestion", given)
        yield self.context.pace_s
        allowance = yield from self._ask_before(identity, "AskUserQuestion", given)
        if allowance is None:
            self._end_tool(self._turn.refusal, is_error=True)
            return
        replies = allowance["updatedInput"].get("answers")
        replies = replies if isinstance(replies, dict) else {}
        said = " ".join(f'"{asked}"="{reply}".' for asked, reply in replies.items())
        self._end_tool(f"Your questions have been answered: {said}", details={**given, "answers": replies})

    def _tell_plan(self, points: tuple[str, ...], done: int) -> None:
        if done == 0:
            for subject in points:
                self._tasks += 1
                self._use_tool(
                    ("TaskCreate", {"subject": subject, "description": subject}),
                    f"Task #{self._tasks} created successfully: {subject}",
                    {"task": {"id": str(self._tasks), "subject": subject}},
                )
        first = self._tasks - len(points) + 1
        for state, place in (("completed", done - 1), ("in_progress", done)):
            if 0 <= place < len(points):
                task = str(first + place)
                given = {"taskId": task, "status": state}
                self._use_tool(("TaskUpdate", given), f"Updated task #{task} status", {"success": True, "taskId": task})

    def _ask_before(self, identity: str, tool: str, given: Mapping[str, Any]) -> Steps:
        """Ask before a tool is used; returns the allowance, or None where there is none. Raises Interrupted."""
        answer = yield from self._request(claude_lines.leave_request(tool, given, identity, str(self.context.cwd)))
        reply = answer if isinstance(answer, dict) else {}
        if reply.get("behavior") == "allow" and isinstance(reply.get("updatedInput"), dict):
            return reply
        self._turn.denials.append({"tool_name": tool, "tool_use_id": identity, "tool_input": dict(given)})
        if reply.get("interrupt") is True:
            raise Interrupted
        self._turn.refusal = str(reply.get("message") or "denied")
        if reply.get("behavior") == "allow":
            self._turn.refusal = _BROKEN
        return None

    def _request(self, request: Mapping[str, Any]) -> Steps:
        identity = ids.random_uuid()
        wire.send({"type": "control_request", "request_id": identity, "request": dict(request)})
        return (yield from self.ask(identity))

    def _use_tool(self, use: tuple[str, Mapping[str, Any]], text: str, details: Mapping[str, Any]) -> None:
        self._start_tool(f"toolu_{ids.message_id()[4:]}", *use)
        self._end_tool(text, details=details)

    def _start_tool(self, identity: str, tool: str, given: Mapping[str, Any]) -> None:
        self._event({"type": "message_start", "message": self._message([], _NONE)})
        block = {"type": "tool_use", "id": identity, "name": tool, "input": dict(given)}
        self._event({"type": "content_block_start", "index": 0, "content_block": {**block, "input": {}}})
        self._tell_block(block)
        self._turn.tool_use_id = identity

    def _end_tool(self, text: str, *, is_error: bool = False, details: Any = None) -> None:  # noqa: ANN401 - JSON
        running = self._turn
        block = {"type": "tool_result", "tool_use_id": running.tool_use_id, "content": text, "is_error": is_error}
        running.tool_use_id = ""
        message = {"role": "user", "content": [block]}
        result = f"Error: {text}" if is_error else details
        uuid = self.conversation.add("user", message, self.context.now(), toolUseResult=result)
        self.tell({"type": "user", "message": message, "tool_use_result": result, "uuid": uuid})

    # Parts -----------------------------------------------------------------------------------------------------------
    @property
    def _turn(self) -> ClaudeTurn:
        assert self.running is not None  # noqa: S101 - whatever is said is said in a turn
        return self.running

    def _event(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "message_start":
            self._turn.calls += 1
        if self._is_partial:
            self.tell({"type": "stream_event", "event": dict(event), "parent_tool_use_id": None})

    def _tell_message(self, message: Mapping[str, Any], **more: str) -> None:
        self.tell({"type": "assistant", "message": message, "parent_tool_use_id": None, **more})

    def _tell_block(self, block: Mapping[str, Any]) -> None:
        message = self._message([dict(block)], _NONE)
        self._tell_message(message, uuid=self.conversation.add("assistant", message, self.context.now()))
        self._end_message("tool_use")

    def _end_message(self, reason: str) -> None:
        self._event({"type": "content_block_stop", "index": 0})
        delta = {"stop_reason": reason, "stop_sequence": None}
        self._event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
        self._event({"type": "message_stop"})

    def _message(self, content: list[dict[str, Any]], tokens: Tokens) -> dict[str, Any]:
        """Return the message of the call that goes on; one call has one id."""
        if not content:
            self._turn.message_id = ids.message_id()
        message = api_message("", self.model, tokens) | {"id": self._turn.message_id, "content": content}
        return message | {"usage": usage(tokens), "stop_reason": None}


def _use_of(call: Call) -> tuple[str, dict[str, Any]]:
    """Return the tool of a call, and what it is given."""
    edit = call.edit
    if edit is None:
        return "Bash", {"command": call.subject, "description": "a demo's command"}
    if edit.kind == "add":
        return "Write", {"file_path": call.subject, "content": edit.after}
    return "Edit", {"file_path": call.subject, "old_string": edit.before, "new_string": edit.after}


def _details_of(edit: Edit) -> dict[str, Any]:
    """Return what claude tells of a change that is made."""
    path = str(edit.path)
    if edit.kind == "add":
        return {"type": "create", "filePath": path, "content": edit.after, "structuredPatch": [], "originalFile": None}
    before = edit.before.splitlines()
    after = edit.after.splitlines()
    kept = before[-_CONTEXT_LINES:]
    start = len(before) - len(kept) + 1
    hunk = {
        "oldStart": start,
        "oldLines": len(kept),
        "newStart": start,
        "newLines": len(kept) + len(after) - len(before),
        "lines": [*(f" {line}" for line in kept), *(f"+{line}" for line in after[len(before) :])],
    }
    return {"filePath": path, "oldString": edit.before, "newString": edit.after, "structuredPatch": [hunk]}

"""What the demo's claude writes in a session for programs: messages block by block, results of tools, requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oulipoly_demo.base import ids
from oulipoly_demo.base.claude_files import ClaudeConversation, api_message, synthetic_message, usage
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.live import wire
from oulipoly_demo.live.wire import Steps, Task
from oulipoly_demo.quota.levels import Tokens

_BATCH = 200  # pieces of a flood between two looks at stdin
_NONE = Tokens(12, 7)  # of a call that only uses a tool
_STOPPED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. STOP what you are doing and wait "
    "for the user to tell you how to proceed."
)


class Running:
    """The turn that runs."""

    def __init__(self, text: str, uuid: str) -> None:
        """uuid: of the message; empty for one that the user's program gave none."""
        self.text, self.uuid = text, uuid
        self.task: Task | None = None
        self.steers: list[tuple[str, str]] = []  # messages that the model gets with the next result: text, uuid
        self.tool_use_id = ""  # of the call that is open
        self.request_id = ""  # of the question that is open
        self.said: list[str] = []  # of the message that is being written
        self.denials: list[dict[str, Any]] = []
        self.tokens = Tokens(0, 0)
        self.calls = 0  # of the model
        self.message_id = ""  # of the one that goes on


class Talk:
    """One session's side of the conversation."""

    def __init__(self, context: CliContext, conversation: ClaudeConversation, *, is_partial: bool) -> None:
        """is_partial: messages are told piece by piece as well."""
        self.conversation = conversation
        self.running: Running | None = None
        self.model = ""
        self._context = context
        self._is_partial = is_partial
        self._waiting: dict[str, Task] = {}  # open requests

    def tell(self, message: Mapping[str, Any]) -> None:
        """Write a line of the session."""
        own = {"session_id": self.conversation.session_id, "uuid": ids.random_uuid()}
        later = {"sinceVersion": "9.0.0"} if self._context.drifts else {}
        wire.send({**own, **message, **later})

    def tell_status(self, status: str | None, **more: Any) -> None:  # noqa: ANN401 - JSON
        """Write what it is about."""
        self.tell({"type": "system", "subtype": "status", "status": status, **more})

    # Messages --------------------------------------------------------------------------------------------------------
    def say(self, pieces: Iterable[str], pace_s: float) -> Steps:
        """Write a text as it comes, in a message of its own; returns it. `end_text` closes the message."""
        running = self._turn
        self._event({"type": "message_start", "message": self._message([], Tokens(12, 1))})
        self._event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        for place, piece in enumerate(pieces):
            if pace_s or place % _BATCH == 0:
                yield pace_s
            running.said.append(piece)
            self._event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
        return "".join(running.said)

    def end_text(self, text: str, uuid: str, tokens: Tokens) -> None:
        """Write the text whole. uuid: of its record."""
        self._turn.said.clear()
        message = self._message([{"type": "text", "text": text}], tokens)
        self.tell({"type": "assistant", "message": message, "parent_tool_use_id": None, "uuid": uuid})
        self._end_message("end_turn")

    def tell_text(self, text: str) -> None:
        """Write a text that no model has said."""
        message = synthetic_message(text)
        self.tell({"type": "assistant", "message": message, "parent_tool_use_id": None})

    def tell_failure(self, failure: Failure, uuid: str) -> None:
        """Write the API's failure as a message, as claude does."""
        message = synthetic_message(failure.text)
        line = {"type": "assistant", "message": message, "parent_tool_use_id": None, "error": failure.slug}
        self.tell({**line, "uuid": uuid})

    def think(self, pieces: Iterable[str]) -> Steps:
        """Write a thought."""
        self._event({"type": "message_start", "message": self._message([], _NONE)})
        self._event({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}})
        said = []
        for piece in pieces:
            yield self._context.pace_s
            said.append(piece)
            self._event(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": piece}}
            )
        self._tell_block({"type": "thinking", "thinking": "".join(said), "signature": ""})

    # Tools -----------------------------------------------------------------------------------------------------------
    def start_tool(self, tool: str, given: Mapping[str, Any]) -> str:
        """Write that a tool is called; returns the call's id."""
        identity = f"toolu_{ids.message_id()[4:]}"
        self._event({"type": "message_start", "message": self._message([], _NONE)})
        block = {"type": "tool_use", "id": identity, "name": tool, "input": dict(given)}
        self._event({"type": "content_block_start", "index": 0, "content_block": {**block, "input": {}}})
        self._tell_block(block)
        self._turn.tool_use_id = identity
        return identity

    def end_tool(self, text: str, *, is_error: bool = False, details: Any = None) -> None:  # noqa: ANN401 - JSON
        """Write the result of the open call."""
        running = self._turn
        block = {"type": "tool_result", "tool_use_id": running.tool_use_id, "content": text, "is_error": is_error}
        running.tool_use_id = ""
        message = {"role": "user", "content": [block]}
        result = f"Error: {text}" if is_error else details
        uuid = self.conversation.add("user", message, self._context.now(), toolUseResult=result)
        self.tell({"type": "user", "message": message, "tool_use_result": result, "uuid": uuid})

    def ask(self, request: Mapping[str, Any]) -> Steps:
        """Ask the client; returns its answer, or an empty one for an error."""
        running = self._turn
        running.request_id = ids.random_uuid()
        if running.task is not None:
            self._waiting[running.request_id] = running.task
        wire.send({"type": "control_request", "request_id": running.request_id, "request": dict(request)})
        answer = yield None
        running.request_id = ""
        return answer

    def take_answer(self, response: Mapping[str, Any]) -> tuple[Task, Any] | None:
        """Return the task that waits for a response, and what it is to be given; a late answer is for none."""
        task = self._waiting.pop(str(response.get("request_id")), None)
        if task is None:
            return None
        failed = response.get("subtype") != "success"
        error = {"behavior": "deny", "message": f"Tool permission request failed: Error: {response.get('error')}"}
        return task, error if failed else response.get("response")

    def stop(self) -> str:
        """Write what an interrupt leaves of the running turn; returns claude's word for where it was."""
        running = self._turn
        if running.request_id:
            self._waiting.pop(running.request_id, None)
            wire.send({"type": "control_cancel_request", "request_id": running.request_id})
        was_tool = bool(running.tool_use_id)
        if was_tool:
            self.end_tool(_STOPPED, is_error=True)
        elif running.said:
            message = self._message([{"type": "text", "text": "".join(running.said)}], Tokens(12, 1))
            self.tell({"type": "assistant", "message": message, "parent_tool_use_id": None})
        text = "[Request interrupted by user for tool use]" if was_tool else "[Request interrupted by user]"
        self.tell({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}})
        return "aborted_tools" if was_tool else "aborted_streaming"

    # Parts -----------------------------------------------------------------------------------------------------------
    @property
    def _turn(self) -> Running:
        assert self.running is not None  # noqa: S101 - whatever is said is said in a turn
        return self.running

    def _event(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "message_start":
            self._turn.calls += 1
        if self._is_partial:
            self.tell({"type": "stream_event", "event": dict(event), "parent_tool_use_id": None})

    def _tell_block(self, block: Mapping[str, Any]) -> None:
        message = self._message([dict(block)], _NONE)
        uuid = self.conversation.add("assistant", message, self._context.now())
        self.tell({"type": "assistant", "message": message, "parent_tool_use_id": None, "uuid": uuid})
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

"""One session of the demo's ACP agent: its settings, and its turns in the words of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_demo.base import ids
from oulipoly_demo.base.claude_files import ClaudeConversation
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.live.rpc import Server
from oulipoly_demo.live.turns import Call, Interrupted, Leave, Message, Running, Turns, output_of, plan_states
from oulipoly_demo.live.wire import Steps
from oulipoly_demo.quota.levels import Tokens

_MODES = ("default", "acceptEdits", "bypassPermissions")
_MODELS = ("demo-sonnet-1", "demo-opus-1", "demo-haiku-1")
_KINDS = {"429": "rate_limit", "quota": "rate_limit", "500": "server_error", "529": "overloaded", "network": "network"}
_CONTEXT_TOKENS = 200_000
_ALLOWED = {"proceed_always": Leave.ALWAYS, "proceed_once": Leave.ONCE}


class AcpSession(Turns[Running, ClaudeConversation]):
    """One session."""

    def __init__(self, server: Server, conversation: ClaudeConversation, *, can_ask: bool) -> None:
        """Wrap a conversation. can_ask: the client takes forms."""
        super().__init__(server.context, conversation, server.wire, _MODELS[0])
        self._server, self._can_ask = server, can_ask
        self._mode = _MODES[0]
        self._is_cancelled = False
        self._result: dict[str, Any] = {}  # of the turn that ends well

    def settings(self) -> dict[str, Any]:
        """Return what can be chosen and what is."""
        models = [{"modelId": model, "name": model} for model in _MODELS]
        modes = [{"id": mode, "name": mode} for mode in _MODES]
        return {
            "modes": {"currentModeId": self._mode, "availableModes": modes},
            "models": {"currentModelId": self.model, "availableModels": models},
        }

    def greet(self) -> None:
        """Name the slash commands."""
        commands = [{"name": "compact", "description": "Forget the details of what was said", "input": None}]
        self._tell("available_commands_update", availableCommands=commands)

    def set_mode(self, mode: str) -> bool:
        """Ask as a mode says; returns whether there is one of that name."""
        if mode in _MODES:
            self._mode = mode
            self._tell("current_mode_update", currentModeId=mode)
        return mode in _MODES

    def replay(self) -> None:
        """Tell the past."""
        for past in self.conversation.turns:
            kind = "user_message_chunk" if past.role == "user" else "agent_message_chunk"
            self._tell_text(kind, ids.random_uuid(), past.text)

    def steer(self, text: str) -> bool:
        """Give the running turn a message. Returns whether one runs."""
        if self.running is not None:
            self.running.steers.append(Message(text))
        return self.running is not None

    def cancel(self) -> None:
        """End the turn, or have it end when its open request is answered, or never, as the quirks say."""
        running = self.running
        self._is_cancelled = running is not None
        if running is None:
            return
        if running.request is not None:
            if self._has("cancel-never") or self._has("cancel-needs-answer"):
                return
            if self._has("takes-back"):
                self._server.notify("$/cancel_request", {"requestId": running.request})
        self.interrupt()

    # The beginning and the end ---------------------------------------------------------------------------------------
    def _begin(self, running: Running) -> Steps:
        yield 0.0
        if running.message.text.strip() == "/compact":
            yield self.context.thinking_s
            summary = f"A demo's summary of {len(self.conversation.turns)} messages."
            self.conversation.compact(summary, self.context.now())
            self._tell_text("agent_message_chunk", ids.message_id(), summary)
            self._end({"stopReason": "end_turn"})
        else:
            yield from self.play(running)

    def _take_in(self, message: Message, *, is_first: bool) -> None:
        self.conversation.begin(message.text, self.model, self.context.now())

    def _complete(self, text: str) -> None:
        self._end(self._result)

    def _fail(self, failure: Failure) -> Steps:
        yield from ()
        self._tell_text("agent_message_chunk", ids.random_uuid(), failure.text)
        error = {"code": -32000, "message": "Authentication required"}
        if failure.kind != "401":
            data = {"errorKind": _KINDS[failure.kind]}
            error = {"code": -32603, "message": f"Internal error: {failure.text}", "data": data}
        self._end(error=error)

    def _stop(self) -> None:
        self.conversation.interrupt(self.context.now())
        self._end({"stopReason": "cancelled"})

    def _end(self, result: Any = None, error: Any = None) -> None:  # noqa: ANN401 - JSON
        ended = self.running
        self.running = None
        self._is_cancelled = False
        if ended is not None:
            self._server.answer(ended.message.identity, result, error)
        self.next()

    # Messages --------------------------------------------------------------------------------------------------------
    def _start(self, field: str) -> str:
        return ids.message_id()

    def _tell_piece(self, field: str, identity: str, piece: str) -> None:
        self._tell_text("agent_message_chunk" if field == "text" else "agent_thought_chunk", identity, piece)

    def _end_text(self, identity: str, text: str, tokens: Tokens) -> None:
        total = tokens.input + tokens.output
        self._tell("usage_update", used=total, size=_CONTEXT_TOKENS)
        counts = {"inputTokens": tokens.input, "outputTokens": tokens.output, "cachedReadTokens": 0}
        self._result = {"stopReason": "end_turn", "usage": counts | {"totalTokens": total}}

    def _end_thought(self, identity: str, text: str) -> None:
        """Say no more: the pieces are all of it."""

    def _tell_plan(self, points: tuple[str, ...], done: int) -> None:
        states = plan_states(points, done, "in_progress")
        self._tell(
            "plan", entries=[{"content": point, "priority": "medium", "status": state} for point, state in states]
        )

    def _drift(self) -> Steps:
        self._tell("hologram_update", lumens=7)
        self._server.notify("_demo/weather", {"sky": "green"})
        yield from self._request("session/read_mind", {"depth": 7})

    # Tools -----------------------------------------------------------------------------------------------------------
    def _needs_leave(self, call: Call) -> bool:
        return self._mode != "bypassPermissions" and (call.edit is None or self._mode != "acceptEdits")

    def _start_call(self, call: Call) -> None:
        if not call.is_asked:
            self._tell("tool_call", **self._describe(call), status="in_progress")
        elif not self._has("late-calls"):
            self._tell("tool_call", **self._describe(call), status="pending")

    def _ask_leave(self, call: Call) -> Steps:
        always = f"Always allow `{call.subject}` in this session"
        if call.edit is not None:
            always = f"Always allow changes of {call.edit.path.name}"
        options = [
            {"optionId": "proceed_always", "name": always, "kind": "allow_always"},
            {"optionId": "proceed_once", "name": "Allow", "kind": "allow_once"},
            {"optionId": "stop", "name": "Reject", "kind": "reject_once"},
        ]
        if self._has("once-only"):
            del options[0]
        asked = {"toolCall": {**self._describe(call), "status": "pending"}, "options": options}
        answer = yield from self._request("session/request_permission", asked)
        if self._is_cancelled:
            return Leave.STOP
        outcome = answer.get("outcome") if isinstance(answer, dict) else None
        chosen = outcome.get("optionId") if isinstance(outcome, dict) else None
        return _ALLOWED.get(str(chosen), Leave.NO)

    def _end_call(self, call: Call, *, is_done: bool) -> None:
        status = "completed" if is_done else "failed"
        if call.edit is not None:
            self._write_down("Write", {"file_path": call.subject, "content": call.edit.after}, call.identity, "done")
            self._tell("tool_call_update", toolCallId=call.identity, status=status)
            return
        output = f"{output_of(call.subject)}\n"
        self._write_down("Bash", {"command": call.subject}, call.identity, output)
        raw = {"output": output, "metadata": {"exit": 0}}
        told = {"content": [_content(output)], "rawOutput": raw}
        self._tell("tool_call_update", toolCallId=call.identity, status=status, **told)

    def _refuse_call(self, call: Call) -> None:
        content = [_content("The user rejected permission to use this specific tool call.")]
        self._tell("tool_call_update", toolCallId=call.identity, status="failed", content=content)

    def _question(self, text: str, choices: tuple[str, ...]) -> Steps:
        if not self._can_ask:
            return
        field: dict[str, Any] = {"type": "string", "title": "Answer", "description": text}
        field |= {"enum": list(choices)} if choices else {}
        schema = {"type": "object", "properties": {"answer": field}, "required": ["answer"]}
        form = {"mode": "form", "message": text, "requestedSchema": schema}
        answer = yield from self._request("elicitation/create", form)
        if self._is_cancelled:
            raise Interrupted
        content = answer.get("content") if isinstance(answer, dict) else None
        reply = content.get("answer") if isinstance(content, dict) else "nothing"
        self._tell_text("agent_message_chunk", ids.message_id(), f"You said: {reply}. ")

    def _request(self, method: str, params: Mapping[str, Any]) -> Steps:
        identity = self._server.request(method, {"sessionId": self.conversation.session_id, **params})
        answer = yield from self.ask(identity)
        if self._is_cancelled and self._has("cancel-never"):
            yield None  # for ever
        return answer

    # Parts -----------------------------------------------------------------------------------------------------------
    def _describe(self, call: Call) -> dict[str, Any]:
        edit = call.edit
        if edit is None:
            given = {"command": call.subject, "cwd": str(self.context.cwd)}
            return {"toolCallId": call.identity, "title": call.subject, "kind": "execute", "rawInput": given}
        before = None if edit.kind == "add" else edit.before
        diff = {"type": "diff", "path": call.subject, "oldText": before, "newText": edit.after}
        about = {"toolCallId": call.identity, "title": f"Edit {edit.path.name}", "kind": "edit"}
        return about | {"content": [diff], "locations": [{"path": call.subject}]}

    def _write_down(self, tool: str, given: dict[str, Any], identity: str, result: str) -> None:
        """Keep a call in the transcript."""
        now = self.context.now()
        block = {"type": "tool_use", "id": identity, "name": tool, "input": given}
        message = {"id": ids.message_id(), "role": "assistant", "model": self.model, "content": [block]}
        self.conversation.add("assistant", message, now)
        outcome = {"type": "tool_result", "tool_use_id": identity, "content": result, "is_error": False}
        self.conversation.add("user", {"role": "user", "content": [outcome]}, now)

    def _has(self, quirk: str) -> bool:
        return quirk in self.context.quirks

    def _tell_text(self, kind: str, identity: str, text: str) -> None:
        self._tell(kind, messageId=identity, content={"type": "text", "text": text})

    def _tell(self, what: str, /, **fields: Any) -> None:  # noqa: ANN401 - JSON
        update = {"sessionUpdate": what, **fields}
        self._server.notify("session/update", {"sessionId": self.conversation.session_id, "update": update})


def _content(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}

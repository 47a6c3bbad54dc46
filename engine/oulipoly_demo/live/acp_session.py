"""One session of the demo's ACP agent: its settings, its prompts one after the other, and what it does in them."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from oulipoly_demo.base import answers, directives, ids, streams, turn
from oulipoly_demo.base.claude_files import ClaudeConversation
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.directives import Directives, Step
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.live import edits
from oulipoly_demo.live.pieces import is_flood, pieces_of
from oulipoly_demo.live.wire import Steps, Task, Wire

_MODES = ("default", "acceptEdits", "bypassPermissions")
_MODELS = ("demo-sonnet-1", "demo-opus-1", "demo-haiku-1")
_KINDS = {"429": "rate_limit", "quota": "rate_limit", "500": "server_error", "529": "overloaded"}
_BATCH = 200  # pieces of a flood between two looks at stdin
_CONTEXT_TOKENS = 200_000


class Prompt(NamedTuple):
    """A turn that was asked for."""

    identity: Any  # of the request, whose reply ends the turn
    text: str


class Outlet(Protocol):
    """The process that a session is in."""

    context: CliContext
    wire: Wire
    can_ask: bool

    def has(self, quirk: str) -> bool:
        """Tell whether it is to do something differently."""

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell something."""

    def ask(self, task: Task, method: str, params: Mapping[str, Any]) -> int:
        """Ask the client; the task is woken with the result, or with None for an error. Returns the request's id."""

    def forget(self, identity: int) -> None:
        """Take the answer to a request for none."""

    def reply(self, identity: Any, result: Any = None, error: Any = None) -> None:  # noqa: ANN401 - JSON
        """Answer a request of the client."""


class AcpSession:
    """One session."""

    def __init__(self, outlet: Outlet, conversation: ClaudeConversation) -> None:
        """Wrap a conversation."""
        self.conversation = conversation
        self.model = _MODELS[0]
        self._outlet, self._context = outlet, outlet.context
        self._mode = _MODES[0]
        self._queue: list[Prompt] = []
        self._prompt: Prompt | None = None  # that is answered
        self._task: Task | None = None
        self._open: int | None = None  # the request that waits for an answer
        self._is_cancelled = False
        self._steers: list[str] = []
        self._allowed: set[str] = set()
        self._is_greeted = False

    def settings(self) -> dict[str, Any]:
        """Return what can be chosen and what is."""
        models = [{"modelId": model, "name": model} for model in _MODELS]
        modes = [{"id": mode, "name": mode} for mode in _MODES]
        return {
            "modes": {"currentModeId": self._mode, "availableModes": modes},
            "models": {"currentModelId": self.model, "availableModels": models},
        }

    def greet(self) -> None:
        """Name the slash commands, once."""
        if not self._is_greeted:
            self._is_greeted = True
            commands = [{"name": "compact", "description": "Forget the details of what was said", "input": None}]
            self._tell("available_commands_update", availableCommands=commands)

    def set_mode(self, mode: str) -> dict[str, Any] | None:
        """Ask as a mode says; returns None where there is none of that name."""
        if mode not in _MODES:
            return None
        self._mode = mode
        self._tell("current_mode_update", currentModeId=mode)
        return {"_meta": {}}

    def replay(self) -> None:
        """Tell the past."""
        for one in self.conversation.turns:
            kind = "user_message_chunk" if one.role == "user" else "agent_message_chunk"
            self._tell(kind, messageId=ids.random_uuid(), content={"type": "text", "text": one.text})

    # Turns -----------------------------------------------------------------------------------------------------------
    def take(self, prompt: Prompt) -> None:
        """Answer a prompt, after those that came before it."""
        self._queue.append(prompt)
        self._next()

    def steer(self, text: str) -> bool:
        """Give the running turn a message. Returns whether one runs."""
        if self._prompt is not None:
            self._steers.append(text)
        return self._prompt is not None

    def cancel(self) -> None:
        """End the turn, or have it end when its open request is answered, or never, as the quirks say."""
        self._is_cancelled = self._prompt is not None
        if self._prompt is None or self._task is None:
            return
        if self._open is not None:
            if self._outlet.has("cancel-never") or self._outlet.has("cancel-needs-answer"):
                return
            if self._outlet.has("takes-back"):
                self._outlet.notify("$/cancel_request", {"requestId": self._open})
            self._outlet.forget(self._open)
        self._outlet.wire.stop(self._task)
        self._stop()

    def _next(self) -> None:
        if self._prompt is None and self._queue:
            self._prompt = self._queue.pop(0)
            is_compaction = self._prompt.text.strip() == "/compact"
            self._task = self._outlet.wire.start(self._compact() if is_compaction else self._play(self._prompt.text))

    def _play(self, text: str) -> Steps:
        yield 0.0
        prompts, asked = [text], Directives()
        while prompts:
            prompt = prompts.pop(0)
            self.conversation.begin(prompt, self.model, self._context.now())
            asked = directives.parse(prompt, self._context.account)
            if (yield from self._fail(asked)):
                return
            for step in asked.steps:
                yield from self._do(step)
                if self._is_cancelled:
                    self._stop()
                    return
            prompts += self._steers
            self._steers = []
            if not prompts:
                yield from self._say(prompt, asked)
        if asked.exit_code is not None:
            self._outlet.wire.leave(asked.exit_code)

    def _fail(self, asked: Directives) -> Steps:
        """Fail as the vendor does, where it would; returns whether it did."""
        if asked.stderr is not None:
            streams.complain(asked.stderr)
        if self._context.drifts:
            yield from self._drift()
        if asked.sleep_s:
            yield asked.sleep_s
        failure = turn.refusal(self._context, asked)
        if failure is None:
            return False
        self.conversation.fail(failure, self._context.now())
        self._tell("agent_message_chunk", messageId=ids.random_uuid(), content={"type": "text", "text": failure.text})
        self._end(error=_error_of(failure))
        return True

    def _say(self, prompt: str, asked: Directives) -> Steps:
        if self._context.thinking_s:
            yield self._context.thinking_s
        identity, said = ids.message_id(), []
        pace_s = 0.0 if is_flood(asked) else self._context.pace_s
        for place, piece in enumerate(pieces_of(asked, self.conversation.turns)):
            if pace_s or place % _BATCH == 0:
                yield pace_s
            said.append(piece)
            self._tell("agent_message_chunk", messageId=identity, content={"type": "text", "text": piece})
        tokens = turn.settle(self._context, self.conversation, prompt, "".join(said), self.model)
        self._tell("usage_update", used=tokens.input + tokens.output, size=_CONTEXT_TOKENS)
        counts = {"inputTokens": tokens.input, "outputTokens": tokens.output, "cachedReadTokens": 0}
        self._end({"stopReason": "end_turn", "usage": counts | {"totalTokens": tokens.input + tokens.output}})

    def _compact(self) -> Steps:
        yield self._context.thinking_s
        summary = f"A demo's summary of {len(self.conversation.turns)} messages."
        self.conversation.compact(summary, self._context.now())
        self._tell("agent_message_chunk", messageId=ids.message_id(), content={"type": "text", "text": summary})
        self._end({"stopReason": "end_turn"})

    def _stop(self) -> None:
        self.conversation.interrupt(self._context.now())
        self._end({"stopReason": "cancelled"})

    def _end(self, result: Any = None, error: Any = None) -> None:  # noqa: ANN401 - JSON
        prompt, self._prompt = self._prompt, None
        self._open, self._is_cancelled = None, False
        if prompt is not None:
            self._outlet.reply(prompt.identity, result, error)
        self._next()

    # Steps -----------------------------------------------------------------------------------------------------------
    def _do(self, step: Step) -> Steps:
        match step.kind:
            case "run":
                yield from self._command(step.text, is_asked=False)
            case "approve":
                yield from self._command(step.text, is_asked=self._mode != "bypassPermissions")
            case "edit":
                yield from self._edit(step.text)
            case "ask":
                yield from self._question(step)
            case "plan":
                for done in range(len(step.choices) + 1):
                    self._tell("plan", entries=_entries(step.choices, done))
                    yield self._context.pace_s
            case "think":
                identity = ids.message_id()
                for piece in answers.chunks(step.text):
                    yield self._context.pace_s
                    self._tell("agent_thought_chunk", messageId=identity, content={"type": "text", "text": piece})
            case "stall":
                yield step.amount
            case "drift":
                yield from self._drift()
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)

    def _drift(self) -> Steps:
        """Say what no client of today knows."""
        self._tell("hologram_update", lumens=7)
        self._outlet.notify("_demo/weather", {"sky": "green"})
        yield from self._ask("session/read_mind", {"depth": 7})

    def _command(self, script: str, *, is_asked: bool) -> Steps:
        call: dict[str, Any] = {"toolCallId": f"call_{ids.message_id()[4:]}", "title": script, "kind": "execute"}
        call |= {"rawInput": {"command": script, "cwd": str(self._context.cwd)}}
        if is_asked and script not in self._allowed:
            if not (yield from self._ask_leave(call, script, f"Always allow `{script}` in this session")):
                self._refuse(call)
                return
        else:
            self._tell("tool_call", **call, status="in_progress")
        yield self._context.pace_s
        output = f"demo: `{script}` would run here\n"
        self._write_down("Bash", {"command": script}, str(call["toolCallId"]), output)
        content = [{"type": "content", "content": {"type": "text", "text": output}}]
        raw = {"output": output, "metadata": {"exit": 0}}
        self._tell(
            "tool_call_update", toolCallId=call["toolCallId"], status="completed", content=content, rawOutput=raw
        )

    def _edit(self, name: str) -> Steps:
        edit = edits.plan(self._context.cwd, name)
        path = str(edit.path)
        old = None if edit.kind == "add" else edit.before
        diff = {"type": "diff", "path": path, "oldText": old, "newText": edit.after}
        call: dict[str, Any] = {
            "toolCallId": f"call_{ids.message_id()[4:]}",
            "title": f"Edit {edit.path.name}",
            "kind": "edit",
        }
        call |= {"content": [diff], "locations": [{"path": path}]}
        if self._mode == "default" and path not in self._allowed:
            if not (yield from self._ask_leave(call, path, f"Always allow changes of {edit.path.name}")):
                self._refuse(call)
                return
        else:
            self._tell("tool_call", **call, status="in_progress")
        done = edit.apply()
        self._write_down("Write", {"file_path": path, "content": edit.after}, str(call["toolCallId"]), "done")
        self._tell("tool_call_update", toolCallId=call["toolCallId"], status="completed" if done else "failed")

    def _question(self, step: Step) -> Steps:
        if not self._outlet.can_ask:
            return
        field: dict[str, Any] = {"type": "string", "title": "Answer", "description": step.text}
        field |= {"enum": list(step.choices)} if step.choices else {}
        schema = {"type": "object", "properties": {"answer": field}, "required": ["answer"]}
        form = {"mode": "form", "message": step.text, "requestedSchema": schema}
        answer = yield from self._ask("elicitation/create", form)
        told = answer.get("content") if isinstance(answer, dict) else None
        reply = told.get("answer") if isinstance(told, dict) else "nothing"
        text = f"You said: {reply}. "
        self._tell("agent_message_chunk", messageId=ids.message_id(), content={"type": "text", "text": text})

    def _ask_leave(self, call: dict[str, Any], what: str, always: str) -> Steps:
        """Ask before a tool is used; returns whether it may be."""
        if not self._outlet.has("late-calls"):
            self._tell("tool_call", **call, status="pending")
        options = [
            {"optionId": "proceed_always", "name": always, "kind": "allow_always"},
            {"optionId": "proceed_once", "name": "Allow", "kind": "allow_once"},
            {"optionId": "stop", "name": "Reject", "kind": "reject_once"},
        ]
        if self._outlet.has("once-only"):
            del options[0]
        asked = {"toolCall": {**call, "status": "pending"}, "options": options}
        answer = yield from self._ask("session/request_permission", asked)
        outcome = answer.get("outcome") if isinstance(answer, dict) else None
        chosen = outcome.get("optionId") if isinstance(outcome, dict) else None
        if chosen == "proceed_always":
            self._allowed.add(what)
        if self._is_cancelled and self._outlet.has("cancel-never"):
            yield None  # for ever
        return chosen in ("proceed_once", "proceed_always") and not self._is_cancelled

    def _ask(self, method: str, params: Mapping[str, Any]) -> Steps:
        if self._task is None:
            return None
        self._open = self._outlet.ask(self._task, method, {"sessionId": self.conversation.session_id, **params})
        answer = yield None
        self._open = None
        return answer

    def _refuse(self, call: Mapping[str, Any]) -> None:
        text = "The user rejected permission to use this specific tool call."
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        self._tell("tool_call_update", toolCallId=call["toolCallId"], status="failed", content=content)

    def _write_down(self, tool: str, given: dict[str, Any], identity: str, result: str) -> None:
        """Keep a call in the transcript."""
        now = self._context.now()
        block = {"type": "tool_use", "id": identity, "name": tool, "input": given}
        message = {"id": ids.message_id(), "role": "assistant", "model": self.model, "content": [block]}
        self.conversation.add("assistant", message, now)
        told = {"type": "tool_result", "tool_use_id": identity, "content": result, "is_error": False}
        self.conversation.add("user", {"role": "user", "content": [told]}, now)

    def _tell(self, what: str, /, **fields: Any) -> None:  # noqa: ANN401 - JSON
        update = {"sessionUpdate": what, **fields}
        self._outlet.notify("session/update", {"sessionId": self.conversation.session_id, "update": update})


def _entries(points: tuple[str, ...], done: int) -> list[dict[str, str]]:
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(points)
    return [
        {"content": point, "priority": "medium", "status": state} for point, state in zip(points, states, strict=False)
    ]


def _error_of(failure: Failure) -> dict[str, Any]:
    if failure.kind == "401":
        return {"code": -32000, "message": "Authentication required"}
    data = {"errorKind": _KINDS[failure.kind]}
    return {"code": -32603, "message": f"Internal error: {failure.text}", "data": data}

"""What the demo's codex does in a turn before it answers."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from typing import Any

from oulipoly_demo.base import answers, ids
from oulipoly_demo.base.codex_files import CodexConversation
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.directives import Step
from oulipoly_demo.live import codex_words as words
from oulipoly_demo.live import edits
from oulipoly_demo.live.codex_messages import Messages
from oulipoly_demo.live.wire import Steps


class Cancelled(Exception):
    """A person cancelled a request, and the turn with it."""


class StepRunner:
    """Carries out the steps of one thread's turns."""

    def __init__(
        self, context: CliContext, conversation: CodexConversation, messages: Messages, settings: Mapping[str, Any]
    ) -> None:
        """Prepare them. settings: the thread's, as they stand."""
        self._context = context
        self._conversation = conversation
        self._messages = messages
        self._settings = settings
        self._allowed: set[str] = set()  # commands and files that need no leave any more

    def do(self, step: Step) -> Steps:
        """Do what a step asks for. Raises Cancelled."""
        match step.kind:
            case "run":
                yield from self._command(step.text, is_asked=False)
            case "approve":
                yield from self._command(step.text, is_asked=self._settings["approvalPolicy"] != "never")
            case "edit":
                yield from self._edit(step.text)
            case "ask":
                yield from self._question(step)
            case "plan":
                yield from self._plan(step)
            case "think":
                yield from self._think(step.text)
            case "stall":
                yield step.amount
            case "retry":
                self._messages.tell_item("item/started", words.agent_message(ids.message_id(), ""))
                self._messages.tell_retry()
                yield 0.0
            case "drift":
                yield from self.drift()
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)

    def _command(self, script: str, *, is_asked: bool) -> Steps:
        identity, cwd = f"call_{ids.message_id()[4:]}", str(self._context.cwd)
        output = f"demo: `{script}` would run here\n"
        self._messages.tell_item("item/started", words.command(identity, script, cwd, "inProgress", None))
        status, is_cancelled = "completed", False
        if is_asked and script not in self._allowed:
            amendment = script.split()
            params = {
                "itemId": identity,
                "kind": "command",
                "command": words.shell_of(script),
                "cwd": cwd,
                "commandActions": [{"type": "unknown", "command": script}],
                "proposedExecpolicyAmendment": amendment,
                "availableDecisions": [
                    "accept",
                    {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": amendment}},
                    "cancel",
                ],
            }
            decision = yield from self._ask_leave("item/commandExecution/requestApproval", params)
            status, is_cancelled = self._weigh(decision, script), decision == "cancel"
        done = status == "completed"
        if done:
            self._messages.tell_delta("item/commandExecution/outputDelta", identity, output)
            yield 0.0
        call = {"name": "exec_command", "arguments": json.dumps({"cmd": script}), "call_id": identity}
        result = output if done else "exec command rejected by user"
        self._conversation.append(
            self._context.now(),
            ("response_item", {"type": "function_call", **call}),
            ("response_item", {"type": "function_call_output", "call_id": identity, "output": result}),
        )
        self._messages.tell_item(
            "item/completed", words.command(identity, script, cwd, status, output if done else None)
        )
        if is_cancelled:
            raise Cancelled

    def _edit(self, name: str) -> Steps:
        edit, identity = edits.plan(self._context.cwd, name), f"call_{ids.message_id()[4:]}"
        change = {"path": str(edit.path), "kind": {"type": edit.kind}, "diff": edit.codex_diff}
        item = {"type": "fileChange", "id": identity, "changes": [change]}
        self._messages.tell_item("item/started", item | {"status": "inProgress"})
        status, is_cancelled = "completed", False
        sandbox, approval = self._settings["sandbox"].get("type"), self._settings["approvalPolicy"]
        is_asked = approval == "untrusted" or (approval != "never" and sandbox == "readOnly")
        if is_asked and str(edit.path) not in self._allowed:
            params = {"itemId": identity, "reason": None, "grantRoot": None}
            decision = yield from self._ask_leave("item/fileChange/requestApproval", params)
            status, is_cancelled = self._weigh(decision, str(edit.path)), decision == "cancel"
        if status == "completed" and not edit.apply():
            status = "failed"
        self._messages.tell_item("item/completed", item | {"status": status})
        if status == "completed":
            self._tell_diff(edit.diff)
        if is_cancelled:
            raise Cancelled

    def _tell_diff(self, diff: str) -> None:
        running = self._messages.running
        if running is not None:
            running.diff += diff
            self._messages.notify("turn/diff/updated", {"turnId": running.id, "diff": running.diff})

    def _weigh(self, decision: Any, what: str) -> str:  # noqa: ANN401 - foreign
        """Return the status of an item after the answer to its request."""
        if decision == "acceptForSession" or isinstance(decision, dict):
            self._allowed.add(what)
            return "completed"
        return {"accept": "completed", "decline": "declined", "cancel": "declined"}.get(str(decision), "failed")

    def _ask_leave(self, method: str, params: dict[str, Any]) -> Steps:
        result = yield from self._messages.ask(method, params, "waitingOnApproval")
        return result.get("decision") if isinstance(result, dict) else None

    def _question(self, step: Step) -> Steps:
        options = [{"label": choice, "description": ""} for choice in step.choices]
        question = {"id": "q1", "header": "Question", "question": step.text, "isOther": True, "isSecret": False}
        params = {"itemId": f"call_{ids.message_id()[4:]}", "questions": [question | {"options": options}]}
        yield from self._messages.ask("item/tool/requestUserInput", params | {"isBlocking": True}, "waitingOnUserInput")

    def _plan(self, step: Step) -> Steps:
        for done in range(len(step.choices) + 1):
            points = [
                {"step": point, "status": "completed" if place < done else "inProgress" if place == done else "pending"}
                for place, point in enumerate(step.choices)
            ]
            params = {"turnId": self._messages.turn_id, "explanation": None, "plan": points}
            self._messages.notify("turn/plan/updated", params)
            yield self._context.pace_s

    def _think(self, thought: str) -> Steps:
        item: dict[str, Any] = {"type": "reasoning", "id": f"rs_{ids.message_id()[4:]}", "summary": [], "content": []}
        self._messages.tell_item("item/started", item)
        for piece in answers.chunks(thought):
            yield self._context.pace_s
            self._messages.tell_delta("item/reasoning/summaryTextDelta", item["id"], piece, summaryIndex=0)
        self._messages.tell_item("item/completed", item | {"summary": [thought]})

    def drift(self) -> Steps:
        """Say what no client of today knows."""
        item = {"type": "hologram", "id": f"hg_{ids.message_id()[4:]}", "status": "glowing", "lumens": 7}
        self._messages.tell_whole(item)
        self._messages.notify("thread/hologram/updated", {"hologram": {"lumens": 7}})
        yield from self._messages.ask("item/hologram/requestApproval", {"itemId": item["id"]}, "waitingOnHologram")

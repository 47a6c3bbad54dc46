"""What the demo's claude does in a turn before it answers: calls of tools, with leave where its mode asks for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any

from oulipoly_demo.base import answers
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.directives import Step
from oulipoly_demo.live import claude_lines, edits
from oulipoly_demo.live.claude_talk import Talk
from oulipoly_demo.live.edits import Edit
from oulipoly_demo.live.wire import Steps

_CONTEXT_LINES = 3
_BROKEN = (
    'Tool permission request failed: ZodError: [{"code": "invalid_union", "path": ["updatedInput"], '
    '"message": "Invalid input: expected record, received undefined"}]'
)


class Interrupted(Exception):
    """A person denied a call, and the turn with it."""


class ClaudeSteps:
    """The steps of one session's turns."""

    def __init__(self, context: CliContext, talk: Talk, mode: str) -> None:
        """mode: the permission mode."""
        self.mode = mode
        self._context, self._talk = context, talk
        self._allowed: set[str] = set()  # commands that need no leave any more
        self._tasks = 0

    def do(self, step: Step) -> Steps:
        """Do what a step asks for. Raises Interrupted."""
        match step.kind:
            case "run":
                yield from self._command(step.text, is_asked=False)
            case "approve":
                yield from self._command(step.text, is_asked=self.mode != "bypassPermissions")
            case "edit":
                yield from self._edit(step.text)
            case "ask":
                yield from self._question(step)
            case "plan":
                yield from self._plan(step)
            case "think":
                yield from self._talk.think(answers.chunks(step.text))
            case "stall":
                yield step.amount
            case "retry":
                retry = {"attempt": 1, "max_retries": 10, "retry_delay_ms": 500, "error_status": None}
                self._talk.tell({"type": "system", "subtype": "api_retry", **retry, "error": "unknown"})
                yield 0.0
            case "drift":
                yield from self.drift()
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)

    def drift(self) -> Steps:
        """Say what no client of today knows."""
        self._talk.tell({"type": "weather", "sky": "green"})
        self._talk.tell({"type": "system", "subtype": "aurora", "lumens": 7})
        hologram = {"id": "msg_hologram", "role": "assistant", "content": [{"type": "hologram", "lumens": 7}]}
        self._talk.tell({"type": "assistant", "message": hologram, "parent_tool_use_id": None})
        yield from self._talk.ask({"subtype": "read_mind", "depth": 7})

    def _command(self, script: str, *, is_asked: bool) -> Steps:
        given = {"command": script, "description": "a demo's command"}
        identity = self._talk.start_tool("Bash", given)
        yield self._context.pace_s
        leave = None
        if is_asked and script not in self._allowed:
            leave = yield from self._ask_leave("Bash", given, identity)
            if leave is None:
                return
            if any(one.get("type") == "addRules" for one in leave.get("updatedPermissions") or []):
                self._allowed.add(script)
        output = f"demo: `{script}` would run here"
        details = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
        self._talk.end_tool(output, details=details)

    def _edit(self, name: str) -> Steps:
        edit = edits.plan(self._context.cwd, name)
        path = str(edit.path)
        tool, given = ("Write", {"file_path": path, "content": edit.after})
        if edit.kind == "update":
            tool, given = "Edit", {"file_path": path, "old_string": edit.before, "new_string": edit.after}
        identity = self._talk.start_tool(tool, given)
        yield self._context.pace_s
        if self.mode not in ("acceptEdits", "bypassPermissions"):
            leave = yield from self._ask_leave(tool, given, identity)
            if leave is None:
                return
            if any(one.get("type") == "setMode" for one in leave.get("updatedPermissions") or []):
                self.mode = "acceptEdits"
        if edit.apply():
            self._talk.end_tool(f"The file {path} has been changed.", details=_told(edit))
        else:
            self._talk.end_tool(f"The file {path} cannot be changed.", is_error=True)

    def _question(self, step: Step) -> Steps:
        options = [{"label": choice, "description": ""} for choice in step.choices]
        question = {"question": step.text, "header": "Question", "options": options, "multiSelect": False}
        given = {"questions": [question]}
        identity = self._talk.start_tool("AskUserQuestion", given)
        yield self._context.pace_s
        leave = yield from self._ask_leave("AskUserQuestion", given, identity)
        if leave is None:
            return
        told = leave["updatedInput"].get("answers")
        replies = told if isinstance(told, dict) else {}
        said = " ".join(f'"{text}"="{reply}".' for text, reply in replies.items())
        self._talk.end_tool(f"Your questions have been answered: {said}", details={**given, "answers": replies})

    def _plan(self, step: Step) -> Steps:
        first = self._tasks + 1
        for subject in step.choices:
            self._tasks += 1
            task = {"id": str(self._tasks), "subject": subject}
            self._talk.start_tool("TaskCreate", {"subject": subject, "description": subject})
            yield self._context.pace_s
            self._talk.end_tool(f"Task #{self._tasks} created successfully: {subject}", details={"task": task})
        for state in ("in_progress", "completed"):
            self._talk.start_tool("TaskUpdate", {"taskId": str(first), "status": state})
            yield self._context.pace_s
            self._talk.end_tool(f"Updated task #{first} status", details={"success": True, "taskId": str(first)})

    def _ask_leave(self, tool: str, given: Mapping[str, Any], identity: str) -> Steps:
        """Ask before a tool is used; returns the allowance, or None where there is none. Raises Interrupted."""
        request = claude_lines.leave_request(tool, given, identity, str(self._context.cwd))
        answer = yield from self._talk.ask(request)
        told = answer if isinstance(answer, dict) else {}
        if told.get("behavior") == "allow" and isinstance(told.get("updatedInput"), dict):
            return told
        message = _BROKEN if told.get("behavior") == "allow" else str(told.get("message") or "denied")
        running = self._talk.running
        if running is not None:
            running.denials.append({"tool_name": tool, "tool_use_id": identity, "tool_input": dict(given)})
        if told.get("interrupt") is True:
            raise Interrupted
        self._talk.end_tool(message, is_error=True)
        return None


def _told(edit: Edit) -> dict[str, Any]:
    """Return what claude tells of a change that is made."""
    path = str(edit.path)
    if edit.kind == "add":
        return {"type": "create", "filePath": path, "content": edit.after, "structuredPatch": [], "originalFile": None}
    before, after = edit.before.splitlines(), edit.after.splitlines()
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

"""Codex's items and their deltas, as items of ours. Pure.

Source: codex 0.169, seen 2026-11. Item ids are codex's own; a command's `processId` is no process of the system.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from oulipoly_engine.core.live.events import FileChange, Item, ItemKind, ItemStatus
from oulipoly_engine.core.transcripts.codex import find_script
from oulipoly_engine.drivers import json_values as fields
from oulipoly_engine.drivers.json_values import Json
from oulipoly_engine.drivers.turn_items import whole_file_diff
from oulipoly_engine.records import Record

_KINDS: Mapping[str, ItemKind] = {
    "userMessage": "user_message",
    "agentMessage": "agent_message",
    "reasoning": "reasoning",
    "commandExecution": "command",
    "fileChange": "file_change",
    "mcpToolCall": "tool",
    "dynamicToolCall": "tool",
    "collabAgentToolCall": "tool",
    "webSearch": "tool",
    "imageView": "tool",
    "imageGeneration": "tool",
    "plan": "plan",
    "enteredReviewMode": "review",
    "exitedReviewMode": "review",
    "contextCompaction": "compaction",
}
_STATUSES: Mapping[str, ItemStatus] = {"failed": "failed", "declined": "declined", "interrupted": "interrupted"}
_STEP_STATUSES = {"inprogress": "in_progress", "completed": "completed"}
_LONGEST_TITLE = 200


class Delta(Record):
    """What kind of item a delta belongs to."""

    kind: ItemKind
    native_kind: str
    stream: str = ""
    otherwise: str = ""  # the text where the message carries none


DELTAS: Mapping[str, Delta] = {
    "item/agentMessage/delta": Delta("agent_message", "agentMessage"),
    "item/reasoning/textDelta": Delta("reasoning", "reasoning"),
    "item/reasoning/summaryTextDelta": Delta("reasoning", "reasoning", "summary"),
    "item/reasoning/summaryPartAdded": Delta("reasoning", "reasoning", "summary", "\n"),
    "item/plan/delta": Delta("plan", "plan"),
    "item/commandExecution/outputDelta": Delta("command", "commandExecution"),
    "item/fileChange/outputDelta": Delta("file_change", "fileChange"),
}


def decode_item(native: Json, *, is_over: bool) -> Item | None:
    """Return an item; None without an id, for nothing could be matched with it."""
    identity, native_kind = fields.text(native, "id"), fields.text(native, "type")
    if not identity:
        return None
    kind = _KINDS.get(native_kind, "other")
    changes = decode_changes(native)
    status: ItemStatus = _STATUSES.get(fields.text(native, "status"), "completed") if is_over else "running"
    return Item(
        id=identity,
        kind=kind,
        status=status,
        text=_text(native, native_kind),
        title=_title(native, native_kind, changes),
        native_kind=native_kind,
        phase=fields.text(native, "phase"),
        cwd=fields.text(native, "cwd"),
        exit_code=fields.whole_number(native, "exitCode"),
        changes=changes,
    )


def decode_changes(native: Json) -> tuple[FileChange, ...]:
    """Return the changes that an item, or a new patch of it, names."""
    return tuple(_change(one) for one in fields.objects(native, "changes") if fields.text(one, "path"))


def _change(native: Json) -> FileChange:
    kind = fields.text(fields.mapping(native, "kind"), "type") or fields.text(native, "kind") or "update"
    diff = fields.text(native, "diff")
    # Of a file that comes or goes codex tells the whole text in place of a diff.
    if kind == "add":
        diff = whole_file_diff(diff, "+")
    elif kind == "delete":
        diff = whole_file_diff(diff, "-")
    return FileChange(fields.text(native, "path"), kind, diff)


def decode_plan(identity: str, params: Json) -> Item:
    """Return the points of a plan as an item that stands for the turn's plan."""
    steps = tuple(
        (fields.text(one, "step"), _step_status(fields.text(one, "status")))
        for one in fields.objects(params, "plan")
        if fields.text(one, "step")
    )
    return Item(identity, "plan", text=fields.text(params, "explanation"), native_kind="turnPlan", steps=steps)


def decode_delta(method: str, params: Json) -> str:
    """Return the text that a delta adds."""
    return fields.text(params, "delta", "output", "text") or DELTAS[method].otherwise


def shell_script(command: str) -> str:
    """Return what a shell is given to do, `ls` of `/bin/bash -lc ls`; other commands as they are."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return find_script(words) or command


def one_line(text: str) -> str:
    """Return a text as a title: in one line, and not for ever."""
    line = " ".join(text[: 4 * _LONGEST_TITLE].split())
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1]}…"


def title_of_changes(changes: tuple[FileChange, ...]) -> str:
    """Return one line for the files that are changed."""
    if len(changes) == 1:
        return one_line(f"{changes[0].kind} {changes[0].path}")
    return f"{len(changes)} files" if changes else ""


def _text(native: Json, native_kind: str) -> str:
    match native_kind:
        case "userMessage":
            return "\n".join(fields.text(part, "text") for part in fields.objects(native, "content"))
        case "reasoning":
            return "\n\n".join((*fields.texts(native, "summary"), *fields.texts(native, "content")))
        case "commandExecution":
            return fields.text(native, "aggregatedOutput")
        case "enteredReviewMode" | "exitedReviewMode":
            return fields.text(native, "review")
        case "mcpToolCall":
            parts = fields.objects(fields.mapping(native, "result"), "content")
            said = "\n".join(fields.text(part, "text") for part in parts)
            return said or fields.text(fields.mapping(native, "error"), "message")
    return fields.text(native, "text", "result", "query")


def _title(native: Json, native_kind: str, changes: tuple[FileChange, ...]) -> str:
    match native_kind:
        case "commandExecution":
            return one_line(shell_script(fields.text(native, "command")))
        case "fileChange":
            return title_of_changes(changes)
        case "userMessage" | "agentMessage" | "reasoning" | "plan" | "contextCompaction":
            return ""
        case "enteredReviewMode" | "exitedReviewMode":
            return one_line(fields.text(native, "review"))
    words = (fields.text(native, "server"), fields.text(native, "tool"), fields.text(native, "query", "path"))
    return one_line(" ".join(word for word in words if word) or native_kind)


def _step_status(word: str) -> str:
    return _STEP_STATUSES.get(word.replace("_", "").lower(), "pending")

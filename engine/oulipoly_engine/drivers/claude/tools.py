"""What claude's tool calls are as items: commands, changes of files, plans, and everything else. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_engine.core.live.events import FileChange, Item, ItemKind
from oulipoly_engine.core.text.redact import redact_beginning
from oulipoly_engine.core.transcripts.claude import SHELL, read_exit_code
from oulipoly_engine.drivers.json_values import Json, count, listing, mapping, text_of
from oulipoly_engine.drivers.turn_items import change_of

_EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_PLANS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "ExitPlanMode"})
_SHOWN_FIRST = ("file_path", "path", "pattern", "query", "url", "subject", "prompt", "description", "skill")
_TITLE_LENGTH = 200  # characters
_STEP_STATES = frozenset({"pending", "in_progress", "completed"})


def kind_of(tool: str) -> ItemKind:
    """Return what a tool's call is."""
    if tool == SHELL:
        return "command"
    if tool in _EDITS:
        return "file_change"
    return "plan" if tool in _PLANS else "tool"


def item_of(tool_use_id: str, tool: str, given: Mapping[str, Json], cwd: str) -> Item:
    """Return the item of a call that begins. given: the tool's input."""
    kind = kind_of(tool)
    return Item(
        id=tool_use_id,
        kind=kind,
        title=title_of(tool, given),
        native_kind=tool,
        cwd=cwd if kind == "command" else "",
        changes=changes_of(tool, given),
        steps=_todos(given) if tool == "TodoWrite" else (),
        text=text_of(given.get("plan")) if tool == "ExitPlanMode" else "",
    )


def title_of(tool: str, given: Mapping[str, Json]) -> str:
    """Return a call in one line: the command itself, or the tool with what it was given first."""
    if tool == SHELL and text_of(given.get("command")):
        return text_of(given.get("command"))
    shown = next((text_of(given[name]) for name in _SHOWN_FIRST if text_of(given.get(name))), "")
    first = redact_beginning(shown.splitlines()[0], _TITLE_LENGTH) if shown.strip() else ""
    return f"{tool} {first}".strip()


def changes_of(tool: str, given: Mapping[str, Json]) -> tuple[FileChange, ...]:
    """Return what a call will change, as far as its input tells: claude sends no diff before the change is made."""
    path = text_of(given.get("file_path")) or text_of(given.get("notebook_path"))
    if tool not in _EDITS or not path:
        return ()
    if tool == "Write":
        return (change_of(path, None, text_of(given.get("content"))),)
    edits = [mapping(edit) for edit in listing(given.get("edits"))] if tool == "MultiEdit" else [given]
    parts = [_edit_of(path, edit) for edit in edits]
    return (FileChange(path, "update", "".join(part.diff for part in parts)),)


def outcome_of(item: Item, result: Mapping[str, Json], told: Json) -> dict[str, Any]:
    """Return the fields of an item that its result settles. told: `tool_use_result` of the line."""
    details = mapping(told)
    text = _result_text(result.get("content"))
    is_error = result.get("is_error") is True
    fields: dict[str, Any] = {"status": "failed" if is_error else "completed"}
    if item.kind == "command":
        fields |= {"text": text, "exit_code": _exit_code(text, details, is_error=is_error)}
    elif item.kind == "file_change":
        fields |= {"text": text, "changes": _changed(details) or item.changes}
    elif item.native_kind != "ExitPlanMode":
        fields["text"] = text
    return fields


def _edit_of(path: str, edit: Mapping[str, Json]) -> FileChange:
    old = text_of(edit.get("old_string"))
    new = text_of(edit.get("new_string")) or text_of(edit.get("new_source"))
    return change_of(path, old, new)


def _changed(details: Mapping[str, Json]) -> tuple[FileChange, ...]:
    """Return the change as claude tells it once it is made, with the file's own line numbers."""
    path = text_of(details.get("filePath"))
    if not path:
        return ()
    hunks = [mapping(hunk) for hunk in listing(details.get("structuredPatch"))]
    if details.get("type") == "create" or not hunks:
        made = text_of(details.get("content"))
        return (change_of(path, None, made),) if details.get("type") == "create" else ()
    head = f"--- a/{path.lstrip('/')}\n+++ b/{path.lstrip('/')}\n"
    return (FileChange(path, "update", head + "".join(map(_hunk, hunks))),)


def _hunk(hunk: Mapping[str, Json]) -> str:
    numbers = [count(hunk.get(name)) for name in ("oldStart", "oldLines", "newStart", "newLines")]
    head = "@@ -{},{} +{},{} @@\n".format(*numbers)
    return head + "".join(f"{text_of(line)}\n" for line in listing(hunk.get("lines")))


def _exit_code(text: str, details: Mapping[str, Json], *, is_error: bool) -> int | None:
    if is_error:
        return read_exit_code(text)
    return 0 if "stdout" in details and "backgroundTaskId" not in details else None


def _result_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    blocks = [mapping(block) for block in listing(content)]
    return "\n".join(text_of(block.get("text")) or f"[{block.get('type', 'content')}]" for block in blocks)


def _todos(given: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    todos = [mapping(todo) for todo in listing(given.get("todos"))]
    return tuple((text_of(todo.get("content")), step_state(todo.get("status"))) for todo in todos)


def step_state(status: Json) -> str:
    """Return the state of a plan's step."""
    return status if isinstance(status, str) and status in _STEP_STATES else "pending"


class TaskList:
    """The plan that claude keeps by TaskCreate and TaskUpdate, over all turns of the session."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[str, str]] = {}

    def apply(self, tool: str, given: Mapping[str, Json], told: Json) -> tuple[tuple[str, str], ...]:
        """Take a call that has succeeded and return the plan's steps."""
        if tool == "TaskCreate":
            task = mapping(mapping(told).get("task"))
            number = str(task.get("id", len(self._tasks) + 1))
            self._tasks[number] = (text_of(task.get("subject")) or text_of(given.get("subject")), "pending")
        elif tool == "TaskUpdate":
            self._update(str(given.get("taskId", "")), given)
        return tuple(self._tasks.values())

    def _update(self, number: str, given: Mapping[str, Json]) -> None:
        if given.get("status") == "deleted":
            self._tasks.pop(number, None)
            return
        subject, state = self._tasks.get(number, (f"task {number}", "pending"))
        state = step_state(given.get("status")) if "status" in given else state
        self._tasks[number] = (text_of(given.get("subject")) or subject, state)

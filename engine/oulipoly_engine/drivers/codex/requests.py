"""What codex asks a person, and the answers that it was seen to understand. Pure.

Source: codex 0.169, seen 2026-11. A wrong word as an answer is not reported, the tool call just fails: so only words
that were tried are sent. For the same reason the older `execCommandApproval` and `applyPatchApproval`, and the
permissions and the elicitations of MCP servers themselves, which were never seen, are not answered but refused, and
shown. Of elicitations codex's own question whether a tool of an MCP server may be called is known.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from oulipoly_engine.core.live.events import FileChange, Prompt, Question, RequestKind
from oulipoly_engine.core.live.requests import Decision
from oulipoly_engine.drivers import json_values as fields
from oulipoly_engine.drivers.base import Resolution
from oulipoly_engine.drivers.codex import items
from oulipoly_engine.drivers.json_values import Json
from oulipoly_engine.drivers.jsonrpc import ServerRequest
from oulipoly_engine.records import Record

_COMMAND = "item/commandExecution/requestApproval"
_FILES = "item/fileChange/requestApproval"
_TOOL = "mcpServer/elicitation/request"
_TOOL_KIND = "mcp_tool_call"
_INPUT = ("item/tool/requestUserInput", "tool/requestUserInput", "userInput/request")
_WORDS: Mapping[Decision, str] = {
    "approve": "accept",
    "approve_for_session": "acceptForSession",
    "deny": "decline",
    "answer": "decline",  # an approval takes no answers
    "cancel": "cancel",
    "expire": "cancel",
}

_TOOL_WORDS: Mapping[Decision, str] = {**_WORDS, "approve_for_session": "accept"}


class OpenRequest(Record):
    """A request of codex that waits for a person."""

    id: int | str  # codex's own, counted from 0 in each process
    kind: RequestKind
    prompt: Prompt
    thread_id: str = ""
    turn_id: str = ""
    is_tool: bool = False  # of an MCP server


def native_id_of(identity: int | str) -> str:
    """Return an id as JSON, so that 7 and "7" stay two."""
    return msgspec.json.encode(identity).decode()


def decode_request(request: ServerRequest, changes: Mapping[str, tuple[FileChange, ...]]) -> OpenRequest:
    """Return what a request asks. changes: of the items of the turn, since an approval of files names none itself."""
    params = request.params
    if request.method == _COMMAND:
        kind, prompt = "command_approval", _command_prompt(params)
    elif request.method == _FILES:
        kind, prompt = "file_change_approval", _files_prompt(params, changes)
    elif request.method == _TOOL and fields.text(fields.mapping(params, "_meta"), "codex_approval_kind") == _TOOL_KIND:
        return OpenRequest(request.id, "permission_approval", _tool_prompt(params), *_ids(params), is_tool=True)
    elif request.method in _INPUT:
        kind, prompt = "user_input", _input_prompt(params)
    else:
        return OpenRequest(request.id, "other", _unanswerable(request.method), *_ids(params))
    return OpenRequest(request.id, kind, prompt, *_ids(params))  # type: ignore[arg-type] # a choice of literals


def reply_to(request: OpenRequest, resolution: Resolution) -> dict[str, Any]:
    """Return the result that answers a request; a question that is not answered gets no answers."""
    if request.is_tool:
        persist = {"persist": "session"} if resolution.decision == "approve_for_session" else None
        return {"action": _TOOL_WORDS[resolution.decision], "content": {}, "_meta": persist}
    if request.kind != "user_input":
        return {"decision": _WORDS[resolution.decision]}
    given = resolution.answers if resolution.decision == "answer" else {}
    answers = {one.id: {"answers": list(given.get(one.id, ()))} for one in request.prompt.questions if one.id in given}
    return {"answers": answers}


def _ids(params: Mapping[str, Json]) -> tuple[str, str]:
    return fields.text(params, "threadId"), fields.text(params, "turnId")


def _command_prompt(params: Mapping[str, Json]) -> Prompt:
    command = fields.text(params, "command", "cmd") or shlex.join(fields.texts(params, "command", "cmd", "argv"))
    network = fields.mapping(params, "networkApprovalContext")
    title = items.one_line(items.shell_script(command))
    if fields.text(network, "host"):
        title = items.one_line(f"{title or 'A command'}: network access to {fields.text(network, 'host')}")
    return Prompt(
        title=title or "a command that codex did not name",
        command=command,
        cwd=fields.text(params, "cwd"),
        reason=fields.text(params, "reason"),
        reach="this very command, as long as this process of codex runs",
        item_id=fields.text(params, "itemId"),
    )


def _tool_prompt(params: Mapping[str, Json]) -> Prompt:
    about = fields.mapping(params, "_meta")
    name = f"{fields.text(params, 'serverName')} {fields.text(about, 'tool_name')}"
    arguments = fields.mapping(about, "tool_params")
    return Prompt(
        title=items.one_line(name),
        command=msgspec.json.encode(arguments).decode() if arguments else "",
        reason=fields.text(about, "tool_description"),
        reach="every use of this tool, as long as this process of codex runs",
    )


def _files_prompt(params: Mapping[str, Json], known: Mapping[str, tuple[FileChange, ...]]) -> Prompt:
    item_id, root = fields.text(params, "itemId"), fields.text(params, "grantRoot")
    changes = known.get(item_id) or _named_files(params)
    reach = "these files, as long as this process of codex runs"
    return Prompt(
        title=items.title_of_changes(changes) or "changes of files that codex did not name",
        reason=fields.text(params, "reason"),
        changes=changes,
        reach=f"all files below {root}, as long as this process of codex runs" if root else reach,
        item_id=item_id,
    )


def _named_files(params: Mapping[str, Json]) -> tuple[FileChange, ...]:
    """Return the changes that other versions of codex name in the request itself."""
    diff = fields.text(params, "diff")
    paths = fields.texts(params, "changedFiles") or tuple(
        fields.text(one, "path") for one in fields.objects(params, "changedFiles")
    )
    return tuple(FileChange(path, diff=diff if len(paths) == 1 else "") for path in paths if path)


def _input_prompt(params: Mapping[str, Json]) -> Prompt:
    questions = tuple(_question(one, place) for place, one in enumerate(fields.objects(params, "questions"), 1))
    title = questions[0].text if questions else ""
    return Prompt(
        title=items.one_line(title) or "an answer",
        questions=questions,
        item_id=fields.text(params, "itemId"),
    )


def _question(native: Mapping[str, Json], place: int) -> Question:
    return Question(
        id=fields.text(native, "id") or f"question_{place}",
        text=fields.text(native, "question"),
        header=fields.text(native, "header"),
        options=tuple(
            (fields.text(one, "label"), fields.text(one, "description"))
            for one in fields.objects(native, "options")
            if fields.text(one, "label")
        ),
        takes_other=fields.is_set(native, "isOther"),
        is_secret=fields.is_set(native, "isSecret"),
    )


def _unanswerable(method: str) -> Prompt:
    shown = items.one_line(method)
    return Prompt(
        title=shown,
        note=f"Codex asked `{shown}`, which cannot be answered here. It was told so and goes on without an answer.",
    )

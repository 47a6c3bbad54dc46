"""Conversations in Claude Code's native transcript format.

Source: transcripts of Claude Code 2.1.197, seen 2026-11. One record a message, a tree by `uuid` and `parentUuid`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

from oulipoly_demo.base import ids, jsonl
from oulipoly_demo.base.context import VERSION, CliContext
from oulipoly_demo.base.conversation import Answer, Turn, kept
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tokens

_LONGEST_NAME = 200
_INTERRUPTED = "[Request interrupted by user]"


class ClaudeConversation:
    """One conversation and its transcript."""

    def __init__(
        self,
        context: CliContext,
        session_id: str,
        *,
        entrypoint: str,
        records: list[dict[str, Any]],
        new_id: Callable[[], str] = ids.random_uuid,
    ) -> None:
        """Wrap the conversation that `records` hold; none: it begins with the first prompt."""
        self._new_id = new_id
        self.session_id = session_id
        self.path = folder(context) / f"{session_id}.jsonl"
        self.answer: dict[str, Any] = {}  # the record of the last answer
        self._entrypoint = entrypoint
        self._cwd = str(context.cwd)
        self._is_new = not records
        self._leaf, self._turns = _branch(records)
        self._marker = context.home / "sessions" / f"{os.getpid()}.json"

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Return the messages so far, oldest first."""
        return tuple(self._turns)

    def open(self, now: float) -> None:
        """Say in a file that this process has the session open, as Claude does since 2.1.197."""
        self._marker.parent.mkdir(parents=True, exist_ok=True)
        state = {"pid": os.getpid(), "sessionId": self.session_id, "cwd": self._cwd, "startedAt": int(now * 1000)}
        state |= {"procStart": _process_start(), "version": VERSION, "status": "busy"}
        self._marker.write_text(json.dumps(state))

    def begin(self, prompt: str, model: str, now: float, *, uuid: str | None = None) -> None:
        """Write down the prompt; raises FileExistsError when a new conversation's id was taken meanwhile.

        uuid: the record's, where somebody else has chosen it.
        """
        record = self.record("user", {"role": "user", "content": prompt}, now, uuid=uuid)
        record |= {"permissionMode": "default", "promptSource": "sdk"}
        jsonl.append(self.path, [record], new=self._is_new)
        self._is_new = False
        self._turns.append(Turn("user", prompt))

    def finish(self, answer: Answer, now: float) -> None:
        """Write down the answer and which leaf a resume goes on from."""
        text = kept(answer.text)
        message = api_message(text, answer.model, answer.tokens)
        self._answered(self.record("assistant", message, now), text)

    def fail(self, failure: Failure, now: float) -> None:
        """Write down the refusal as Claude does: as an answer by nobody."""
        record = self.record("assistant", synthetic_message(failure.text), now)
        record |= {"error": failure.slug, "isApiErrorMessage": True, "apiErrorStatus": failure.status}
        self._answered(record, failure.text)

    def interrupt(self, now: float) -> None:
        """Write down that the user stopped the answer, where there is something to stop."""
        if self._is_new:
            return
        content = [{"type": "text", "text": _INTERRUPTED}]
        jsonl.append(self.path, [self.record("user", {"role": "user", "content": content}, now)])

    def compact(self, summary: str, now: float) -> None:
        """Write down that the past was shortened to a summary."""
        edge = self.record("system", {}, now)
        edge |= {"subtype": "compact_boundary", "content": "Conversation compacted", "logicalParentUuid": None}
        edge |= {"compactMetadata": {"trigger": "manual", "preTokens": 100 * len(self._turns)}}
        del edge["message"]
        told = self.record("user", {"role": "user", "content": summary}, now)
        jsonl.append(self.path, [edge, told | {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}])

    def close(self) -> None:
        """Remove the file that says this process has the session open."""
        self._marker.unlink(missing_ok=True)

    def _answered(self, record: dict[str, Any], text: str) -> None:
        self.answer = record
        prompt = next((turn.text for turn in reversed(self._turns) if turn.role == "user"), "")
        last = {"type": "last-prompt", "lastPrompt": prompt[:_LONGEST_NAME], "leafUuid": record["uuid"]}
        jsonl.append(self.path, [record, last | {"sessionId": self.session_id}])
        self._turns.append(Turn("assistant", text))

    @property
    def leaf(self) -> str | None:
        """Return the message that the next one follows."""
        return self._leaf

    def go_back(self, leaf: str | None) -> None:
        """Let the next message follow an earlier one: a branch begins, or a side chain ends."""
        self._leaf = leaf

    def add(self, kind: str, message: dict[str, Any], now: float, **more: Any) -> str:  # noqa: ANN401 - JSON
        """Write down a message that is neither prompt nor answer, a tool's call for example; returns its uuid."""
        record = self.record(kind, message, now) | more
        jsonl.append(self.path, [record])
        return str(record["uuid"])

    def record(self, kind: str, message: dict[str, Any], now: float, *, uuid: str | None = None) -> dict[str, Any]:
        """Make the next message's record, which is not written yet."""
        record = {
            "parentUuid": self._leaf,
            "isSidechain": False,
            "type": kind,
            "message": message,
            "uuid": uuid or self._new_id(),
            "timestamp": levels.instant_text(now),
            "userType": "external",
            "entrypoint": self._entrypoint,
            "cwd": self._cwd,
            "sessionId": self.session_id,
            "version": VERSION,
            "gitBranch": "",
        }
        self._leaf = str(record["uuid"])
        return record


def folder(context: CliContext) -> Path:
    """Return where the transcripts of the context's working directory lie."""
    return context.home / "projects" / escape(str(context.cwd))


def escape(cwd: str) -> str:
    """Turn a real path into a folder's name: everything but ASCII letters and digits becomes a dash."""
    name = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}-{crc32(cwd.encode()):x}"


def is_taken(context: CliContext, session_id: str) -> bool:
    """Tell whether the account has a conversation of that id, in whatever working directory."""
    return any((context.home / "projects").glob(f"*/{session_id}.jsonl"))


def start(context: CliContext, *, entrypoint: str, session_id: str | None = None) -> ClaudeConversation:
    """Return a new conversation, which is written with its first prompt."""
    return ClaudeConversation(context, session_id or ids.random_uuid(), entrypoint=entrypoint, records=[])


def resume(context: CliContext, session_id: str, *, entrypoint: str) -> ClaudeConversation | None:
    """Return a conversation of this working directory, or None when it has none of that id or an empty one."""
    path = folder(context) / f"{session_id}.jsonl"
    records = jsonl.read(path) if path.is_file() else []
    if not any(record.get("type") in ("user", "assistant") for record in records):
        return None
    return ClaudeConversation(context, session_id, entrypoint=entrypoint, records=records)


def fork(
    context: CliContext,
    source: ClaudeConversation,
    *,
    entrypoint: str,
    session_id: str | None,
    until: str | None = None,
) -> ClaudeConversation:
    """Copy a conversation under a new id; as with Claude the copies keep their uuids. until: the last message's."""
    new_id = session_id or ids.random_uuid()
    records = [record | {"sessionId": new_id} for record in _cut(jsonl.read(source.path), until)]
    jsonl.append(folder(context) / f"{new_id}.jsonl", records, new=True)
    return ClaudeConversation(context, new_id, entrypoint=entrypoint, records=records)


def cut(conversation: ClaudeConversation, context: CliContext, until: str, *, entrypoint: str) -> ClaudeConversation:
    """Return a conversation that goes on from an earlier message of itself."""
    records = _cut(jsonl.read(conversation.path), until)
    return ClaudeConversation(context, conversation.session_id, entrypoint=entrypoint, records=records)


def _cut(records: list[dict[str, Any]], until: str | None) -> list[dict[str, Any]]:
    """Return the records up to a message; raises LookupError where there is none of that uuid."""
    if until is None:
        return records
    places = [place for place, record in enumerate(records) if record.get("uuid") == until]
    if not places:
        raise LookupError(f"No message found with message.uuid of: {until}")
    return records[: places[-1] + 1]


def usage(tokens: Tokens) -> dict[str, Any]:
    """Return the `usage` block of an API reply."""
    return {
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": tokens.output,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
    }


def api_message(text: str, model: str, tokens: Tokens) -> dict[str, Any]:
    """Return an assistant message as the API gives it."""
    return {
        "id": ids.message_id(),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage(tokens),
    }


def synthetic_message(text: str) -> dict[str, Any]:
    """Return the message that Claude makes up itself when a call failed."""
    made_up = {"id": ids.random_uuid(), "model": "<synthetic>", "stop_reason": "stop_sequence", "stop_sequence": ""}
    return api_message(text, "", Tokens(0, 0)) | made_up


def _branch(records: list[dict[str, Any]]) -> tuple[str | None, list[Turn]]:
    """Walk from the file's last message up to its root: (leaf, turns in order)."""
    tree = {record["uuid"]: record for record in records if isinstance(record.get("uuid"), str)}
    leaf = next(reversed(tree), None)
    turns: list[Turn] = []
    seen: set[str] = set()
    at: object = leaf
    while isinstance(at, str) and at in tree and at not in seen:  # a file edited by hand may hold a circle
        seen.add(at)
        record = tree[at]
        text = _text(record.get("message")) if record.get("type") in ("user", "assistant") else ""
        if text:  # the calls of tools and their results have none
            turns.append(Turn(record["type"], text))
        at = record.get("parentUuid")
    return leaf, turns[::-1]


def _text(message: Any) -> str:  # noqa: ANN401 - whatever the JSON holds
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block["text"]) for block in blocks if isinstance(block, dict) and "text" in block)


def _process_start() -> str | None:
    """Return the kernel's start time of this process (field 22 of Linux' stat), by which a reused pid is told apart."""
    try:
        stat = Path("/proc/self/stat").read_text()
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]

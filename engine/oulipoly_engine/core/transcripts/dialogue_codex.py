"""Read a Codex rollout for people. Pure.

`response_item` is what the model was told and has said; `event_msg` repeats it for the CLI's own screen.
Source: rollouts of 0.60 to 0.169, seen 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from oulipoly_engine.core.transcripts.canonical import ROLES, Line
from oulipoly_engine.core.transcripts.dialogue import (
    Findings,
    Kind,
    Part,
    Turn,
    arguments_text,
    image_part,
    note_once,
    record_of,
)

_NOT_TYPED = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_aborted>", "<skills_instructions>")

Payload = Mapping[str, Any]


def read(lines: Iterable[Line], findings: Findings) -> Iterator[Turn]:
    """Yield the turns of a rollout; what is learned on the way goes into the findings."""
    model: str | None = None
    for line in lines:
        record = record_of(line)
        payload = None if record is None else record.get("payload")
        if record is None:
            findings.note_damage(line.number)
        elif isinstance(payload, dict):
            model = _learn(str(record.get("type")), payload, findings) or model
            turn = _turn(record, payload, model, line.number)
            if turn is not None:
                findings.note(turn)
                yield turn


def _learn(kind: str, payload: Payload, findings: Findings) -> str | None:
    """Note where the session worked, and return the model from here on if the record names one."""
    if kind not in ("session_meta", "turn_context"):
        return None
    cwd, parent, model = payload.get("cwd"), payload.get("forked_from_id"), payload.get("model")
    if isinstance(cwd, str):
        note_once(findings.workspaces, cwd)
    if isinstance(parent, str):
        findings.forked_from = findings.forked_from or parent
    return model if isinstance(model, str) and kind == "turn_context" else None


def _turn(record: Payload, payload: Payload, model: str | None, line: int) -> Turn | None:
    kind, item = record.get("type"), str(payload.get("type"))
    parts: tuple[Part, ...]
    if kind == "compacted":
        role, parts = "user", (Part(Kind.SUMMARY, str(payload.get("message") or "")),)
    elif kind == "response_item" and item == "message" and payload.get("role") in ROLES:
        role, parts = str(payload["role"]), tuple(_parts(payload.get("content")))
    elif kind == "response_item" and item in _ITEMS:
        role, parts = "assistant", tuple(_ITEMS[item](payload))
    else:
        return None
    at, turn_id = record.get("timestamp"), payload.get("id")
    return Turn(
        role=role,
        at=at if isinstance(at, str) else "",
        parts=parts,
        turn_id=turn_id if isinstance(turn_id, str) else "",
        model=model if role == "assistant" else None,
        line=line,
    )


def _parts(content: object) -> Iterator[Part]:
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, dict) and str(item.get("type")).endswith("image"):
            yield _image(item.get("image_url"))
            continue
        text = item.get("text") if isinstance(item, dict) else item
        if isinstance(text, str):
            yield Part(Kind.CONTEXT if text.startswith(_NOT_TYPED) else Kind.TEXT, text)


def _image(url: object) -> Part:
    head, _, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    return image_part(head.removeprefix("data:").partition(";")[0] or "image", data)


def _called(payload: Payload) -> Iterator[Part]:
    given = payload.get("arguments", payload.get("input", payload.get("action")))
    if isinstance(given, str):
        try:
            value = json.loads(given)
        except (ValueError, RecursionError):
            value = given
        given = value if isinstance(value, dict) else given
    yield Part(Kind.CALL, arguments_text(given), str(payload.get("name") or payload["type"]))


def _returned(payload: Payload) -> Iterator[Part]:
    given = payload.get("output")
    if isinstance(given, list):
        for part in _parts(given):
            yield part if part.kind is Kind.IMAGE else Part(Kind.RESULT, part.text)
        return
    text = given.get("content") if isinstance(given, dict) else given
    is_error = isinstance(given, dict) and given.get("success") is False
    yield Part(Kind.RESULT, arguments_text(given if text is None else text), is_error=is_error)


def _thought(payload: Payload) -> Iterator[Part]:
    for key in ("summary", "content"):
        for part in _parts(payload.get(key) or []):
            yield Part(Kind.THINKING, part.text)


_ITEMS: Mapping[str, Callable[[Payload], Iterator[Part]]] = {
    "function_call": _called,
    "custom_tool_call": _called,
    "local_shell_call": _called,
    "web_search_call": _called,
    "function_call_output": _returned,
    "custom_tool_call_output": _returned,
    "reasoning": _thought,
}

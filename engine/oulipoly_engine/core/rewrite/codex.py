"""Edit a Codex rollout so that Codex can still resume it. Pure.

What it needs was tried with 0.60.1, 0.120.0 and 0.169.0 (2026-11): the order is the file's; the model is sent the
`response_item` messages, and after a compaction what `replacement_history` holds in their place; the screens show
copies of both in `event_msg` lines. Where lines carry an `ordinal`, it rises from line to line.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from oulipoly_engine.core.rewrite.content import Place, changes, new_blocks
from oulipoly_engine.core.rewrite.draft_lines import Draft
from oulipoly_engine.core.rewrite.replacement_input import ReplacementRecord
from oulipoly_engine.core.rewrite.steps import Kind, Step, texts
from oulipoly_engine.core.text.json_splice import Path, to_json, with_values
from oulipoly_engine.core.transcripts.canonical import Origin
from oulipoly_engine.core.transcripts.codex_copies import Copy, Message, copies_of, without

_UNNUMBERED = -1  # the ordinal of a new line, until all are known
_NAMES = uuid.UUID("6f756c70-0000-4000-8000-000000000000")  # of the ids of copies that we write
_HEADS = ("task_started", "thread_settings_applied")  # events with which an entry of Codex's own begins
_TAGS = {"user": "input_text", "assistant": "output_text"}


def apply_steps(draft: Draft, steps: Sequence[Step], origin: Origin) -> bytes:
    """Carry out the steps and return the rollout. Raises ReplacementInvalid for what cannot be expressed."""
    documents = dict(draft.documents())
    known = {step.old.source.line: step for step in steps if step.old is not None}
    messages = [
        Message(line, step.role, tuple(texts(step.old.content)), _id(documents[line]))
        for line, step in known.items()
        if step.old
    ]
    copies = copies_of(documents, sorted(messages, key=lambda message: message.line))
    shrunk: dict[int, list[Path]] = {}
    for line, step in known.items():
        if step.kind is Kind.REMOVED:
            draft.remove(line)
            for copy in copies.get(line, ()):
                _remove_copy(draft, copy, shrunk)
        elif step.kind is Kind.CHANGED:
            _change(draft, documents[line], step, copies.get(line, ()))
    for line, paths in shrunk.items():
        text = draft.text(line)
        draft.change(line, without(text, paths))
    added = [place for place, step in enumerate(steps) if step.kind is Kind.ADDED]
    for place in added:
        _add(draft, documents, copies, steps, place)
    data = draft.data()
    return _number_lines(data) if added else data


def _id(document: dict[str, Any]) -> str | None:
    found = document["payload"].get("id")
    return found if isinstance(found, str) and found else None


def _remove_copy(draft: Draft, copy: Copy, shrunk: dict[int, list[Path]]) -> None:
    """Take a copy away: its line, its place in a history, or the mention in a line that tells more."""
    if copy.elements:
        shrunk.setdefault(copy.line, []).extend(copy.elements)
    elif copy.is_mention:
        draft.change(copy.line, dict.fromkeys(copy.paths, "null"))
    else:
        draft.remove(copy.line)


def _change(draft: Draft, document: dict[str, Any], step: Step, copies: Sequence[Copy]) -> None:
    assert step.old is not None  # noqa: S101 - a changed entry has both sides
    assert step.new is not None  # noqa: S101
    number = step.old.source.line
    values: dict[Path, str] = {}
    if step.new.timestamp != step.old.timestamp:
        values[("timestamp",)] = to_json(step.new.timestamp)
    if step.new.content != step.old.content:
        place = Place(("payload", "content"), document["payload"].get("content"))
        values |= changes(draft.text(number), place, step.new, _block(step.role, document))
        for copy in copies:
            draft.change(copy.line, copy.with_texts(texts(step.new.content)))
    draft.change(number, values)


def _block(role: str, near: dict[str, Any] | None) -> Callable[[str], dict[str, object]]:
    """Return what makes a native block of a text, as the message beside it has them."""
    content = near["payload"].get("content") if near is not None else None
    first = content[0] if isinstance(content, list) and content and isinstance(content[0], dict) else {}
    more: dict[str, object] = {"annotations": []} if "annotations" in first else {}
    return lambda text: {"type": _TAGS[role], "text": text, **more}


def _add(
    draft: Draft,
    documents: dict[int, dict[str, Any]],
    copies: dict[int, list[Copy]],
    steps: Sequence[Step],
    place: int,
) -> None:
    """Put a new message behind what belongs to the one before it, with the copy that screens show."""
    wanted = steps[place].new
    assert wanted is not None  # noqa: S101 - an added entry is wanted
    follower = next(
        (step.old for step in steps[place:] if step.old is not None and step.kind is not Kind.REMOVED), None
    )
    before = draft.end if follower is None else _start(follower.source.line, documents, copies)
    entries = [step.old for step in (*reversed(steps[:place]), *steps[place:]) if step.old is not None]
    near = next((entry.source.line for entry in entries if entry.role == wanted.role), None)
    shown = _copy_for_screen(
        wanted, documents, copies, [entry.source.line for entry in entries if entry.role == wanted.role]
    )
    message = _message(wanted, None if near is None else documents[near])
    numbered = any("ordinal" in document for document in documents.values())
    ordered = [shown, message] if wanted.role == "assistant" else [message, shown]
    for document in ordered:
        if document is not None:
            draft.insert(before, _stamp(document, wanted.timestamp, is_numbered=numbered))


def _start(line: int, documents: dict[int, dict[str, Any]], copies: dict[int, list[Copy]]) -> int:
    """Return the first line of what belongs to a message and stands before it."""
    own = {copy.line for copy in copies.get(line, ())}
    while line - 1 in documents and (line - 1 in own or _is_head(documents[line - 1])):
        line -= 1
    return line


def _is_head(document: dict[str, Any]) -> bool:
    payload = document.get("payload")
    is_event = document.get("type") == "event_msg" and isinstance(payload, dict) and payload.get("type") in _HEADS
    return is_event or document.get("type") in ("turn_context", "world_state")


def _message(wanted: ReplacementRecord, near: dict[str, Any] | None) -> dict[str, object]:
    blocks = new_blocks(wanted, _block(wanted.role, near))
    payload: dict[str, object] = {"type": "message", "id": wanted.entry_id, "role": wanted.role, "content": blocks}
    beside = near["payload"] if near is not None else {}
    if "status" in beside:
        payload["status"] = "completed"
    notes = beside.get("internal_chat_message_metadata_passthrough")
    if isinstance(notes, dict):
        kinds = ["user.text" if wanted.role == "user" else "unknown"] * len(blocks)
        payload["internal_chat_message_metadata_passthrough"] = {
            **{key: notes[key] for key in ("turn_id",) if key in notes},
            "content_item_kinds": kinds,
        }
    return {"type": "response_item", "payload": payload}


def _copy_for_screen(
    wanted: ReplacementRecord, documents: dict[int, dict[str, Any]], copies: dict[int, list[Copy]], near: Sequence[int]
) -> dict[str, object] | None:
    """Return a copy for the screens, made like the one of the nearest message that has one; None if none has."""
    models = (copy for line in near for copy in copies.get(line, ()) if not copy.elements and not copy.is_mention)
    model = next(models, None)
    if model is None:
        return None
    document = json.loads(_with(documents[model.line], model, texts(wanted.content)))
    item = document["payload"].get("item")
    if isinstance(item, dict):
        is_same = wanted.role == "assistant"
        item["id"] = wanted.entry_id if is_same else str(uuid.uuid5(_NAMES, wanted.entry_id))
    return {"type": document["type"], "payload": document["payload"]}


def _with(document: dict[str, Any], model: Copy, new: Sequence[str]) -> str:
    return with_values(to_json(document), model.with_texts(new))


def _stamp(document: dict[str, object], timestamp: str, *, is_numbered: bool) -> dict[str, object]:
    number = {"ordinal": _UNNUMBERED} if is_numbered else {}
    return {"timestamp": timestamp, **number, **document}


def _number_lines(data: bytes) -> bytes:
    """Give new lines their ordinals, and those behind them higher ones where they must rise."""
    draft = Draft(data)
    latest: int | None = None
    moved: dict[int, int] = {}
    for number, document in draft.documents():
        ordinal = document.get("ordinal")
        if not isinstance(ordinal, int):
            continue
        must = 0 if latest is None else latest + 1
        latest = must if ordinal == _UNNUMBERED or (latest is not None and ordinal < must) else ordinal
        if latest != ordinal:
            draft.change(number, {("ordinal",): str(latest)})
            moved[ordinal] = latest
    for number, document in draft.documents():
        start = (
            document["payload"].get("subagent_history_start_ordinal")
            if document.get("type") == "session_meta"
            else None
        )
        if start in moved:
            draft.change(number, {("payload", "subagent_history_start_ordinal"): str(moved[start])})
    return draft.data()

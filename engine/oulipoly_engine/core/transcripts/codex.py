"""What stands in a line of Codex's rollouts, and what it says: a row, a canonical record, an entry. Pure.

`response_item` is what the model was told and has said; `event_msg` repeats it for the CLI's own screen. The calls that
lines tell of are found by `core.ledger.codex`. Source: rollouts of 0.60 to 0.169, seen 2026-11.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.text.json_values import count_of
from oulipoly_engine.core.transcripts import turn_script
from oulipoly_engine.core.transcripts.canonical import (
    ROLES,
    CanonicalRecord,
    Origin,
    chunks,
    instant,
    refuse,
    source_of,
)
from oulipoly_engine.core.transcripts.canonical import Line as RawLine
from oulipoly_engine.core.transcripts.dialogue import (
    Entry,
    Findings,
    Kind,
    Part,
    arguments_text,
    image_part,
    note_once,
)
from oulipoly_engine.core.transcripts.line_decoder import (
    ABSENT,
    UNFIT,
    Content,
    Count,
    LineDecoder,
    body_of,
    json_object,
    plain,
)
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.errors import TranscriptMalformed

# Its tools that run a command, and the argument that is the command.
_SHELLS = {
    **dict.fromkeys(("shell", "shell_command", "container.exec", "local_shell_call"), "command"),
    "exec_command": "cmd",
}
_PROGRAMS = ("sh", "bash", "zsh", "dash")
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,10})$", re.MULTILINE)
NOT_TYPED = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_aborted>", "<skills_instructions>")


USERS = "user"  # whose messages a compaction keeps


class Usage(msgspec.Struct, gc=False):
    """The tokens of one API call, or of all so far."""

    input_tokens: Count = 0
    cached_input_tokens: Count = 0
    cache_write_input_tokens: Count = 0
    output_tokens: Count = 0
    reasoning_output_tokens: Count = 0


class Info(msgspec.Struct, gc=False):
    """What a token_count tells."""

    total_token_usage: Usage | None = None
    last_token_usage: Usage | None = None


class Payload(msgspec.Struct, gc=False):
    """What a line is about."""

    type: str | None = None
    info: Info | None = None  # of a token_count
    response_id: str | None = None  # of a token_usage_record, as the next two
    usage: Usage | None = None
    thread_token_usage: Usage | None = None
    role: str | None = None  # of a message
    id: str | None = None  # of a message or a session_meta
    content: Content = ABSENT  # of a message or of reasoning
    model: str | None = None  # of a turn_context
    cwd: str | None = None  # of a turn_context or a session_meta
    forked_from_id: str | None = None
    history_base: Any = None  # of a session_meta: what it goes on with of another rollout, without a copy
    source: Any = None  # of a session_meta
    message: Content = ABSENT  # of a compaction
    call_id: str | None = None  # of a tool and its call
    name: str | None = None  # of a tool's call, as the next three
    arguments: Content = ABSENT
    input: Content = ABSENT
    action: Content = ABSENT
    output: Content = ABSENT  # of a tool
    summary: Content = ABSENT  # of reasoning


class Line(msgspec.Struct, gc=False):
    """One line."""

    type: str | None = None
    timestamp: str | None = None
    payload: Payload | None = None


DECODER = LineDecoder(Line)


def session_of(line: Line) -> str | None:
    """Return the session id that a `session_meta` record names."""
    return (line.payload.id or None) if line.type == "session_meta" and line.payload is not None else None


def parent_of(meta: Payload) -> str | None:
    """Return the session that a rollout continues or was spawned by, as its first line tells it."""
    if meta.forked_from_id:
        return meta.forked_from_id
    inner = meta.source.get("subagent") if isinstance(meta.source, dict) else None
    spawn = inner.get("thread_spawn") if isinstance(inner, dict) else None
    parent = spawn.get("parent_thread_id") if isinstance(spawn, dict) else None
    return parent if isinstance(parent, str) and parent else None


def history_of(meta: Payload) -> tuple[str, int] | None:
    """Return the session whose beginning a rollout goes on with, and behind which ordinal; None: it holds all itself.

    Each line of a rollout has an ordinal; a fork's go on from where its history ends (0.169).
    """
    base = meta.history_base
    if not isinstance(base, dict) or not isinstance(base.get("thread_id"), str):
        return None
    end = count_of(base.get("end_ordinal_exclusive"))
    return (base["thread_id"], end) if end else None


def entry_line(line: Line, session_id: str | None, entry_id: str, file: str) -> EntryLine | None:
    """Return the row that one record is; None for records of other kinds and roles, and without what a row needs.

    Behind a compaction codex sends what users have said before it, the summary, and what follows. Raises EntryRefused.
    """
    payload = line.payload
    is_compaction = line.type == "compacted"
    if session_id is None or payload is None or not line.timestamp:
        return None
    if not is_compaction and not _is_message(line.type, payload):
        return None
    role = USERS if is_compaction else str(payload.role)
    body = body_of(payload.message, USERS) if is_compaction else body_of(payload.content)
    return EntryLine(
        turn_script.session_id(session_id),
        turn_script.storable("turn_id", entry_id),
        turn_script.instant(line.timestamp),
        role,
        is_compaction_boundary=is_compaction,
        body=body,
        source_file=file,
    )


def _is_message(kind: str | None, payload: Payload) -> bool:
    return kind == "response_item" and payload.type == "message" and payload.role in ROLES


def find_missing_texts(line: Line) -> tuple[str, ...] | None:
    """Return which of the texts that a message needs to be a row it does not have; None for what is not a message."""
    payload = line.payload
    if line.type != "response_item" or payload is None or payload.type != "message":
        return None
    if payload.role and payload.role not in ROLES:  # Codex's own words
        return None
    if not payload.role:
        return ("role",)
    return () if line.timestamp else ("timestamp",)


def canonical_records(lines: Iterable[RawLine], origin: Origin) -> Iterator[CanonicalRecord]:
    """Yield the messages of user and assistant; everything else in a rollout is left out.

    A message without an id of its own is named after its place, `<path>:<line>`. A fork's rollout holds its parent's
    session_meta too (0.169), so one that matches is enough. Their order is the order of time: a timestamp before the
    one of the message above it is refused.
    Raises TranscriptMalformed, naming the line; at the end, when no session_meta was this session's.
    """
    is_ours, latest = False, None
    for raw in lines:
        line = DECODER.strictly(raw, origin)
        payload = line.payload
        if not isinstance(payload, Payload):
            continue
        if line.type == "session_meta":
            is_ours = is_ours or _is(payload.id, origin.session_id)
        if line.type != "response_item" or payload.type != "message" or payload.role not in ROLES:
            continue
        latest = _later(instant(line.timestamp, raw, origin), latest, raw, origin)
        entry_id = payload.id
        yield CanonicalRecord(
            session_id=origin.session_id,
            account=origin.account,
            entry_id=entry_id if isinstance(entry_id, str) and entry_id else f"{origin.path}:{raw.number}",
            role=payload.role,
            timestamp=line.timestamp or "",
            content=chunks(plain(payload.content)),
            source=source_of(raw, origin, StorageType.CODEX_SESSION.value),
        )
    if not is_ours:
        message = f"{origin.path} has no session_meta of session {origin.session_id}: it is another session's rollout"
        raise TranscriptMalformed(message)


def _is(value: object, session_id: str) -> bool:
    return isinstance(value, str) and value.lower() == session_id


def _later(at: datetime, latest: datetime | None, raw: RawLine, origin: Origin) -> datetime:
    if latest is not None and at < latest:
        refuse(origin, raw, f"its timestamp lies before the one of the message above it ({latest.isoformat()})")
    return at


def dialogue(lines: Iterable[RawLine], findings: Findings) -> Iterator[Entry]:
    """Yield the entries of a rollout for people; what is learned on the way goes into the findings."""
    model: str | None = None
    for raw in lines:
        line = DECODER.leniently(raw.data)
        if line is None:
            findings.note_damage(raw.number)
        elif line.payload is not None:
            model = _learn(line.type, line.payload, findings) or model
            try:
                entry = _entry(line, line.payload, model, raw.number)
            except UNFIT:
                findings.note_damage(raw.number)
                continue
            if entry is not None:
                findings.note(entry)
                yield entry


def _learn(kind: str | None, payload: Payload, findings: Findings) -> str | None:
    """Note where the session worked, and return the model from here on if the record names one."""
    if kind not in ("session_meta", "turn_context"):
        return None
    if payload.cwd is not None:
        note_once(findings.workspaces, payload.cwd)
    if payload.forked_from_id is not None:
        findings.forked_from = findings.forked_from or payload.forked_from_id
    return payload.model if kind == "turn_context" else None


def _entry(line: Line, payload: Payload, model: str | None, number: int) -> Entry | None:
    kind, item = line.type, payload.type or ""
    parts: tuple[Part, ...]
    if kind == "compacted":
        role, parts = "user", (Part(Kind.SUMMARY, str(plain(payload.message) or "")),)
    elif kind == "response_item" and item == "message" and payload.role in ROLES:
        role, parts = payload.role, tuple(_parts(plain(payload.content)))
    elif kind == "response_item" and item in _ITEMS:
        role, parts = "assistant", tuple(_ITEMS[item](payload))
    else:
        return None
    return Entry(
        role=role,
        at=line.timestamp or "",
        parts=parts,
        entry_id=payload.id or "",
        model=model if role == "assistant" else None,
        line=number,
    )


def _parts(content: object) -> Iterator[Part]:
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, dict) and str(item.get("type")).endswith("image"):
            yield _image(item.get("image_url"))
            continue
        text = item.get("text") if isinstance(item, dict) else item
        if isinstance(text, str):
            yield Part(Kind.CONTEXT if text.startswith(NOT_TYPED) else Kind.TEXT, text)


def _image(url: object) -> Part:
    head, _, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    return image_part(head.removeprefix("data:").partition(";")[0] or "image", data)


def _read_call(payload: Payload) -> Iterator[Part]:
    told = (payload.arguments, payload.input, payload.action)
    given = plain(next((one for one in told if one is not ABSENT), None))
    if isinstance(given, str):
        try:
            value = json.loads(given)
        except (ValueError, RecursionError):
            value = given
        given = value if isinstance(value, dict) else given
    tool = payload.name or payload.type or ""
    command = _read_command(given.get(_SHELLS.get(tool))) if isinstance(given, dict) else ""
    yield Part(Kind.CALL, arguments_text(given), tool, call_id=payload.call_id or "", command=command)


def _read_command(command: object) -> str:
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        return find_script(words) or shlex.join(words)
    return command if isinstance(command, str) else ""


def find_script(words: Sequence[str]) -> str:
    """Return what a shell is given to do, `ls` of `/bin/bash -lc ls`; empty: the words are another command."""
    is_shell = len(words) == 3 and words[0].rpartition("/")[2] in _PROGRAMS and words[1] in ("-c", "-lc")
    return words[2] if is_shell else ""


def _read_result(payload: Payload) -> Iterator[Part]:
    given = plain(payload.output)
    call_id = payload.call_id or ""
    if isinstance(given, list):
        for part in _parts(given):
            yield part if part.kind is Kind.IMAGE else Part(Kind.RESULT, part.text, call_id=call_id)
        return
    text = given.get("content") if isinstance(given, dict) else given
    is_error = isinstance(given, dict) and given.get("success") is False
    shown = arguments_text(given if text is None else text)
    yield Part(Kind.RESULT, shown, is_error=is_error, call_id=call_id, exit_code=_read_exit_code(shown))


def _read_exit_code(text: str) -> int | None:
    """Return the exit code that a command's result tells, in its head or (0.60 to 0.120) beside its output."""
    answer = json_object(text.encode("utf-8", "replace")) if text.startswith("{") else None
    metadata = (answer or {}).get("metadata")
    if isinstance(metadata, dict):
        code = metadata.get("exit_code")
        return code if type(code) is int else None
    match = _EXIT_CODE.search(text.partition("\nOutput:")[0])
    return int(match[1]) if match else None


def _read_thinking(payload: Payload) -> Iterator[Part]:
    for content in (payload.summary, payload.content):
        for part in _parts(plain(content) or []):
            yield Part(Kind.THINKING, part.text)


_ITEMS: Mapping[str, Callable[[Payload], Iterator[Part]]] = {
    "function_call": _read_call,
    "custom_tool_call": _read_call,
    "local_shell_call": _read_call,
    "web_search_call": _read_call,
    "function_call_output": _read_result,
    "custom_tool_call_output": _read_result,
    "reasoning": _read_thinking,
}

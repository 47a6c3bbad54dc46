"""The tree of an invocation and what it started, as JSON-ready values and as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.artifacts.receipts import ReturnedArtifact
from oulipoly_engine.core.balance.decision_text import why_lines
from oulipoly_engine.core.runs.invocations import Invocation, Status
from oulipoly_engine.core.runs.recovery import find_fix
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.text.quantities import duration
from oulipoly_engine.records import Record

STALE_AFTER_S = 1800
DEFAULT_MAX_DEPTH = 64
_PROMPT_SHOWN = 200  # characters
_NONE = "—"
_ACCEPTED = "accepted"
_ATTEMPTED_RESUME = (
    "session marked as attempted resume target; child acceptance is not confirmed by this row — check exit_code and "
    "recent_errors for outcome"
)


class TranscriptState(StrEnum):
    """What is known of a session's transcript."""

    AVAILABLE = "available"
    MISSING = "missing"  # the locator named a path that is not there, or found none
    NO_LOCATOR = "no_locator"
    UNRESOLVED = "unresolved"  # no session id


class SessionFacts(Record):
    """What a node knows of its session."""

    chain_id: str | None = None
    transcript_path: str | None = None
    transcript_state: TranscriptState = TranscriptState.UNRESOLVED
    entries: int | None = None  # None without a session
    assistant_entries: int | None = None
    sidechain_entries: int | None = None


class LastWords(Record):
    """What a failed run was asked, and what it said last."""

    prompt: str  # without secrets
    is_whole: bool  # the prompt is all that was asked, as it was asked
    output: tuple[str, ...]  # last lines of stderr, of stdout where stderr is empty; without secrets


class Node(Record):
    """One invocation in the tree."""

    invocation: Invocation
    parent_uuid: str | None
    session: SessionFacts
    decision: Mapping[str, object] | None = None
    children: tuple[Node, ...] = ()
    is_cycle: bool = False  # seen above or before: shown once more as a leaf
    is_orphaned: bool = False  # it still counts as running, but the process that ran it is gone
    is_unmatched: bool = False  # it has no session, and other runs of its account went on at the same time
    outlived_by: int | None = None  # then its CLI's process, where that runs on
    is_cut: bool = False  # it has children below the depth limit
    transcript: tuple[Mapping[str, object], ...] | None = None
    returned_artifacts: tuple[ReturnedArtifact, ...] = ()  # in the order of the receipts
    last_words: LastWords | None = None  # None: it has not failed, or nothing is kept of it any more


def to_json(root: Node, now: datetime) -> dict[str, object]:
    """Return the contract's `trace --json` document (section 8)."""
    return {
        "requested_id": root.invocation.uuid,
        "generated_at": to_text(now),
        "root": _node_json(root, now, is_root=True),
    }


def to_lines(root: Node, now: datetime, why: Mapping[str, tuple[str, ...]] | None = None) -> Iterator[str]:
    """Yield the tree as text, a line an invocation, warnings below their node.

    why: lines about the decision to show below an invocation, by its UUID.
    """
    yield from _node_lines(root, 0, now, why or {})


def failure_lines(node: Node, *, with_why: bool = True) -> Iterator[str]:
    """Yield why a run failed: how it ended, what it was asked, what it said last, what to do, why that account."""
    row, words = node.invocation, node.last_words
    if row.status is not Status.FAILED:
        return
    yield f"failed: {_ending(row)}"
    if words is not None:
        yield f"prompt: {visible_line(_shorten(words.prompt))}"
        yield from (f"│ {visible_line(line)}" for line in words.output)
    fix = find_fix(row.error_category, row.terminal_reason, account=row.account)
    if fix is not None:
        yield f"to do: {fix}"
    if with_why and node.decision is not None:
        yield next(why_lines(node.decision))


def _ending(row: Invocation) -> str:
    end = "without an exit code" if row.exit_code is None or row.exit_code < 0 else f"exit {row.exit_code}"
    if row.finished_at is not None:
        passed = row.finished_at - row.created_at
        took = f"{passed.total_seconds():.1f} s" if passed < timedelta(minutes=1) else duration(passed)
        end = f"{end} after {took}"
    return ", ".join(text for text in (end, row.error_category or row.terminal_reason) if text)


def _shorten(prompt: str) -> str:
    text = " ".join(prompt[: 2 * _PROMPT_SHOWN].split())
    return text if len(text) <= _PROMPT_SHOWN else f"{text[:_PROMPT_SHOWN]}…"


def transcript_lines(node: Node) -> Iterator[str]:
    """Yield the stored text of a node's session under a heading, or why there is none."""
    yield f"=== Transcript: {node.invocation.uuid} ==="
    if not node.transcript and node.invocation.session_id is None:
        yield "(no transcript: no session id was captured)"
        return
    if not node.transcript:
        yield f"(no transcript: no turn of session {node.invocation.session_id} is stored)"
        return
    for entry in node.transcript:
        yield visible_line(f"[{entry['timestamp']}] {entry['role']}:")
        content = entry["content"]
        if not isinstance(content, list):
            yield "(this turn was stored without its text)"
            continue
        for chunk in content:
            yield str(chunk.get("text") or f"({chunk.get('type')})")


def _node_json(node: Node, now: datetime, *, is_root: bool) -> dict[str, object]:
    children = [_node_json(child, now, is_root=False) for child in node.children]
    warnings = [*_warnings(node, now, is_root=is_root)]
    for child in children:
        inherited = child["warnings"]
        if isinstance(inherited, list):
            warnings.extend(text for text in inherited if text not in warnings)
    document: dict[str, object] = {
        "invocation": _invocation_json(node, now, is_root=is_root),
        "session": _session_json(node),
        "decision": node.decision,
    }
    if node.transcript is not None:
        document["transcript"] = list(node.transcript)
    return {**document, "warnings": warnings, "children": children}


def _invocation_json(node: Node, now: datetime, *, is_root: bool) -> dict[str, object]:
    row = node.invocation
    document: dict[str, object] = {
        "row_id": row.row_id,
        "id": row.uuid,
        "source": row.account,
        "model_name": row.model,
        "parent_id": node.parent_uuid,
        "status": row.status.value,
        "success": row.success,
        "exit_code": row.exit_code,
        "error_category": row.error_category,
        "terminal_reason": row.terminal_reason,
        "attempt": row.attempt,
        "started_at": to_text(row.created_at),
        "finished_at": None if row.finished_at is None else to_text(row.finished_at),
    }
    age = _stale_age(row, now)
    if is_root and age is not None:
        document |= {"status": "failed", "success": None, "exit_code": None, "finished_at": None}
        document["terminal_reason"] = "tracing_timeout"
        document["stale_running"] = {"age_seconds": age, "threshold_seconds": STALE_AFTER_S}
    if node.returned_artifacts:
        document["returned_artifacts"] = [one.shown(row.uuid) for one in node.returned_artifacts]
    if node.last_words is not None:
        document |= {"prompt": node.last_words.prompt, "last_output": list(node.last_words.output)}
    return document


def _session_json(node: Node) -> dict[str, object]:
    row, facts = node.invocation, node.session
    return {
        "id": row.session_id,
        "chain_id": facts.chain_id,
        "capture_method": row.capture_method,
        "transcript_path": facts.transcript_path,
        "transcript_state": facts.transcript_state.value,
        "turn_count": facts.entries,
        "assistant_turn_count": facts.assistant_entries,
        "sidechain_turn_count": facts.sidechain_entries,
        "resume_acceptance": row.acceptance_status,
        "resume_acceptance_evidence": row.acceptance_evidence,
    }


def _warnings(node: Node, now: datetime, *, is_root: bool) -> Iterator[str]:
    row = node.invocation
    if node.is_cycle:
        yield f"cycle -> {row.uuid}"
        return
    age = _stale_age(row, now)
    if is_root and age is not None:
        yield f"running for {age} s without an end (over {STALE_AFTER_S} s): its process has probably been killed"
    if node.is_orphaned:
        left = "" if node.outlived_by is None else f"; its CLI runs on as process {node.outlived_by}"
        yield f"the process that ran it (pid {row.owner_pid}) is gone without an end: it was killed{left}"
    if node.is_unmatched:
        yield f"which session it made is not known: other runs of {row.account} went on at the same time"
    if row.capture_method == "resumed" and row.acceptance_status != _ACCEPTED:
        yield _ATTEMPTED_RESUME
    if node.is_cut:
        yield f"depth limit reached at {row.uuid}: its children are left out"


def _stale_age(row: Invocation, now: datetime) -> int | None:
    age = int((now - row.created_at).total_seconds())
    return age if row.status is Status.RUNNING and age >= STALE_AFTER_S else None


def _node_lines(node: Node, depth: int, now: datetime, why: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    indent = "  " * depth + "└── " if depth else ""
    below = "  " * (depth + 1)
    if node.is_cycle:
        yield f"{'  ' * depth}! cycle -> {node.invocation.uuid}"
        return
    yield indent + _line(node)
    if depth == 0:
        yield from (below + text for text in failure_lines(node, with_why=node.invocation.uuid not in why))
    for text in why.get(node.invocation.uuid, ()):
        yield f"{below}{text}"
    for one in node.returned_artifacts:
        yield f"{below}returned: {one.line()}"
    for text in _warnings(node, now, is_root=depth == 0):
        yield f"{below}! depth limit reached" if node.is_cut and "depth limit" in text else f"{below}! {text}"
    for child in node.children:
        yield from _node_lines(child, depth + 1, now, why)


def _line(node: Node) -> str:
    row = node.invocation
    state = node.session.transcript_state.value
    session = f"session={row.session_id or _NONE}"
    if row.capture_method == "resumed":
        session = f"Resume target: {row.session_id or _NONE}"
        state = f"resume={row.acceptance_status or _NONE}  {state}"
    started = to_text(row.created_at)[:19] + "Z"
    return "  ".join((row.uuid, row.account or _NONE, row.model or _NONE, row.status.value, started, session, state))

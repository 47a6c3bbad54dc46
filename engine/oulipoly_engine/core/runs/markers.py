"""The marker lines by which wrappers follow a run, and the variables that tell a child of it. Pure.

Every line is `NAME=<compact JSON>`; lines are given without their newline. A child can print look-alikes, so a consumer
takes the last line that carries its own id (`find_result`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime

from oulipoly_engine import variables
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.runs.invocations import Status
from oulipoly_engine.core.text.control_characters import escape_json
from oulipoly_engine.records import Record

INVOCATION = "OULIPOLY_INVOCATION="
RESULT = "OULIPOLY_RESULT="
FAILURE = "OULIPOLY_FAILURE="
SESSION = "OULIPOLY_SESSION="

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# Some shells strip the quotes when the value passes through `sh -c "VAR=$VAR ..."`.
_MANGLED_FIELD = re.compile(r"\s*(source|id)\s*:\s*([^\s,:{}\"']+)\s*")
_LONGEST_PARENT = 4096  # characters; ours are about 80, and a hostile value shall not cost a deep JSON parse


class ParentRef(Record):
    """Who started us, by its own claim: true only if that invocation exists and ran on that account."""

    source: str  # the parent's account
    id: str  # the parent's invocation UUID, lower case


class InvocationResult(Record):
    """What the result line says of a finished invocation."""

    id: str  # our invocation UUID
    status: Status
    success: bool
    exit_code: int | None
    error_category: str | None
    terminal_reason: str | None
    finished_at: datetime
    provider_name: str | None = None  # the account; this and the next two are told of failures only
    provider_session_id: str | None = None  # the CLI's own id
    chain_id: str | None = None
    returned_artifacts: tuple[Mapping[str, object], ...] = ()  # what it has handed back: documents without content


class PreInvocationFailure(Record):
    """Why a dispatch ended before an invocation existed."""

    stage: str  # provider_selection, provider_resolution, pool_exhausted or prompt_resolution
    reason: str  # one sentence
    finished_at: datetime
    model_name: str | None = None
    provider_index: int | None = None
    attempted_providers: tuple[str, ...] = ()


class SessionLink(Record):
    """Which CLI session an invocation belongs to."""

    invocation_id: str
    provider_name: str
    session_id: str | None  # the CLI's own id
    chain_id: str | None = None
    resume_input_id: str | None = None  # the id that the user asked to resume


def invocation_line(account: str, invocation_id: str) -> str:
    """Return the line that precedes each spawn."""
    return INVOCATION + _invocation_json(account, invocation_id)


def parent_env(account: str, invocation_id: str) -> dict[str, str]:
    """Return the variable that tells a child whose it is."""
    return {variables.PARENT_INVOCATION: _invocation_json(account, invocation_id)}


def without_channel(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the return channel of the run that we are in.

    For whoever talks to a person, or answers a question of ours: nobody waits for what that returns.
    """
    return {name: value for name, value in env.items() if name != variables.RETURN_CHANNEL}


def result_line(result: InvocationResult) -> str:
    """Return the result line: seven keys for a success, eleven for a failure, one more for what was returned."""
    body: dict[str, object] = {
        "error_category": result.error_category,
        "exit_code": result.exit_code,
        "finished_at": to_text(result.finished_at),
        "id": result.id,
        "status": result.status,
        "success": result.success,
        "terminal_reason": result.terminal_reason,
    }
    if result.returned_artifacts:
        body["returned_artifacts"] = [*result.returned_artifacts]
    if not result.success:
        body |= _identity(result.id, result.provider_name, result.provider_session_id, result.chain_id)
    return RESULT + _compact(body)


def failure_line(failure: PreInvocationFailure) -> str:
    """Return the line that stands in for a result where no invocation ever existed."""
    detail = {
        "attempted_providers": list(failure.attempted_providers),
        "model_name": failure.model_name,
        "provider_index": failure.provider_index,
        "reason": failure.reason,
    }
    body: dict[str, object] = {
        "detail": detail,
        "error_category": None,
        "exit_code": None,
        "failure_kind": "pre_invocation",
        "finished_at": to_text(failure.finished_at),
        "message": f"{failure.stage}: {failure.reason}",
        "stage": failure.stage,
        "status": Status.FAILED,
        "success": False,
        "terminal_reason": "pre_invocation_failure",
    }
    return FAILURE + _compact(body | _identity(None, None, None, None))


def session_line(link: SessionLink) -> str:
    """Return the line that names the CLI session of a run."""
    body = _identity(link.invocation_id, link.provider_name, link.session_id, link.chain_id)
    body |= {"id": link.invocation_id, "resume_input_id": link.resume_input_id, "session_id": link.session_id}
    return SESSION + _compact(body)


def needs_newline(last_byte: bytes | int | None) -> bool:
    """Tell whether a newline must precede the marker: only after output that did not end its line.

    last_byte: the child's last byte of stdout; None or empty when it printed nothing.
    """
    return last_byte not in (None, b"", b"\n", 10)


def parse_parent(text: str) -> ParentRef | None:
    """Read a parent reference; None when it is not a reference, which makes the reader a root.

    Accepts our JSON with exactly the keys `source` and `id`, and the same with its quotes stripped by a shell.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST_PARENT:
        return None
    fields = _json_fields(text)
    if fields is None:
        fields = _read_mangled_fields(text)
    source, parent_id = fields.get("source"), fields.get("id")
    if set(fields) != {"source", "id"} or not isinstance(source, str) or not isinstance(parent_id, str):
        return None
    return ParentRef(source, parent_id.lower()) if _UUID.fullmatch(parent_id) else None


def find_result(stdout: bytes, invocation_id: str) -> Mapping[str, object] | None:
    """Return the last result line that carries this id, as its JSON object; None when there is none."""
    prefix = RESULT.encode()
    end = len(stdout)
    while (start := stdout.rfind(prefix, 0, end)) >= 0:
        end = start
        if start > 0 and stdout[start - 1 : start] != b"\n":
            continue
        line = stdout[start + len(prefix) :].split(b"\n", 1)[0]
        body = _json_fields(line.decode("utf-8", "replace"))
        if body is not None and body.get("id") == invocation_id:
            return body
    return None


def _invocation_json(account: str, invocation_id: str) -> str:
    # Not sorted: the contract shows this one with the source first, and wrappers compare it as text.
    return _compact({"source": account, "id": invocation_id}, sort=False)


def _identity(
    invocation_id: str | None, account: str | None, session_id: str | None, chain_id: str | None
) -> dict[str, object]:
    return {
        "agent_runner_chain_id": chain_id,
        "agent_runner_invocation_id": invocation_id,
        "provider_name": account,
        "provider_session_id": session_id,
    }


def _compact(body: Mapping[str, object], *, sort: bool = True) -> str:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=sort)
    # A file name that is not UTF-8 reaches us with lone surrogates, which no UTF-8 stream can carry.
    return escape_json(text.encode("utf-8", "replace").decode("utf-8"))


def _json_fields(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is given twice")
    return fields


def _read_mangled_fields(text: str) -> dict[str, object]:
    if not (text.startswith("{") and text.endswith("}")):
        return {}
    matches = [_MANGLED_FIELD.fullmatch(part) for part in text[1:-1].split(",")]
    pairs = [(match[1], match[2]) for match in matches if match is not None]
    return dict(pairs) if len(pairs) == len(matches) == 2 else {}

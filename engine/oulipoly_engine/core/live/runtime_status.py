"""How a runtime stands: one of nine statuses, what a probe told, and the summary that people and scripts read. Pure.

Contract, B.2, B.3 and C.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import ModelInfo
from oulipoly_engine.core.live.models import merge_models, model_json
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.records import Record, field

_LINES, _CHARACTERS = 40, 500  # of a diagnostic's text (contract, C.7)


class RuntimeStatus(Record, tag_field="state"):
    """The root of the nine statuses."""


class Disabled(RuntimeStatus, tag="disabled"):
    """The user has switched it off."""


class MissingBinary(RuntimeStatus, tag="missing_binary"):
    """Its program is not there."""

    binary_path: str | None = None


class SpawnFailed(RuntimeStatus, tag="spawn_failed"):
    """Its program cannot be started."""

    message: str


class Initializing(RuntimeStatus, tag="initializing"):
    """It is being started."""


class NeedsAuth(RuntimeStatus, tag="needs_auth"):
    """Nobody is logged in."""


class Ready(RuntimeStatus, tag="ready"):
    """It answers."""


class Degraded(RuntimeStatus, tag="degraded"):
    """It may answer; something about it is not known or not as it should be."""

    message: str


class UnsupportedVersion(RuntimeStatus, tag="unsupported_version"):
    """It is older than what the driver speaks with."""

    version: str | None = None
    minimum_version: str | None = None


class Failed(RuntimeStatus, tag="error"):
    """It does not answer as its protocol says."""

    message: str


AnyStatus = (
    Disabled | MissingBinary | SpawnFailed | Initializing | NeedsAuth | Ready | Degraded | UnsupportedVersion | Failed
)


class Diagnostic(Record):
    """Something that was noticed about a runtime."""

    level: Literal["info", "warning", "error"]
    code: str  # cli_runtime.unprobed, codex_probe.needs_auth, …
    message: str


class Probe(Record):
    """What one start of a CLI has shown."""

    reason: str = ""  # of `failures.REASONS`; empty: it answered
    message: str = ""
    version: str = ""
    minimum_version: str = ""  # where the version is too old
    account: str = ""
    models: tuple[ModelInfo, ...] = ()
    capabilities: Mapping[str, bool] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()  # what was noticed besides
    stderr: tuple[str, ...] = ()  # its last lines, without secrets
    models_at_ms: int | None = None  # Unix time of the list of models


class RuntimeSummary(Record):
    """What is known of a runtime."""

    runtime: Runtime
    status: AnyStatus
    program: str = ""  # the path of what is started; empty: it was not found
    capabilities: Mapping[str, bool] = field(default_factory=dict)
    account: str = ""  # whose login the CLI says it is
    version: str = ""
    models: tuple[ModelInfo, ...] = ()
    models_at_ms: int | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    stderr: tuple[str, ...] = ()
    probed_at: str = ""  # RFC 3339; empty: never


# Of the contract, B.3, and behind them those of ours. A driver says only what it can do beyond the rest.
CAPABILITIES = (
    "skills", "mcp_tools", "threads", "resume", "fork", "steer", "interrupt", "approvals", "file_change_approvals",
    "command_approvals", "user_input_requests", "model_list", "apps", "review", "compaction", "goal", "diff_updates",
    "history_read", "thread_archive", "auth_management", "generated_schema_probe",
    "fork_at_turn", "set_model", "rename", "usage", "rate_limits",
)  # fmt: skip


def name_capabilities(can: Mapping[str, bool]) -> dict[str, bool]:
    """Return every capability as `supports_*`; what a driver does not name it cannot do."""
    known = dict(can)
    known.setdefault("approvals", bool(known.get("command_approvals") or known.get("file_change_approvals")))
    known.setdefault("threads", True)
    return {f"supports_{name}": bool(known.get(name)) for name in CAPABILITIES}


def summarize(
    runtime: Runtime,
    program: str | None,
    probe: Probe | None,
    *,
    probed_at: str = "",
    assumed: Mapping[str, bool] | None = None,
    notes: Sequence[Diagnostic] = (),
) -> RuntimeSummary:
    """Return what is known of a runtime.

    program: where its program lies now, None where it is not found. probe: the last one, None where there was none.
    assumed: what its driver can do, for a CLI that has not said so. notes: what else is to be said of it.
    """
    status, noticed = _classify(runtime, program, probe)
    probe = probe or Probe()
    return RuntimeSummary(
        runtime=runtime,
        status=status,
        program=program or "",
        capabilities=name_capabilities(probe.capabilities or assumed or {}),
        account=probe.account,
        version=probe.version,
        models=merge_models(probe.models, runtime.custom_models),
        models_at_ms=probe.models_at_ms,
        diagnostics=() if not runtime.is_enabled else (*noticed, *probe.diagnostics, *notes),
        stderr=probe.stderr,
        probed_at=probed_at,
    )


def from_probe(runtime: Runtime, probe: Probe) -> tuple[AnyStatus, tuple[Diagnostic, ...]]:
    """Return the status that a probe stands for, and what is to be said of it."""
    if not probe.reason:
        return Ready(), ()
    status: AnyStatus
    match probe.reason:
        case failures.MISSING_BINARY:
            status = MissingBinary(runtime.program)
        case failures.NEEDS_AUTH:
            status = NeedsAuth()
        case failures.SPAWN_FAILED:
            status = SpawnFailed(probe.message)
        case failures.UNSUPPORTED_VERSION:
            status = UnsupportedVersion(probe.version or None, probe.minimum_version or None)
        case failures.OVERLOADED | failures.ACTIVE_WRITER:  # it speaks, and cannot just now
            status = Degraded(probe.message)
        case _:
            status = Failed(probe.message)
    code = _CODES.get(probe.reason, "error")
    level: Literal["warning", "error"] = "warning" if probe.reason in _PASSING else "error"
    return status, (Diagnostic(level, f"{runtime.kind}_probe.{code}", shorten(probe.message)),)


_NEVER_STARTED = "it was never started: refresh it to see whether it answers"
_PASSING = (failures.NEEDS_AUTH, failures.OVERLOADED, failures.ACTIVE_WRITER)
_CODES = {  # of the contract, C.7
    failures.MISSING_BINARY: "missing_binary",
    failures.SPAWN_FAILED: "spawn_failed",
    failures.NEEDS_AUTH: "needs_auth",
    failures.UNSUPPORTED_VERSION: "unsupported_version",
    failures.HANDSHAKE_FAILED: "initialize_failed",
    failures.TIMED_OUT: "timed_out",
    failures.CLOSED: "stdio_unavailable",
}


def _classify(runtime: Runtime, program: str | None, probe: Probe | None) -> tuple[AnyStatus, tuple[Diagnostic, ...]]:
    if not runtime.is_enabled:
        return Disabled(), ()
    if program is None:
        message = f"there is no program {runtime.program!r}: install it, or correct {runtime.named_in or 'its path'}"
        missing = Diagnostic("error", f"{runtime.kind}_probe.missing_binary", message)
        return MissingBinary(runtime.program), (missing,)
    if probe is None or probe.reason == failures.MISSING_BINARY:  # it was installed since
        return Degraded(_NEVER_STARTED), (Diagnostic("info", "cli_runtime.unprobed", _NEVER_STARTED),)
    return from_probe(runtime, probe)


def read_account(reply: Mapping[str, Any]) -> tuple[str, bool]:
    """Return whose login a reply to `account/read` tells of, and whether somebody has to log in first."""
    account = reply.get("account")
    if not isinstance(account, Mapping):
        return "", reply.get("requiresOpenaiAuth") is True
    keys = ("email", "displayName", "name", "accountId", "id", "type", "authMethod")
    named = (account.get(key) for key in keys)
    name = next((value for value in named if isinstance(value, str) and value.strip()), "logged in")
    plan = next((plan for key in ("planType", "plan") if isinstance(plan := account.get(key), str) and plan), "")
    return (f"{name} ({plan})" if plan else name), False


def shorten(text: str) -> str:
    """Return a text that is short enough for a diagnostic; what is left out is said."""
    lines = text.splitlines()
    kept = [line if len(line) <= _CHARACTERS else f"{line[:_CHARACTERS]}… ({len(line)} characters)" for line in lines]
    more = len(kept) - _LINES
    return "\n".join(kept[:_LINES] + ([f"… and {more} more lines"] if more > 0 else []))


def is_unchecked(status: AnyStatus) -> bool:
    """Tell whether nobody has asked a runtime yet. The contract's word for its state is `degraded`."""
    return isinstance(status, Degraded) and status.message == _NEVER_STARTED


def describe_status(status: AnyStatus) -> str:
    """Return a status in the words of screens."""
    match status:
        case Degraded():
            return "not checked yet" if is_unchecked(status) else "has a problem"
        case MissingBinary():
            return "program missing"
        case SpawnFailed():
            return "cannot start"
        case NeedsAuth():
            return "needs login"
        case UnsupportedVersion():
            return "version not supported"
        case Failed():
            return "error"
        case _:
            return state_of(status)


def describe_cause(status: AnyStatus) -> str:
    """Return what a status says beyond its name; empty: nothing."""
    match status:
        case MissingBinary():
            return status.binary_path or ""
        case SpawnFailed() | Degraded() | Failed():
            return status.message
        case UnsupportedVersion():
            needed = f", {status.minimum_version} is needed" if status.minimum_version else ""
            return f"it is {status.version or 'of a version that nobody knows'}{needed}"
        case _:
            return ""


def state_of(status: AnyStatus) -> str:
    """Return the word that names a status."""
    return str(msgspec.to_builtins(status)["state"])


def list_usable(summaries: Iterable[RuntimeSummary]) -> tuple[RuntimeSummary, ...]:
    """Return those that a session may be opened on."""
    return tuple(one for one in summaries if isinstance(one.status, Ready | Initializing | Degraded))


def summary_json(
    summary: RuntimeSummary, *, proxy: str | None, models: Sequence[ModelInfo] | None = None
) -> dict[str, Any]:
    """Return a summary as scripts read it. proxy: its URL without its password. models: to be listed too."""
    runtime = summary.runtime
    document = {
        "runtime_id": runtime.id,
        "kind": runtime.kind,
        "display_name": runtime.name,
        "enabled": runtime.is_enabled,
        "status": msgspec.to_builtins(summary.status),
        "capabilities": dict(summary.capabilities),
        "configured_account": runtime.account or None,
        "account": summary.account or None,
        "version": summary.version or None,
        "binary_path": summary.program or None,
        "home_path": runtime.home or None,
        "shadow_home_path": runtime.shadow_home or None,
        "proxy_url": proxy,
        "debug_native_events_enabled": runtime.debug_native_events,
        "models_refreshed_at_unix_ms": summary.models_at_ms,
        "probed_at": summary.probed_at or None,
        "diagnostics": [msgspec.to_builtins(one) for one in summary.diagnostics],
        "recent_stderr": list(summary.stderr),
    }
    return document if models is None else {**document, "models": [model_json(one) for one in models]}

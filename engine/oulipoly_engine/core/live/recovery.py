"""What becomes of turns that were under way when their host ended. Pure (contract, D.3).

A turn is recoverable, blocked, or nothing is to be done for it. A blocked one says why, what is to be done, and the
command with which the same turn goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from oulipoly_engine.core.live.runtime_status import (
    AnyStatus,
    Disabled,
    Failed,
    MissingBinary,
    NeedsAuth,
    SpawnFailed,
    UnsupportedVersion,
)
from oulipoly_engine.records import Record

BindingStatus = Literal["starting", "running", "completed", "failed", "interrupted", "blocked"]
OPEN: tuple[BindingStatus, ...] = ("starting", "running")
# Which button mends it.
Requirement = Literal[
    "reconfigure_runtime", "enable_runtime", "install_binary", "log_in", "fix_startup", "update_version", "fix_error"
]  # fmt: skip

_RESUME = (
    "The process that ran your last turn ended before the turn did. Look first at how things really stand: the "
    "files, the repository, what your last steps left behind. Do not repeat what is finished. Go on with the first "
    "step that is not. If that cannot be done safely, stop and explain what you found."
)


class LeftTurn(Record):
    """A turn as its binding has it."""

    turn_id: str
    session_id: str
    runtime_id: str
    status: BindingStatus
    is_known: bool = True  # the turn itself is there and under way; else its binding alone was left
    elsewhere: str = ""  # why the runtime of that id is not the session's any more
    input: str = ""  # its message, without secrets


class Recoverable(Record):
    """The turn can go on."""

    turn: LeftTurn
    reason: str


class Blocked(Record):
    """The turn waits for somebody."""

    turn: LeftTurn
    reason_class: str  # cli_runtime_missing, cli_runtime_needs_auth, …
    human_message: str
    resume_requirements: tuple[str, ...]  # what to do, in order
    requirement: Requirement
    blocked_recovery_job_id: str | None = None
    latest_checkpoint_id: str | None = None
    can_resume_same_turn: bool = True

    @property
    def resume_command(self) -> str:
        """Return the order with which it goes on."""
        return f"turn.resume:{self.turn.turn_id}"

    @property
    def reason(self) -> str:
        """Return why; the same sentence that people read."""
        return self.human_message


class Ignored(Record):
    """Nothing is to be done."""

    turn: LeftTurn
    reason: str


Plan = Recoverable | Blocked | Ignored


def plan_recovery(turns: Iterable[LeftTurn], statuses: Mapping[str, AnyStatus]) -> tuple[Plan, ...]:
    """Return what is to be done for each turn whose binding says that it is under way; others are passed over.

    statuses: of all runtimes of the catalogue, by their ids.
    """
    return tuple(_plan(turn, statuses) for turn in turns if turn.status in OPEN)


def plan_json(plans: Sequence[Plan]) -> dict[str, Any]:
    """Return plans as `recover --json` prints them: `{"recoverable", "blocked", "ignored"}`."""
    return {
        "recoverable": [
            {**_name_turn(one.turn), "reason": one.reason} for one in plans if isinstance(one, Recoverable)
        ],
        "blocked": [_blocked_json(one) for one in plans if isinstance(one, Blocked)],
        "ignored": [{**_name_turn(one.turn), "reason": one.reason} for one in plans if isinstance(one, Ignored)],
    }


def resume_text(unsure: str = "", most: int = 1 << 20) -> str:
    """Return what an agent is told whose turn goes on after its process was lost.

    unsure: the message of that turn, where nobody knows whether the agent has got it. most: characters.
    """
    if unsure.startswith(_RESUME):  # it was to go on with an earlier turn
        return unsure
    text = f"{_RESUME}\n\nYou may not have got the message of that turn. It was:\n\n{unsure}" if unsure else _RESUME
    return text if len(text) <= most else unsure


def _plan(turn: LeftTurn, statuses: Mapping[str, AnyStatus]) -> Plan:
    if not turn.is_known:
        return Ignored(turn, f"turn {turn.turn_id} is not under way any more")
    status = statuses.get(turn.runtime_id)
    if status is None:
        message = f"the runtime {turn.runtime_id!r} is not configured any more"
        fix = f"add an account or a [runtimes] table for {turn.runtime_id!r}"
        return _block(turn, "cli_runtime_missing", message, fix, "reconfigure_runtime")
    if turn.elsewhere:
        fix = f"correct that in config.toml, or fork the session: agents session fork {turn.session_id}"
        return _block(turn, "cli_runtime_missing", turn.elsewhere, fix, "reconfigure_runtime")
    explain = _BLOCKS.get(type(status))
    if explain is None:
        return Recoverable(turn, f"the runtime {turn.runtime_id!r} can go on with it")
    return _block(turn, *explain(turn.runtime_id, status))


def _block(turn: LeftTurn, reason: str, message: str, fix: str, requirement: Requirement) -> Blocked:
    return Blocked(turn, reason, message, (fix, "then resume this turn"), requirement)


_Explanation = tuple[str, str, str, Requirement]


def _is_disabled(runtime: str, _status: AnyStatus) -> _Explanation:
    return (
        "cli_runtime_disabled",
        f"the runtime {runtime!r} is switched off",
        f"switch {runtime!r} on in config.toml",
        "enable_runtime",
    )


def _is_missing(runtime: str, status: AnyStatus) -> _Explanation:
    path = status.binary_path if isinstance(status, MissingBinary) else None
    at = f" at {path}" if path else ""
    return (
        "cli_runtime_missing_binary",
        f"the program of the runtime {runtime!r} is not there{': ' + path if path else ''}",
        f"install the program{at}, or correct its path",
        "install_binary",
    )


def _needs_login(runtime: str, _status: AnyStatus) -> _Explanation:
    return (
        "cli_runtime_needs_auth",
        f"nobody is logged in to the runtime {runtime!r}",
        f"log in: agents runtime login {runtime}",
        "log_in",
    )


def _cannot_start(runtime: str, status: AnyStatus) -> _Explanation:
    why = status.message if isinstance(status, SpawnFailed) else ""
    return (
        "cli_runtime_spawn_failed",
        f"the runtime {runtime!r} cannot be started" + (f": {why}" if why else ""),
        "mend what keeps its program from starting",
        "fix_startup",
    )


def _is_too_old(runtime: str, status: AnyStatus) -> _Explanation:
    needed = status.minimum_version if isinstance(status, UnsupportedVersion) else None
    seen = status.version if isinstance(status, UnsupportedVersion) else None
    told = (f": it is {seen}" if seen else "") + (f", {needed} is needed" if needed else "")
    return (
        "cli_runtime_unsupported_version",
        f"the version of the runtime {runtime!r} is not supported{told}",
        f"update the program to {needed} or newer" if needed else "update the program",
        "update_version",
    )


def _is_broken(runtime: str, status: AnyStatus) -> _Explanation:
    why = status.message if isinstance(status, Failed) else ""
    return (
        "cli_runtime_error",
        f"the runtime {runtime!r} does not work" + (f": {why}" if why else ""),
        f"see what is wrong: agents runtime refresh {runtime}",
        "fix_error",
    )


_BLOCKS: Mapping[type, Callable[[str, AnyStatus], _Explanation]] = {
    Disabled: _is_disabled,
    MissingBinary: _is_missing,
    NeedsAuth: _needs_login,
    SpawnFailed: _cannot_start,
    UnsupportedVersion: _is_too_old,
    Failed: _is_broken,
}


def _name_turn(turn: LeftTurn) -> dict[str, Any]:
    ids = {"turn_id": turn.turn_id, "session_id": turn.session_id, "runtime_id": turn.runtime_id}
    return {**ids, "input": turn.input}


def _blocked_json(plan: Blocked) -> dict[str, Any]:
    return {
        **_name_turn(plan.turn),
        "reason_class": plan.reason_class,
        "human_message": plan.human_message,
        "resume_requirements": list(plan.resume_requirements),
        "requirement": plan.requirement,
        "resume_command": plan.resume_command,
        "blocked_recovery_job_id": plan.blocked_recovery_job_id,
        "latest_checkpoint_id": plan.latest_checkpoint_id,
        "can_resume_same_turn": plan.can_resume_same_turn,
    }

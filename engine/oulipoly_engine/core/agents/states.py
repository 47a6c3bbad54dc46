"""The life of a running agent as a table: (status, event) to status. Pure.

pulling --image_ready--> starting --answer--> ready <--work / rest--> working
pulling, starting, ready, working --stop--> stopped; pulling, starting --fail--> failed
ready, working --crash--> failed; starting --time_out--> failed
stopped, failed --start--> pulling; any of these --remove--> removing --clean_up--> removed, which is the end
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from oulipoly_engine.errors import AgentStateInvalid
from oulipoly_engine.records import Record

Status = Literal["pulling", "starting", "ready", "working", "stopped", "failed", "removing", "removed"]
Event = Literal[
    "image_ready", "answer", "work", "rest", "stop", "fail", "crash", "time_out", "start", "remove", "clean_up"
]
Reason = Literal["", "pull", "init", "config", "model", "readiness_timeout", "crashed"]

STATUSES: tuple[Status, ...] = (
    *("pulling", "starting", "ready", "working"),
    *("stopped", "failed", "removing", "removed"),
)
REASONS: tuple[Reason, ...] = ("", "pull", "init", "config", "model", "readiness_timeout", "crashed")
UNKNOWN = "unknown"  # a number that a later release has written
RUNNING: tuple[Status, ...] = ("pulling", "starting", "ready", "working")
RETRIED: tuple[Reason, ...] = ("pull", "init", "model")  # of failures: those that may pass by themselves
_LEFT_ALONE: tuple[Status, ...] = ("failed", "removing", "removed")  # by the exit of a process
_REMOVABLE: tuple[Status, ...] = (*RUNNING, "stopped", "failed")
_MOST_DOUBLINGS = 32

AGENT: Mapping[tuple[Status, Event], Status] = {
    ("pulling", "image_ready"): "starting",
    ("pulling", "fail"): "failed",
    ("starting", "fail"): "failed",
    ("starting", "time_out"): "failed",  # no answer in time
    ("starting", "answer"): "ready",
    ("ready", "work"): "working",  # a first turn or command is in flight
    ("working", "rest"): "ready",  # none is
    ("ready", "crash"): "failed",
    ("working", "crash"): "failed",
    **{(status, "stop"): "stopped" for status in RUNNING},
    ("stopped", "start"): "pulling",
    ("failed", "start"): "pulling",
    **{(status, "remove"): "removing" for status in _REMOVABLE},
    ("removing", "clean_up"): "removed",
}


class Standing(Record):
    """How an agent stands."""

    status: Status = "pulling"
    reason: Reason = ""  # of a failure


def status_name(number: int) -> str:
    """Return the name of a status by its number, or `unknown`."""
    return STATUSES[number] if 0 <= number < len(STATUSES) else UNKNOWN


def reason_name(number: int) -> str:
    """Return the name of a reason by its number, empty for none, or `unknown`."""
    return REASONS[number] if 0 <= number < len(REASONS) else UNKNOWN


def advance(standing: Standing, event: Event, reason: Reason = "") -> Standing:
    """Return how an agent stands after an event. reason: of a failure; `crash` and `time_out` have their own.

    Raises AgentStateInvalid, which names status and event, where the event cannot come.
    """
    status = AGENT.get((standing.status, event))
    if status is None:
        raise AgentStateInvalid(explain_refusal(standing.status, event))
    if status != "failed":
        return Standing(status)
    own_reasons: dict[str, Reason] = {"crash": "crashed", "time_out": "readiness_timeout"}
    return Standing(status, own_reasons.get(event) or reason or "init")


def explain_refusal(status: Status, event: Event) -> str:
    """Say why an event cannot come in a status."""
    if status in ("removing", "removed"):
        return f"the agent is {status}: `agents agent run` makes another one"
    if event == "start" and status in RUNNING:
        return f"the agent is already running (it is {status})"
    return f"an agent that is {status} cannot {event.replace('_', ' ')}"


def is_changed_by_exit(status: Status, unless: Collection[Status] = _LEFT_ALONE) -> bool:
    """Tell whether the end of an agent's process makes it stopped: what has failed, or goes, stays as it is."""
    return status not in unless


def is_retried(standing: Standing) -> bool:
    """Tell whether a start that has come to this is tried again."""
    return standing.status == "failed" and standing.reason in RETRIED


def backoff_s(failures: int, base_s: float = 1.0, cap_s: float = 30.0) -> float:
    """Return the pause before the next try. failures: before this one, from 0; a negative count is none."""
    if failures >= _MOST_DOUBLINGS:
        return cap_s
    return min(cap_s, base_s * 2.0 ** max(failures, 0))

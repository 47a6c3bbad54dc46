"""One start of a CLI by us, and how it ended, as values. Pure."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from oulipoly_engine.records import Record

CaptureMethod = Literal["none", "forced_flag_verified", "stdout_json_event", "failed"]


class Status(StrEnum):
    """The states of an invocation; all but RUNNING are final."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LEGACY = "legacy"  # a row from before statuses were kept


class Category(StrEnum):
    """Why a run failed. Only QUOTA_EXHAUSTED parks an account: it lasts, while RATE_LIMIT passes by itself."""

    RATE_LIMIT = "rate_limit"
    QUOTA_EXHAUSTED = "quota_exhausted"
    AUTH_EXPIRED = "auth_expired"
    CLI_VERSION_MISMATCH = "cli_version_mismatch"
    NETWORK_ERROR = "network_error"  # includes the server's own passing trouble: 5xx, overloaded, high demand
    UNKNOWN = "unknown"
    RESUME_SESSION_MISMATCH = "resume_session_mismatch"
    HUNG_SUBPROCESS = "hung_subprocess"


# No CLI's failure, so no diagnosis finds it: what a run has returned is not what its receipts say, or cannot be kept.
RETURNED_ARTIFACTS = "returned_artifacts"
NOT_KEPT = "returned_artifacts_persist_failed"  # the terminal reason that goes with it


class Invocation(Record):
    """A stored invocation."""

    row_id: int
    uuid: str
    model: str
    account: str | None
    member_index: int | None
    parent_row_id: int | None
    status: Status
    success: bool | None
    exit_code: int | None
    error_category: str | None
    terminal_reason: str | None
    session_id: str | None
    capture_method: str  # none, forced_flag_verified, stdout_json_event, failed, resumed, turn_script
    resume_input_id: str | None
    acceptance_status: str | None
    acceptance_evidence: str | None
    attempt: int  # 1 for the first account tried, 2 for the next …
    working_directory: str | None
    owner_pid: int | None
    created_at: datetime
    finished_at: datetime | None
    child_pid: int | None = None  # the CLI's process, while its runner watches it; it leads a group of its own
    child_ticks: int | None = None  # when that began, in the kernel's ticks since boot
    owner_place: str | None = None  # where `owner_pid` is its runner's number


class Outcome(Record):
    """How an invocation ended."""

    success: bool
    exit_code: int  # the child's; -1 when it never started; 128 plus the number of the signal that killed it
    finished_at: datetime
    error_category: str | None = None
    terminal_reason: str | None = None
    error_text: str | None = None  # redacted
    session_id: str | None = None
    capture_method: str = "none"
    acceptance_status: str | None = None
    acceptance_evidence: str | None = None


class CaptureOutcome(Record):
    """What reading the CLI's session id out of its output came to."""

    session_id: str | None  # the CLI's own id; None unless it was learned
    method: CaptureMethod
    error: str | None = None  # one sentence, when the method is "failed"


class RunningRun(Record):
    """A run that goes on, of any of our processes."""

    row_id: int
    account: str
    created_at: str  # RFC 3339, as stored
    session_id: str | None  # the CLI's, also one that it was only asked to begin
    expected_turns: float | None  # None: it may be idle


class Lengths(Record):
    """How many turns runs have taken: running averages in which recent ones weigh more."""

    runs: int  # 1..
    turns: float  # mean
    log_turns: float  # mean of the natural logarithm
    log_variance: float

"""What answers hold: the OpenAPI document is made of these. Where an answer is a record, its model is made of that."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field

from oulipoly_engine.core.balance.decision import Method, TieRule
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.worktrees import changes
from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
from oulipoly_engine.core.worktrees.setup_file import Setup
from oulipoly_engine.core.worktrees.trace import RunTrace
from oulipoly_engine.facade.worktrees.work import AgentEntry
from oulipoly_engine.web.base.record_models import make_model, model_of


class Done(BaseModel):
    """It was done."""

    ok: Literal[True]


class Status(BaseModel):
    """What became of a session, or of a request."""

    id: str
    status: str


# Trees ---------------------------------------------------------------------------------------------------------------
class TreeEntry(BaseModel):
    """A message in the tree."""

    id: str
    parent_id: str | None = Field(description="The message that it follows on, of those that are shown.")
    kind: str
    role: str
    depth: int
    preview: str
    label: str | None
    timestamp: str
    is_sidechain: bool = Field(description="Whether a sub-agent said it.")


class Fork(BaseModel):
    """The session at the other end of a fork."""

    chain_id: str
    account: str
    session_id: str
    entry_id: str | None = Field(description="The message behind which the fork leaves; null: they share none.")


class SessionTree(BaseModel):
    """A session with all its branches, each message behind its parent."""

    session_id: str
    chain_id: str
    leaf: str | None = Field(description="The message that the session goes on behind.")
    forked_from: Fork | None
    forks: list[Fork] = Field(description="Sessions that are forks of this one.")
    entries: list[TreeEntry]


class Branched(BaseModel):
    """Where a session goes on now."""

    session_id: str
    chain_id: str
    leaf: str | None = Field(description="Null: before all of them.")
    former_leaf: str | None
    summary: str | None = Field(None, description="Of what was left, where one was asked for.")


_PREVIEW: dict[str, Any] = {
    "session_id": str,
    "chain_id": str,
    "entry_id": str | None,
    "files_from": str,
    "unsaved": list[str],
    "left_out": changes.LeftOut,
}
FilePreview: Any = make_model("FilePreview", changes.FileChanges, **_PREVIEW)
FilesRestored: Any = make_model(
    "FilesRestored", changes.FileChanges, **_PREVIEW, before=str | None, way_back=str | None
)


class Labelled(BaseModel):
    """What a message is called now."""

    entry_id: str
    label: str | None


class ComparedEntry(BaseModel):
    """A message of one branch alone."""

    id: str
    role: str
    preview: str


class Comparison(BaseModel):
    """Two branches."""

    session_id: str
    shared: list[str] = Field(description="The ids of the messages that both have.")
    left: list[ComparedEntry]
    right: list[ComparedEntry]


# The computer --------------------------------------------------------------------------------------------------------
class Health(BaseModel):
    """That the server answers; the counts are for devices."""

    ok: Literal[True]
    sessions: dict[str, int] = Field({}, description="How many there are by their status.")
    busy: int = 0
    pending_requests: int = 0
    turns: int = Field(0, description="The last ones, of which the times are.")
    turn_seconds_median: float | None = None
    turn_seconds_longest: float | None = None


class Me(BaseModel):
    """The device that asks."""

    name: str
    device_id: str
    scopes: list[str]
    confirmed: bool


class Config(BaseModel):
    """What new sessions are begun with, and what is switched on."""

    default_agent: str | None
    lifecycles: list[str]
    scopes: list[str]
    turn_timeout_s: float
    use_worktree: bool
    isolation: str
    block_while_running: bool
    enable_commit: bool
    enable_promote: bool
    browse_roots: list[str]


class Pool(BaseModel):
    """A model's accounts, and which of them would serve next."""

    id: str
    next_account: str | None
    accounts: list[str]
    pin: str | None
    reason: str | None


class QuotaWindow(BaseModel):
    """One rolling quota of an account."""

    window: str | None
    used: float = Field(description="0 to 1.")
    resets_at: str


class AccountQuota(BaseModel):
    """An account with its windows, as they were last read."""

    account: str
    is_exhausted: bool
    is_stale: bool
    refreshed_at: str | None
    windows: list[QuotaWindow]


class DecisionWindow(BaseModel):
    """A window as it was weighed."""

    position: int
    label: str | None
    used: float | None
    resets_at: str
    hours_to_reset: float | None
    live: bool
    rate: float | None
    rate_source: str
    projected_used: float | None
    score: float | None


class Waste(BaseModel):
    """What a prompt is likely to waste on an account."""

    turns: float = Field(description="Cut off or missing later, less what would expire.")
    cut_off: float = Field(description="The chance that the account cuts the prompt off.")


class Candidate(BaseModel):
    """An account of a pool, and why it was chosen or not."""

    index: int
    account: str
    chosen: bool
    eligible: bool
    exclusion: str | None
    why_not: str | None
    score: float | None
    waste: Waste | None = Field(description="Where accounts are ranked by it.")
    binding_window: int | None
    in_band: bool
    hides_window: bool
    worst_projected_used: float | None
    soonest_reset_hours: float | None
    live_windows: int
    invocation_count: int
    recent_errors: int
    running: int = Field(description="Its runs that have not ended.")
    promised_turns: float | None = Field(description="What its work that runs will still take.")
    has_alert: bool = Field(description="It was told to run out in a cycle that still runs.")
    turns_since_refresh: int
    reserve: float | None
    drained: bool
    disabled: bool
    readmit: bool
    windows: list[DecisionWindow]


class Expectation(BaseModel):
    """How long a prompt is expected to be."""

    turns: float | None
    spread: float | None = Field(description="Standard deviation of their natural logarithm.")
    runs: int = Field(description="Those that it rests on.")


class Decision(BaseModel):
    """Which account the next session of a model would get."""

    model: str
    now: str
    rule: TieRule
    method: Method
    index: int | None
    account: str | None
    reason: str
    error: str | None
    sticky_to: str | None
    band_floor: float | None
    readmitted: list[str]
    expected: Expectation
    candidates: list[Candidate]
    stale: list[str] = Field(description="Accounts whose quota was read too long ago.")


class Folder(BaseModel):
    """A folder."""

    name: str
    path: str
    is_repo: bool


class Folders(BaseModel):
    """The folders in a folder; without one those that one may begin at."""

    path: str | None
    parent: str | None
    folders: list[Folder]
    is_cut: bool = False


# Sessions ------------------------------------------------------------------------------------------------------------
class Interrupted(BaseModel):
    """The turn that was interrupted."""

    id: str
    turn_id: str


class Steered(BaseModel):
    """What became of a message for the running turn."""

    id: str
    turn_id: str
    status: str
    steered: bool = Field(description="False: it goes as a turn of its own.")
    is_opening: bool = Field(False, description="The session's process opens still, with that turn to come.")
    message_id: str = Field("", description="Of one that was given to the turn.")
    message: str = Field("", description="Why it was not.")


class QueuedMessage(BaseModel):
    """A message that waits."""

    message_id: str
    text: str
    note: str


class Queued(BaseModel):
    """A message that was sent: it begins a turn, or waits."""

    turn_id: str
    status: str


class Artifact(BaseModel):
    """A file that a session has made for people."""

    name: str
    size: int
    mtime: int = Field(description="Milliseconds since 1970.")


class Request(BaseModel):
    """What is asked of a person."""

    id: str
    call_id: str
    origin: str = Field(description="Who asks: `live`, `setup`, `worktree`, `device` or `extension`.")
    session_id: str | None = Field(description="Of a live session's request.")
    turn_id: str | None
    kind: str
    status: str
    prompt: model_of(ev.Prompt)  # type: ignore[valid-type]  # made of the record
    digest: str = Field(description="Of the prompt: an answer may name it.")
    decision: str | None
    answered_by: str | None
    created_at: str
    resolved_at: str | None


_EVENTS = tuple(make_model(kind.__name__, kind, seq=int, at=str) for kind in get_args(ev.AnyEvent))
Event: Any = Annotated[reduce(or_, _EVENTS), Field(discriminator="type")]
Agent: Any = make_model("Agent", AgentEntry, id=str)
Trace: Any = model_of(RunTrace)


class EventPage(BaseModel):
    """Events after a number."""

    events: list[Event]
    after: int = Field(description="The number of the last one.")
    more: bool


# Changes -------------------------------------------------------------------------------------------------------------
ChangeSet = make_model(
    "ChangeSet", changes.ChangeSet, without="git_available", gitAvailable=bool, committed=tuple[ChangeEntry, ...]
)
FileText = model_of(changes.FileText)
FileWritten = make_model("FileWritten", changes.Written, ok=Literal[True])
Preflight = model_of(changes.Preflight)
Promoted = make_model("Promoted", changes.Promoted, ok=Literal[True])
_RESULTS = tuple(map(model_of, (changes.Discarded, changes.Committed, changes.MergePreview, changes.Moved)))
_GitResult: Any = reduce(or_, _RESULTS)


class TextDiff(BaseModel):
    """How a text differs."""

    isBinary: Literal[False]  # noqa: N815 - as the contract has it
    path: str
    diff: str
    hunks: list[model_of(changes.HunkText)]  # type: ignore[valid-type]  # made of the record


class BinaryDiff(BaseModel):
    """That another file differs."""

    isBinary: Literal[True]  # noqa: N815 - as the contract has it
    path: str
    size: int | None
    sha: str | None = Field(description="SHA-256; empty: it is gone.")


Diff = TextDiff | BinaryDiff


class GitDone(Done):
    """What git has done."""

    result: _GitResult | None = None


class PromptSent(BaseModel):
    """A message that was sent for a person."""

    message_id: str
    turn_id: str


class SetupState(BaseModel):
    """The commands that a repository wants to run in new worktrees."""

    repository: str
    setup: model_of(Setup)  # type: ignore[valid-type]  # made of the record
    digest: str
    is_allowed: bool
    allowed_at: int | None


# Devices -------------------------------------------------------------------------------------------------------------
class Device(BaseModel):
    """A device or a link that may use the server."""

    device_id: str
    kind: str
    name: str
    scopes: list[str]
    created_at: str
    last_seen_at: str | None
    expires_at: str | None


class Paired(Device):
    """A device, and its token, which nobody can read again."""

    token: str


class Confirmed(BaseModel):
    """Whether the device was confirmed, or who is at the computer was asked to do it."""

    confirmed: bool
    request_id: str | None = None


class PushState(BaseModel):
    """Whether the device is told of requests."""

    is_on: bool


class PushAccess(PushState):
    """The same, and what its browser needs for it."""

    public_key: str

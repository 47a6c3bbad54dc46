"""What requests and answers hold: the OpenAPI document is made of these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path as PathParameter
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.config import JsonDict

from oulipoly_engine.core.sessions.facets import SessionKind
from oulipoly_engine.core.web.push import LONGEST_ENDPOINT

_MOST_TEXT = 1 << 20  # characters of a message or a file

SessionId = Annotated[
    str, PathParameter(pattern=r"^[0-9A-Za-z-]{4,64}$", description="A session's id, or its beginning.")
]
RequestId = Annotated[
    str, PathParameter(pattern=r"^[0-9A-Za-z_-]{4,64}$", description="A request's id, or its beginning.")
]
Text = Annotated[str, StringConstraints(min_length=1, max_length=_MOST_TEXT)]
Name = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]

# What a handler refuses with a sentence of its own stands in the document alone.
ABSOLUTE: JsonDict = {"pattern": r"^/[^\x00]*$"}


class Body(BaseModel):
    """A body; a key that is not known is an error, for it may be a slip."""

    model_config = ConfigDict(extra="forbid")


class NewSession(Body):
    """A session to begin."""

    repo_path: FilePath = Field(
        description="The repository, or any folder where `use_worktree` is false.",
        json_schema_extra={"pattern": r"^[/~][^\x00]*$"},
    )
    agent_id: Name | None = Field(None, description="A model with a pool, or a runtime; see /agents. Default: /config.")
    branch: Name | None = Field(None, description="Where its own branch begins. Default: HEAD.")
    reuse_branch: bool = Field(False, description="Work on that branch itself.")
    use_worktree: bool = True
    lifecycle: Literal["oneshot", "persistent"] = "persistent"
    initial_message: Annotated[str, StringConstraints(max_length=_MOST_TEXT)] | None = None
    prompt: Annotated[str, StringConstraints(max_length=_MOST_TEXT)] | None = Field(
        None, description="The same as `initial_message`."
    )
    title: Name = ""
    profile: Name | None = None
    isolation: Literal["none", "guarded", "sealed"] | None = Field(
        None, description="In which box its CLI stands, in a worktree. Default: the setting `work_isolation`."
    )
    addresses: list[Name] = Field([], description="`HOST[:PORT]` that a sealed one reaches besides its model.")
    block_while_running: bool = True
    params: dict[Name, Any] = Field({}, description="The same as the keys below; see an agent's `allowed_parameters`.")
    model: Name | None = Field(None, description="The CLI's own model.")
    effort: Name | None = None
    approval_policy: Name | None = None
    sandbox_mode: Name | None = None
    include_plan_tool: bool | None = None
    web_search: bool | None = None
    include_apply_patch_tool: bool | None = None
    include_view_image_tool: bool | None = None


PARAMETERS = (
    "model",
    "effort",
    "approval_policy",
    "sandbox_mode",
    "include_plan_tool",
    "web_search",
    "include_apply_patch_tool",
    "include_view_image_tool",
)


class SessionCreated(BaseModel):
    """A session that was begun."""

    id: str
    session_id: str
    worktree_path: str
    branch: str | None
    status: str
    turn_id: str | None
    waits_for: str
    isolation: str
    login_in_reach: str | None = Field(description="Why its login is within reach, though it stands in a box.")


class Fork(Body):
    """Another session to begin with the past of one."""

    runtime_id: Name = Field("", description="Another runtime; empty: the same.")
    at_turn: Name = Field("", description="The last turn or entry to take over, by its id; empty: all.")
    title: Name = ""


class NewBranch(Body):
    """Where a session is to go on."""

    entry_id: Name = Field(description="A message's id, or its beginning.")
    restore: Literal["chat", "files", "both"] = Field("chat", description="What goes back to the message.")
    files_from: Name = Field("", description="A snapshot's name, as an answer tells it; empty: the message's.")
    summary: Annotated[str, StringConstraints(max_length=10_000)] | None = Field(
        None,
        description="What a model that sums up what is left should look at; empty: nothing more. Null: none does.",
    )
    overwrite: bool = Field(False, description="Restore over changes that no snapshot has; they are kept in one first.")


class NewLabel(Body):
    """What a message is to be called."""

    entry_id: Name = Field(description="A message's id, or its beginning.")
    label: Annotated[str, StringConstraints(max_length=60)] = Field("", description="Empty: it has none any more.")


class SessionForked(BaseModel):
    """A session that was begun with the past of another."""

    id: str
    session_id: str
    runtime_id: str
    account: str | None
    why: str = Field(description="How it has its past.")
    losses: list[str] = Field(description="What of the past it does not have.")


class SessionRow(BaseModel):
    """How a session stands. Times are milliseconds since 1970."""

    id: str
    session_id: str
    kind: SessionKind
    native_id: str | None = Field(description="The CLI's own.")
    title: str
    agent_id: str
    runtime_id: str
    runtime_kind: str
    account: str | None
    profile: str | None
    policy: str | None = Field(description="What is in force, in the CLI's own words.")
    isolation: str = Field(description="In which box its CLI stands: `none`, `guarded` or `sealed`.")
    workspace: str
    forked_from: str | None
    repo_path: str
    worktree_path: str
    branch: str | None
    base: str | None
    lifecycle: str
    status: str
    busy: bool
    pending_approval: bool
    is_stale: bool
    queued: int
    turn_id: str | None
    waits_for: str
    pid: int | None
    exit_code: int | None
    error_message: str | None
    block_while_running: bool
    created_at: int
    last_activity_at: int
    closed_at: int | None


class Segment(BaseModel):
    """A part of a session, on one account."""

    account: str
    session_id: str
    started_at: str
    ended_at: str | None
    is_active: bool
    turns: int


class ListedSession(BaseModel):
    """A session of any kind, by the keys of `session list --json`."""

    id: str
    chain_id: str
    session_id: str | None = Field(description="The CLI's own.")
    kind: SessionKind
    status: str
    account: str
    cli: str
    model: str
    cli_model: str | None
    name: str | None
    title: str | None
    note: str | None
    pinned: bool
    forked_from: str | None
    workspace: str | None
    first_used_at: str
    last_used_at: str
    turns: int
    assistant_turns: int
    sidechain_turns: int
    side_chains: int
    transcript: str | None
    transcript_state: str
    transcript_bytes: int | None
    purge_at: str | None
    at_risk_in_days: float | None
    kept_copy: bool | None
    segments: list[Segment]
    live: SessionRow | None = Field(description="How it stands; null: it was not begun as a live session.")


class MessageRow(BaseModel):
    """One message."""

    id: str
    turn_id: str
    role: Literal["user", "assistant"]
    content: str
    created_at: int
    status: str
    parent_id: str | None = Field(description="The message that it follows on.")
    kind: str = Field(description="`message`, or `compaction`.")
    live_turn_id: str | None = Field(description="The turn of agent-runner, or the run, that it belongs to.")


class RecordedDetail(ListedSession):
    """One that was not begun as a live session, and its last 20 messages."""

    leaf: str | None = Field(description="The id of the entry that it goes on behind.")
    messages: list[MessageRow]


class SessionDetail(SessionRow):
    """One session, and its last 20 messages."""

    model: str | None
    effort: str | None
    approval_policy: str | None
    sandbox_mode: str | None
    include_plan_tool: bool | None
    web_search: bool | None
    include_apply_patch_tool: bool | None
    include_view_image_tool: bool | None
    log_path: str
    artifact_dir: str
    agent_log_hint: str
    controller: str | None = Field(description="Who wrote last, in the app or on a page.")
    controlled_since: int | None
    attached: list[str] = Field(description="Who is told what happens: devices, apps, commands.")
    leaf: str | None = Field(description="The id of the entry that it goes on behind; `at_turn` of a fork takes it.")
    messages: list[MessageRow]


class SessionChange(Body):
    """What may be changed of a session."""

    block_while_running: bool


class NewMessage(Body):
    """A message."""

    content: Annotated[str, StringConstraints(max_length=_MOST_TEXT)] = Field(json_schema_extra={"pattern": r"\S"})


class MessageSent(BaseModel):
    """A message that has begun a turn."""

    message_id: str
    turn_id: str
    user_message_id: str
    assistant_message_id: str


class QueueChange(Body):
    """Another text for a message that waits, or another place."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["text"], "properties": {"text": {"type": "string"}}},
                {"required": ["place"], "properties": {"place": {"type": "integer"}}},
            ]
        }
    )

    text: Text | None = None
    place: Annotated[int, Field(ge=1, le=10_000)] | None = Field(None, description="From 1, the next to go.")


class Approval(Body):
    """An answer to what a session asks (contract B7)."""

    call_id: Name
    decision: Literal["approve", "deny"]
    scope: Literal["once", "session", "path"] = "once"
    path: FilePath | None = None


class RequestAnswer(Body):
    """An answer to a request."""

    decision: Literal["approve", "approve_for_session", "deny", "cancel", "answer"]
    reason: Annotated[str, StringConstraints(max_length=4000)] = ""
    answers: dict[str, list[str]] = {}
    digest: Annotated[str, StringConstraints(max_length=64)] | None = Field(
        None, description="Of what was read: an answer to anything else is refused."
    )


class FileToWrite(Body):
    """A file to write."""

    path: FilePath
    content: Annotated[str, StringConstraints(max_length=_MOST_TEXT)]
    stage: bool = False
    expected_etag: Name | None = None


class GitOrder(Body):
    """Something to do with the changes."""

    op: Literal[
        "stage",
        "unstage",
        "discardWorktree",
        "discardIndex",
        "undoDiscard",
        "commit",
        "previewMerge",
        "merge",
        "rebase",
        "apply",
        "undoMove",
    ]
    paths: list[FilePath] = Field([], max_length=2000)
    hunks: list[Name] = Field([], max_length=200, description="Digests of hunks of one file; none: all of it.")
    message: Annotated[str, StringConstraints(max_length=100_000)] = ""
    into: Name = Field("", description="The other branch; empty: where the session began.")
    committed_only: bool = Field(False, description="Leave out what is not committed.")
    stage_all: bool = Field(False, description="Commit what is not staged, too.")


class Conflict(Body):
    """A conflict that the agent is to resolve."""

    into: Name = ""


class SetupPermission(Body):
    """Commands of a repository that may run in its worktrees."""

    repo_path: FilePath = Field(json_schema_extra=ABSOLUTE)
    digest: Name
    branch: Name = Field("", description="As it was given to GET /setup.")


class Promotion(Body):
    """A branch to push."""

    message: Annotated[str, StringConstraints(max_length=100_000)] = ""
    branch: Name | None = None
    pull_request: bool = Field(True, description="Make a pull request, or tell where one is made.")


class LineComment(Body):
    """A remark on a line of a diff."""

    path: FilePath
    line: int = Field(ge=1)
    text: Text


class Comments(Body):
    """Remarks that go to the session as one prompt."""

    comments: list[LineComment] = Field(min_length=1, max_length=200)


class Confirmation(Body):
    """A code that was shown on the computer."""

    code: Name = Field("", description="Empty: ask who is at the computer, by a request.")


class Pairing(Body):
    """A code that was shown on the computer."""

    code: Name
    name: Name = ""


class PushSubscription(Body):
    """What a browser's PushManager gives, as JSON."""

    class Keys(Body):
        """The keys that messages are encrypted with, base64url."""

        p256dh: Name
        auth: Name

    endpoint: Annotated[str, StringConstraints(max_length=LONGEST_ENDPOINT)] = Field(
        json_schema_extra={"pattern": "^https://"}
    )
    expirationTime: int | float | None = None  # noqa: N815 - as browsers write it
    keys: Keys


class Problem(BaseModel):
    """An error."""

    class Error(BaseModel):
        """Its word and its sentence."""

        code: str
        message: str

    error: Error


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the statuses of an operation's own refusals, as a route has it; `app.py` adds those of all operations."""
    return {status: {} for status in statuses}

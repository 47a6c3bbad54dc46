"""What configuration says of accounts, pools and agents, as frozen values. Pure: no files, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from oulipoly_engine.records import Record, field, replace

USUAL_COMMAND_S = 120  # that Claude Code 2.1 and opencode 1.18 let a command run by themselves


class PromptMode(StrEnum):
    """How a one-shot's prompt reaches the CLI."""

    STDIN = "stdin"
    ARG = "arg"


class StorageType(StrEnum):
    """The format of a CLI's transcripts."""

    CLAUDE_CODE = "claude_code"
    CODEX_SESSION = "codex_session"
    OTHER = "other"


class CaptureKind(StrEnum):
    """How a one-shot's session id is learned."""

    NONE = "none"
    FORCED_FLAG_VERIFIED = "forced_flag_verified"
    STDOUT_JSON_EVENT = "stdout_json_event"


class ResumeSpec(Record):
    """How the CLI is told to go on with a session: a flag before the id, or a subcommand before it."""

    flag: str | None = None
    subcommand: tuple[str, ...] = ()
    fork_args: tuple[str, ...] = ()  # begin a session with another one's past; `{session_id}` stands for that one

    def compose(self, session_id: str) -> tuple[str, ...]:
        """Return the arguments that resume `session_id`."""
        return (self.flag, session_id) if self.flag is not None else (*self.subcommand, session_id)

    def fork(self, session_id: str) -> tuple[str, ...]:
        """Return the arguments that begin a session with the past of `session_id`; none where the CLI cannot."""
        return tuple(word.replace("{session_id}", session_id) for word in self.fork_args)


class CaptureSpec(Record):
    """How the session id of a one-shot is captured (contract, section 10)."""

    kind: CaptureKind = CaptureKind.NONE
    flag: str = ""  # forced_flag_verified: takes our new UUID
    readback_args: tuple[str, ...] = ()  # forced_flag_verified: make the CLI print its id
    json_args: tuple[str, ...] = ()  # stdout_json_event: make the CLI print events
    last_message_flag: str = ""  # stdout_json_event: takes the file for the visible answer
    event_type: str = ""
    event_id_path: tuple[str, ...] = ()  # keys from the event's top to the id


class AcceptanceSpec(Record):
    """Plain substrings that show whether a CLI took a resumed id; `{session_id}` stands for it."""

    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()


class StorageSpec(Record):
    """Where a CLI keeps its sessions, as scripts (legacy kinds are turned into scripts when read)."""

    cwd_script: str
    transcript_script: str | None = None
    storage_type: StorageType = StorageType.OTHER
    root: Path | None = None  # the legacy kinds' folder, when the file named one


class KeyringSpec(Record):
    """Where an account's API key is, and the variable in which its CLI gets it."""

    entry: str  # of the service `agent-runner`, in the keyring of the user's desktop
    variable: str


class Account(Record):
    """One CLI login; owns quota and errors."""

    name: str
    command: str | None = None  # needed at spawn time only
    args: tuple[str, ...] = ()
    interactive_args: tuple[str, ...] | None = None  # None: cannot be launched interactively
    prompt_mode: PromptMode = PromptMode.STDIN
    quota_script: str | None = None
    auth_refresh_command: str | None = None
    resume: ResumeSpec | None = None
    capture: CaptureSpec = CaptureSpec()
    acceptance: AcceptanceSpec | None = None
    storage: StorageSpec | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    unset_environment: tuple[str, ...] = ()
    timeout_s: float | None = None  # a one-shot's own limit; None: no limit
    keyring: KeyringSpec | None = None  # None: it uses no key, or one in a file
    path: Path | None = None  # the file that defines it


class PoolMember(Record):
    """An account in a pool, with the model's own arguments."""

    index: int  # position in the model's file, from 0
    account: str
    args: tuple[str, ...] = ()
    interactive_args: tuple[str, ...] | None = None  # an interactive launch takes them instead of args; None: args


class InputType(StrEnum):
    """The six types an input can have."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ENUM = "enum"
    ARRAY = "array"


class InputSpec(Record):
    """One `[[inputs]]` entry of a model."""

    name: str
    type: InputType = InputType.STRING
    flag: str | None = None
    required: bool = False
    default_input: bool = False  # takes the prompt
    default: str | tuple[str, ...] | None = None  # as the text the CLI will get; a tuple for arrays
    description: str = ""
    options: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    item_type: InputType = InputType.STRING
    min_items: int | None = None
    max_items: int | None = None


class Model(Record):
    """What a user asks for: a pool of members and the inputs it takes."""

    name: str
    members: tuple[PoolMember, ...]
    inputs: tuple[InputSpec, ...] = ()
    path: Path | None = None
    sticky: bool = False  # stay on one account until it is spent, for the sake of prompt caches
    purpose: str = ""  # what runs of our own are recorded with: they are counted apart from the user's

    @property
    def recorded_name(self) -> str:
        """Return the name under which its runs are recorded."""
        return f"{self.name}~{self.purpose}" if self.purpose else self.name


def restrict_to_account(model: Model, account: str) -> Model | None:
    """Return the model with one account alone, its members' places as they were; None: its pool has no such account."""
    members = tuple(member for member in model.members if member.account == account)
    return replace(model, members=members) if members else None


class Agent(Record):
    """A named instruction text with the model that serves it."""

    name: str
    description: str = ""
    model: str = ""
    output_format: str = ""
    body: str = ""
    path: Path | None = None


# Bytes of a transcript's line, unless config.toml says otherwise; real ones have had 50 MB, pasted images among them.
LONGEST_LINE = 64 << 20


class SessionScripts(Record):
    """An account's entry in sessions.toml."""

    turn_script: str
    transcript_locator: str | None = None
    state_dir: Path | None = None  # None: <data>/sessions/<account>


class Settings(Record):
    """config.toml."""

    diagnostics_model: str | None = None
    default_provider: str | None = None
    default_model: str | None = None  # of live sessions
    thinking_level: str | None = None  # of live sessions: core.live.launch.cli_options.THINKING_LEVELS
    max_response_tokens: int | None = None  # of an answer in a live session
    max_tokens: int | None = None  # the same by an older name
    default_temperature: float | None = None  # of a live session's model
    temperature: float | None = None  # the same by an older name
    tool_timeout_seconds: int = USUAL_COMMAND_S  # of a command in a live session
    stream_responses: bool = True  # `chat` prints an answer while it comes
    session_history_size: int = 50  # rows of `session list`
    tie_rule: str = "fewest-calls"  # of core.balance.decision.TieRule
    reset_weight: float = 0.05  # of the tie rule "least-waste": how much sooner it spends what resets soon
    routing_ttl_s: float = 30.0  # age at which a quota reading is too old to route by
    attach_leave_key: str = "ctrl+]"  # of core.leave_key.BYTES: what `attach` keeps for itself
    archive: bool = True  # keep copies of transcripts after each scan
    archive_limit_bytes: int = 2 << 30  # of the kept copies, compressed; 0: no limit
    serve_roots: tuple[str, ...] = ()  # folders that the server lets devices browse; none: the home folder
    session_dir: str = ""  # where live sessions are written as session files; empty: nowhere
    serve_commit: bool = False  # devices of the server may commit (contract of worktree sessions, B1)
    serve_promote: bool = False  # and push
    serve_webhook: str = ""  # where the server posts what sessions ask; empty: nowhere
    work_merge_cli_log: bool = False  # a session's log goes on with what its CLI has logged itself
    keep_turn_files: bool = True  # of live sessions' checkouts, as objects of their repositories
    event_keep_days: int = 30  # without use, after which events give up what entries hold as well; 0: never
    work_keep_days: int = 90  # after which `worktree prune` drops what removed worktrees held; 0: never
    work_prune_days: int = 30  # without use, after which a clean and merged worktree goes by itself; 0: never
    work_prune_ignored: bool = False  # also with what git ignores, which nothing keeps
    work_isolation: str = "none"  # of `core.boxes.box.Level`: of sessions with a worktree of their own
    work_max_running: int = 0  # sessions with a worktree of their own that run at once; 0: any number
    agent_max_running: int = 10  # agents that are up at once; 0: any number
    auto_compaction: bool = True  # of live sessions whose CLI cannot compact
    compaction_threshold: float = 0.8  # of the context's window
    compaction_keep_recent: int = 4  # messages that a compaction by a model leaves as they are
    compaction_window: int = 0  # tokens that fit where a CLI does not tell; 0: nobody knows
    compaction_model: str | None = None  # None: the session's own
    compaction_instructions: str = ""  # for the summary
    extensions_enabled: bool = True
    extensions: tuple[str, ...] = ()  # entries as core.accounts.resource_lists has them, as in the next three
    skills: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    extension_timeout_seconds: float = 5.0
    retry_attempts: int = 3  # after the first one
    retry_base_ms: int = 1000
    retry_cap_ms: int = 30_000
    telemetry: bool = False  # into a file of the user's own
    preimage_limit_bytes: int = 1 << 30  # of what replacements replaced, compressed; 0: no limit
    longest_line: int = LONGEST_LINE  # bytes of a transcript's line; a longer one counts as damaged


def group_name(model: str) -> tuple[str, str | None]:
    """Split a model's name into group and facet at the first `~`; no `~` gives no facet."""
    group, tilde, facet = model.partition("~")
    return group, facet if tilde else None


class Controls(Record):
    """The wishes for one account; the default is none."""

    reserve: float = 0.0  # 0..1 of every window that must stay unspent
    drained: bool = False  # no new work; what runs may end
    disabled: bool = False  # left out, and not read either

    @property
    def words(self) -> str:
        """Return the wishes in a few words; empty if there are none."""
        parts = [f"reserve {100 * self.reserve:g} %"] if self.reserve else []
        if self.drained:
            parts.append("drained")
        if self.disabled:
            parts.append("disabled")
        return ", ".join(parts)

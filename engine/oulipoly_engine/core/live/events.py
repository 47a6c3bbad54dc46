"""What happens in a live session, in one vocabulary for all CLIs. Pure.

A driver makes events of what its CLI says; the session's host numbers them, keeps all but the deltas and who is
attached, and hands them to every client. Their JSON form is what `agents session follow` prints: `type` names the
event, beside its fields.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from oulipoly_engine.core.sessions.compaction import Hidden
from oulipoly_engine.records import Record, prepare

# What an item is. A CLI's own word that is none of these becomes `tool` or `other`, and stays in `native_kind`.
ItemKind = Literal[
    "user_message", "agent_message", "reasoning", "command", "file_change", "tool", "plan", "review", "compaction",
    "other"
]  # fmt: skip
ItemStatus = Literal["running", "completed", "failed", "declined", "interrupted"]
TurnEnd = Literal["completed", "failed", "interrupted"]
RequestKind = Literal["command_approval", "file_change_approval", "permission_approval", "user_input", "other"]

RESUMES = (
    "recovery"  # the native kind of a `user_message` that is ours: it has an agent go on with a turn that was left
)
STEERS = "steer"  # the native kind of a `user_message` that was given to a running turn
LONGEST = 16 << 20  # bytes of an event as JSON: it goes to clients in one frame, and `host.frames` takes 32 MiB
_LONGEST_ESCAPE = 8  # bytes of a character in JSON, and a reserve
_CUTS = 8 << 20, 2 << 20, 128 << 10, 4 << 10  # characters of each text, until all of them fit
_CUT_NOTE = 64  # characters that the note of what was cut may have


class FileChange(Record):
    """One file that is to be changed, or was."""

    path: str
    kind: str = "update"  # add, update, delete
    diff: str = ""  # unified; empty where the CLI tells none


class Item(Record):
    """A piece of a turn: a message, a tool's call, a plan."""

    id: str  # the CLI's own, or one that the driver made; the same in all events of the item
    kind: ItemKind
    status: ItemStatus = "running"
    text: str = ""  # a message, a thought, a command's output
    title: str = ""  # one line: the command, the tool's name with what it was given
    native_kind: str = ""
    phase: str = ""  # of an agent's message: commentary or final_answer
    cwd: str = ""
    exit_code: int | None = None
    changes: tuple[FileChange, ...] = ()
    steps: tuple[tuple[str, str], ...] = ()  # of a plan: text, and pending, in_progress or completed

    @property
    def untaken(self) -> str:
        """Say that a message has not reached the running turn, yet or at all; empty: it has, or was for none."""
        words = {"running": "not taken yet", "declined": "not taken", "interrupted": "perhaps not taken"}
        return words.get(self.status, "") if self.native_kind == STEERS else ""


class Question(Record):
    """One question to a person."""

    id: str
    text: str
    header: str = ""
    options: tuple[tuple[str, str], ...] = ()  # label, description
    takes_other: bool = False  # an answer of one's own beside the options
    takes_several: bool = False
    is_secret: bool = False  # its answer is never stored
    is_optional: bool = False  # it may be left out


class Prompt(Record):
    """What a request asks for."""

    title: str  # one line: what is to be allowed
    command: str = ""
    cwd: str = ""
    reason: str = ""
    changes: tuple[FileChange, ...] = ()
    questions: tuple[Question, ...] = ()
    reach: str = ""  # what "for this session" covers; empty: it cannot be answered so
    item_id: str = ""
    note: str = ""  # why it cannot be answered here, for the kind `other`


class Usage(Record):
    """Tokens of a turn or of the thread; None: the CLI does not tell."""

    input: int | None = None
    cached: int | None = None
    output: int | None = None
    context: int | None = None  # tokens in the window after the last call
    window: int | None = None  # tokens that fit
    cost_usd: float | None = None  # of the turn


class ModelInfo(Record):
    """A model that a runtime offers."""

    id: str
    name: str = ""
    description: str = ""
    is_default: bool = False
    is_custom: bool = False
    efforts: tuple[str, ...] = ()
    input_modalities: tuple[str, ...] = ()
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None


class Event(Record, tag_field="type"):
    """The root of all events."""


# The session ---------------------------------------------------------------------------------------------------------
class SessionOpened(Event, tag="session_opened"):
    """The CLI is ready for a turn."""

    native_id: str  # empty: known with the first turn
    model: str = ""
    version: str = ""  # the CLI's
    account: str = ""  # whose login the CLI says it is
    models: tuple[ModelInfo, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()  # slash commands: name, description
    policy: str = ""  # the permissions that are in force, as the CLI tells them


class SessionFailed(Event, tag="session_failed"):
    """The CLI cannot open the session; the process is of no use. reason: one of `core.live.failures.REASONS`."""

    reason: str
    message: str


class SessionClosed(Event, tag="session_closed"):
    """The CLI's process has ended, or was ended. reason: closed, idle, cancelled, shutdown, failed, exited, killed."""

    reason: str
    message: str = ""
    exit_code: int | None = None
    left_turn: str = ""  # id of the turn that was under way, and that `turn resume` goes on with; empty: there is none


class NativeIdChanged(Event, tag="native_id_changed"):
    """The CLI goes on under another id of its own (claude, at the first turn and after /clear)."""

    native_id: str


class SettingsChanged(Event, tag="settings_changed"):
    """The model or the permissions are others from now on; empty: as they were."""

    model: str = ""
    policy: str = ""


class NameChanged(Event, tag="name_changed"):
    """The session has a title."""

    name: str


class CommandsChanged(Event, tag="commands_changed"):
    """The slash commands are these."""

    commands: tuple[tuple[str, str], ...]


# Turns ---------------------------------------------------------------------------------------------------------------
class TurnStarted(Event, tag="turn_started"):
    """The CLI works. turn_id: ours, filled in by the host."""

    native_turn_id: str = ""
    turn_id: str = ""
    kind: str = ""  # user, review, compact, recovery; filled in by the host


class TurnEnded(Event, tag="turn_ended"):
    """A turn is over."""

    status: TurnEnd
    message: str = ""  # of a failure
    code: str = ""  # of `failures`, as usage_limit or unauthorized; or the CLI's own word
    usage: Usage | None = None
    turn_id: str = ""
    reply: str = ""  # the last message of the agent
    fork_at: str = ""  # what `Opening.fork_at` takes to fork after this turn; empty: the turn's native id


class TurnRetrying(Event, tag="turn_retrying"):
    """A turn that has failed is tried again: by its CLI by itself, or by us after a pause (`core/live/retry.py`)."""

    message: str
    code: str = ""
    turn_id: str = ""
    attempt: int = 0  # of ours, from 1
    attempts: int = 0  # that there are at most; 0: the CLI does it
    delay_ms: int = 0
    cause: str = ""  # network, rate_limit, timeout, server_error
    is_asked: bool = False  # the vendor has asked for that pause


class ItemStarted(Event, tag="item_started"):
    """A piece of the turn begins."""

    item: Item
    turn_id: str = ""


class ItemDelta(Event, tag="item_delta"):
    """More of an item's text. Nothing else may be dropped on its way to a client that is slow."""

    item_id: str
    text: str
    kind: ItemKind = "agent_message"
    stream: str = ""  # stderr, summary
    turn_id: str = ""


class ItemEnded(Event, tag="item_ended"):
    """A piece of the turn is whole; its text is all of it."""

    item: Item
    turn_id: str = ""
    hides: Hidden | None = None  # of a compaction by a model; None: it is none


class DiffUpdated(Event, tag="diff_updated"):
    """All that the turn has changed so far, as one unified diff."""

    diff: str
    turn_id: str = ""


class UsageUpdated(Event, tag="usage_updated"):
    """What the thread has used."""

    usage: Usage
    turn_id: str = ""


class QuotaSeen(Event, tag="quota_seen"):
    """The account's windows, as the CLI was told them. windows: name, used in percent, reset as Unix seconds."""

    windows: tuple[tuple[str, float, int | None], ...]
    is_rejected: bool = False


# Requests ------------------------------------------------------------------------------------------------------------
class RequestOpened(Event, tag="request_opened"):
    """The CLI asks a person. request_id: ours, filled in by the host."""

    native_id: str
    kind: RequestKind
    prompt: Prompt
    request_id: str = ""
    turn_id: str = ""


class RequestResolved(Event, tag="request_resolved"):
    """A request is not open any more. status: of `core.live.requests`, filled in by the host."""

    native_id: str
    request_id: str = ""
    status: str = ""
    by: str = ""
    turn_id: str = ""
    decision: str = ""  # of `core.live.requests`: what a person has said; empty: nobody


# Orders --------------------------------------------------------------------------------------------------------------
class SteerSettled(Event, tag="steer_settled"):
    """What became of a message for the running turn. outcome: accepted, refused (it is to be queued)."""

    message_id: str
    outcome: Literal["accepted", "refused"]
    message: str = ""


class OrderFailed(Event, tag="order_failed"):
    """The CLI refused what a person had ordered: a fork, a name, a model."""

    order: str
    message: str


class QueueChanged(Event, tag="queue_changed"):
    """The queue is this: message id, text, state."""

    messages: tuple[tuple[str, str, str], ...]


# Clients ----------------------------------------------------------------------------------------------------------
class ControlChanged(Event, tag="control_changed"):
    """Another person writes to the session now, in the app or on a page. Names are those that answer requests."""

    by: str
    before: str


class ClientsChanged(Event, tag="clients_changed"):
    """Who has control and who is attached: told to clients that ask for it, and not kept."""

    controller: str = ""  # the person who wrote last; empty: nobody has, since the session's process was started
    since: str = ""  # RFC 3339, UTC: has control since then
    attached: tuple[str, ...] = ()  # who is told what happens

    def writer_beside(self, name: str) -> str:
        """Return who else has control and is still attached; empty: nobody."""
        return self.controller if self.controller != name and self.controller in self.attached else ""

    def count_others(self, name: str) -> int:
        """Return how many others are attached."""
        return len(self.attached) - (name in self.attached)


# For diagnosis -------------------------------------------------------------------------------------------------------
class Notice(Event, tag="notice"):
    """Something that a person should know. level: info, warning, error."""

    text: str
    level: str = "info"
    code: str = ""


class Raw(Event, tag="raw"):
    """A message that nothing is made of: its name alone."""

    method: str


AnyEvent = (
    SessionOpened | SessionFailed | SessionClosed | NativeIdChanged | SettingsChanged | NameChanged | CommandsChanged
    | TurnStarted | TurnEnded | TurnRetrying | ItemStarted | ItemDelta | ItemEnded | DiffUpdated | UsageUpdated
    | QuotaSeen | RequestOpened | RequestResolved | SteerSettled | OrderFailed | QueueChanged | ControlChanged
    | ClientsChanged | Notice | Raw
)  # fmt: skip


class Numbered(Record):
    """An event at its place in the session."""

    seq: int  # from 1, without gaps; a delta has the number of the last event before it that is kept
    at: str  # RFC 3339, UTC
    event: AnyEvent


def fit(event: AnyEvent) -> AnyEvent:
    """Return an event whose JSON has `LONGEST` bytes at most: its longest texts are cut, and say so.

    One that consists of too many short ones becomes a notice.
    """
    if isinstance(event, ItemDelta) and len(event.text) < LONGEST // _LONGEST_ESCAPE:
        return event  # the quick way: there may be thousands a second
    for most in _CUTS:
        if len(msgspec.json.encode(event)) <= LONGEST:
            return event
        event = msgspec.convert(_cut(msgspec.to_builtins(event), most), prepare(AnyEvent))
    if len(msgspec.json.encode(event)) <= LONGEST:
        return event
    return Notice(f"a {type_of(event)} is left out: it is too long", "warning", "oversized")


def _cut(value: Any, most: int) -> Any:  # noqa: ANN401 - whatever an event holds
    """Return a value without what its texts have beyond so many characters."""
    if isinstance(value, dict):
        return {key: _cut(each, most) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(each, most) for each in value]
    if isinstance(value, str) and len(value) > most + _CUT_NOTE:
        return f"{value[:most]}\n[{len(value) - most:,} characters were cut off]"
    return value


def describe_control(event: ControlChanged, name: str = "") -> str:
    """Return who has taken control from whom. name: who reads it."""
    return f"{event.by} has taken over from {'you' if event.before == name else event.before}"


def type_of(event: AnyEvent) -> str:
    """Return the name of an event's kind."""
    config: Any = getattr(event, "__struct_config__")  # noqa: B009 - a Struct's, which type checkers see no Record as
    return str(config.tag)


def to_json(numbered: Numbered) -> dict[str, Any]:
    """Return an event as a line of `follow` holds it."""
    return {"seq": numbered.seq, "at": numbered.at, **msgspec.to_builtins(numbered.event)}

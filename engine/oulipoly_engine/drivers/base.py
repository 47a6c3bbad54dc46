"""What every driver is: a state machine between a CLI's stdin and stdout and the events of `core.live.events`. Pure.

The host of a session starts the CLI with `Driver.words`, calls `begin` once, `receive` for each line that the CLI
writes, `tick` now and then, and the methods for what people order. After each call it takes what is to be written and
what has happened by `take`. A driver holds no clock, no descriptor and no file, so that recorded wires drive it as well
as a process does.

Whatever a CLI says, a driver raises nothing: an unknown message becomes `Raw`, a broken one a `Notice`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal, get_args

from oulipoly_engine.core.live.events import AnyEvent, Notice
from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS, Profile
from oulipoly_engine.core.live.requests import Decision
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record, field

STEER_LIMIT = 32_768  # characters of a message for a running turn (contract, D.5)
NAME_LIMIT = 256  # of a session's title


class NotSupported(RequestRefused, slug="not-supported"):
    """The runtime's CLI has no such operation."""


class Capabilities(Record):
    """What a driver can do with its CLI; false where neither says so."""

    resume: bool = False
    fork: bool = False
    fork_at_turn: bool = False
    steer: bool = False
    interrupt: bool = False
    command_approvals: bool = False
    file_change_approvals: bool = False
    user_input_requests: bool = False
    model_list: bool = False
    set_model: bool = False
    review: bool = False
    compaction: bool = False
    rename: bool = False
    diff_updates: bool = False
    usage: bool = False
    rate_limits: bool = False
    auth_management: bool = False
    generated_schema_probe: bool = False

    @property
    def approvals(self) -> bool:
        """Return whether it asks before it acts at all."""
        return self.command_approvals or self.file_change_approvals


class Server(Record):
    """An MCP server that the CLI starts for the session."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


class Opening(Record):
    """How a session is opened."""

    cwd: str
    new_id: str  # a fresh UUID, for CLIs that take the id of a new session from us
    resume: str = ""  # the CLI's own id of the session to go on with; empty: a new one
    fork: bool = False  # begin a new session with the past of `resume`
    fork_at: str = ""  # the CLI's own id of the last turn to take over; empty: all
    model: str = ""  # empty: the CLI's own choice
    effort: str = ""
    custom_models: tuple[str, ...] = ()  # that the user knows of and the CLI does not tell
    profile: Profile = OF_NEW_SESSIONS
    never_asks: bool = False  # codex: what its sandbox does not allow just fails
    start_words: tuple[str, ...] = ()  # of ACP and plain: what makes the CLI speak so, `--acp` for example
    args: tuple[str, ...] = ()  # the user's own, checked by `core.live.launch.arguments`
    servers: tuple[Server, ...] = ()  # for drivers that take them
    marker: str = ""  # of the plain driver: the line that ends a turn
    startup_s: float = 30.0  # to `SessionOpened`
    request_s: float = 120.0  # that the CLI may take to answer an order
    is_probe: bool = False  # say who answers, who is logged in and which models there are; open no session


class Resolution(Record):
    """A person's answer to a request."""

    decision: Decision
    reason: str = ""
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by a question's id


ReviewKind = Literal["uncommitted", "branch", "commit", "custom"]
REVIEW_KINDS: tuple[ReviewKind, ...] = get_args(ReviewKind)


class ReviewTarget(Record):
    """What a review is of."""

    kind: ReviewKind = "uncommitted"
    value: str = ""  # the branch, the commit, the instructions


class Output(Record):
    """What a driver wants written to the CLI's stdin, and what has happened."""

    data: bytes
    events: tuple[AnyEvent, ...]


class Driver(ABC):
    """One CLI's protocol, in one process of it, for one session."""

    kind: ClassVar[str]  # codex, claude, acp, plain, codex-proto
    resumes: ClassVar[bool] = True  # else a session's next process is told what was said before, as a preface
    names_turns: ClassVar[bool] = False  # `TurnStarted` comes with the CLI's own id, once it works on the turn
    cuts_at_answers: ClassVar[bool] = False  # a fork ends at any message of the agent, by its id in the transcript
    says_steers_again: ClassVar[bool] = False  # a message for the running turn, once the turn has read it
    takes_servers: ClassVar[bool] = False  # of `Opening.servers`; else they are among the user's arguments
    longest_line: ClassVar[int] = 64 << 20  # bytes; a longer one is reported and left out (contract, B.10)

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.capabilities = Capabilities()
        self._data = bytearray()
        self._events: list[AnyEvent] = []

    @classmethod
    @abstractmethod
    def words(cls, opening: Opening) -> tuple[str, ...]:
        """Return the words that stand behind the CLI's program for this opening."""

    @abstractmethod
    def begin(self) -> None:
        """Say what a client says first."""

    @abstractmethod
    def receive(self, line: bytes) -> None:
        """Take one line of the CLI's stdout, without its newline."""

    def receive_partial(self, text: bytes) -> None:  # noqa: B027 - protocols of whole lines have no use for it
        """Take the end of the line that has no newline yet, after each reading; the whole line comes by `receive`."""

    @abstractmethod
    def send(self, turn_id: str, text: str) -> None:
        """Begin a turn. turn_id: ours, a UUID; only called where none runs."""

    @abstractmethod
    def interrupt(self) -> None:
        """Have the running turn end; `TurnEnded` follows."""

    def steer(self, message_id: str, text: str) -> None:
        """Give the running turn a message; `SteerSettled` follows. Raises NotSupported."""
        raise self._unable("steer")

    def answer(self, native_id: str, resolution: Resolution) -> None:
        """Answer an open request. One that is not open any more is ignored."""
        raise self._unable("answer requests")

    def compact(self, turn_id: str) -> None:
        """Have the past shortened, as a turn of its own. Raises NotSupported."""
        raise self._unable("compact")

    def review(self, turn_id: str, target: ReviewTarget) -> None:
        """Have changes reviewed, as a turn of its own. Raises NotSupported."""
        raise self._unable("review")

    def rename(self, name: str) -> None:
        """Give the session a title of the CLI's own. Raises NotSupported."""
        raise self._unable("rename")

    def set_model(self, model: str, effort: str = "") -> None:
        """Have later turns done by another model. Raises NotSupported."""
        raise self._unable("change the model")

    def closing(self) -> None:  # noqa: B027 - most protocols have no word for it
        """Say goodbye where the protocol has a word for it; stdin is closed after that."""

    @abstractmethod
    def closed(self) -> None:
        """Take the end of stdout: open items and requests end, a running turn is left to the host."""

    def tick(self, now: float) -> float | None:
        """Do what is due. now: monotonic seconds. Returns the seconds until it wants to be called again, or None."""
        return None

    def note(self, notice: Notice) -> None:
        """Have something told that the host has seen, in its place among the events."""
        self._say(notice)

    def take(self) -> Output:
        """Return what has gathered since the last call."""
        output = Output(bytes(self._data), tuple(self._events))
        self._data.clear()
        self._events.clear()
        return output

    def _say(self, *events: AnyEvent) -> None:
        self._events.extend(events)

    def _write(self, data: bytes) -> None:
        self._data += data

    def _unable(self, what: str) -> NotSupported:
        return NotSupported(f"{self.kind} sessions cannot {what}")

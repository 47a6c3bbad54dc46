"""One engine of turns for every protocol: what an agent does with a message, step by step.

What is done, asked, waited for and refused is decided here. A wire's class says how that is told, and what a person's
answer is called there, by the methods that it overrides. A turn answers its message and those that come meanwhile.
"""

from __future__ import annotations

import os
import signal
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from oulipoly_demo.base import answers, directives, ids, streams, turn
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.conversation import Conversation, Turn
from oulipoly_demo.base.directives import Directives, Step
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.base.options import Style
from oulipoly_demo.live import edits
from oulipoly_demo.live.edits import Edit
from oulipoly_demo.live.wire import Steps, Task, Wire
from oulipoly_demo.quota.levels import Tokens

_BATCH = 200  # pieces of a flood between two looks at stdin
_BLOCK = 1 << 16


class Interrupted(Exception):
    """A person ended the turn by an answer."""


class Leave(Enum):
    """A person's answer before a tool is used."""

    NO = "no"
    ONCE = "once"
    ALWAYS = "always"
    STOP = "stop"  # no, and the turn ends


class Message(NamedTuple):
    """What a person says."""

    text: str
    identity: Any = None  # whatever the wire knows it by


class Call(NamedTuple):
    """A tool that is used."""

    identity: str
    subject: str  # the command or the file: what leave is given for
    edit: Edit | None = None  # None: a command
    is_asked: bool = False


class Running:
    """The turn that runs."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.task: Task | None = None
        self.steers: list[Message] = []  # messages for it that it has not taken in
        self.request: Any = None  # the id of the one that waits for an answer


RunningT = TypeVar("RunningT", bound=Running)
ConversationT = TypeVar("ConversationT", bound=Conversation)


class Turns(ABC, Generic[RunningT, ConversationT]):
    """The turns of one session, one after the other."""

    call_prefix = "call_"

    def __init__(self, context: CliContext, conversation: ConversationT, wire: Wire, model: str) -> None:
        """Wrap a conversation."""
        self.context = context
        self.conversation = conversation
        self.wire = wire
        self.model = model
        self.running: RunningT | None = None
        self.queue: list[RunningT] = []
        self._allowed: set[str] = set()  # commands and files that need no leave any more
        self._asked: Counter[str] = Counter()  # how often each message came

    # What comes ------------------------------------------------------------------------------------------------------
    def take(self, running: RunningT) -> None:
        """Answer a message, after those that came before it."""
        self.queue.append(running)
        self.next()

    def next(self) -> None:
        """Begin the next turn, if there is one and none runs."""
        if self.running is None and self.queue:
            self.running = self.queue.pop(0)
            self.running.task = self.wire.start(self._begin(self.running))

    def interrupt(self) -> None:
        """End the running turn."""
        if self.running is not None and self.running.task is not None:
            self.wire.stop(self.running.task)
            self._stop()

    def ask(self, identity: object) -> Steps:
        """Wait for the answer to a request that has been sent; returns it."""
        running = self.running
        if running is None or running.task is None:
            return None
        running.request = identity
        self.wire.expect(identity, running.task)
        answer = yield None
        running.request = None
        return answer

    # A turn ----------------------------------------------------------------------------------------------------------
    def play(self, running: RunningT) -> Steps:
        """Answer a turn's message and those that come meanwhile, and end the turn."""
        messages = [running.message]
        asked = Directives()
        text = ""
        try:
            while messages:
                message = messages.pop(0)
                self._take_in(message, is_first=message is running.message)
                asked = directives.parse(message.text, self.context.account)
                failure = yield from self._find_failure(asked)
                if failure is not None:
                    self.conversation.fail(failure, self.context.now())
                    yield from self._fail(failure)
                    return
                for step in asked.steps:
                    yield from self._do(step)
                if not running.steers:
                    text = yield from self._say(message.text, asked, running)
                messages += running.steers
                running.steers = []
        except Interrupted:
            self._stop()
            return
        self._complete(text)
        if asked.exit_code is not None:
            self.wire.leave(asked.exit_code)

    def _find_failure(self, asked: Directives) -> Steps:
        """Return why the vendor refuses, after what comes before that; None where it does not."""
        if asked.stderr is not None:
            streams.complain(asked.stderr)
        if self.context.drifts:
            yield from self._drift()
        if asked.sleep_s:
            yield asked.sleep_s
        self._asked[asked.text] += 1
        if asked.failures is not None and self._asked[asked.text] > asked.failures:
            asked = asked._replace(failure=None)
        return turn.refusal(self.context, asked)

    def _say(self, prompt: str, asked: Directives, running: RunningT) -> Steps:
        """Say the answer, write it down and charge it; returns it, or nothing where a message for the turn cut it."""
        if self.context.thinking_s:
            yield self.context.thinking_s
        is_flood = any(step.kind == "flood" for step in asked.steps)
        pace_s = 0.0 if is_flood else self.context.pace_s
        identity = self._start("text")
        said = []
        for place, piece in enumerate(_pieces(asked, self.conversation.turns)):
            if pace_s or place % _BATCH == 0:
                yield pace_s
            if running.steers:
                return ""  # the message is never completed: the real ones do so as well
            said.append(piece)
            self._tell_piece("text", identity, piece)
        text = "".join(said)
        tokens = turn.settle(self.context, self.conversation, prompt, text, self.model)
        self._end_text(identity, text, tokens)
        return text

    # Steps -----------------------------------------------------------------------------------------------------------
    def _do(self, step: Step) -> Steps:
        """Do what a step asks for. Raises Interrupted."""
        call = Call(f"{self.call_prefix}{ids.message_id()[4:]}", step.text)
        match step.kind:
            case "run":
                yield from self._use(call)
            case "approve":
                yield from self._use(call._replace(is_asked=self._needs_leave(call)))
            case "edit":
                edit = edits.plan(self.context.cwd, step.text)
                call = call._replace(subject=str(edit.path), edit=edit)
                yield from self._use(call._replace(is_asked=self._needs_leave(call)))
            case "ask":
                yield from self._question(step.text, step.choices)
            case "plan":
                for done in range(len(step.choices) + 1):
                    self._tell_plan(step.choices, done)
                    yield self.context.pace_s
            case "think":
                identity = self._start("thinking")
                for piece in answers.chunks(step.text):
                    yield self.context.pace_s
                    self._tell_piece("thinking", identity, piece)
                self._end_thought(identity, step.text)
            case "stall":
                yield step.amount
            case "retry":
                self._retry()
                yield 0.0
            case "drift":
                yield from self._drift()
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)

    def _use(self, call: Call) -> Steps:
        """Use a tool, with leave where that is needed. Raises Interrupted."""
        call = call._replace(is_asked=call.is_asked and call.subject not in self._allowed)
        self._start_call(call)
        yield self.context.pace_s
        leave = Leave.ONCE
        if call.is_asked:
            leave = yield from self._ask_leave(call)
        if leave is Leave.ALWAYS:
            self._allowed.add(call.subject)
        if leave in (Leave.ONCE, Leave.ALWAYS):
            self._end_call(call, is_done=call.edit is None or call.edit.apply())
            return
        self._refuse_call(call)
        if leave is Leave.STOP:
            raise Interrupted

    # The words of a wire ---------------------------------------------------------------------------------------------
    @abstractmethod
    def _begin(self, running: RunningT) -> Steps:
        """Run a turn: `play` it, or obey a command of the CLI's own."""

    @abstractmethod
    def _take_in(self, message: Message, *, is_first: bool) -> None:
        """Write a message down, and tell it where the wire does."""

    @abstractmethod
    def _complete(self, text: str) -> None:
        """End a turn that went well."""

    @abstractmethod
    def _fail(self, failure: Failure) -> Steps:
        """End a turn that the vendor refused."""

    @abstractmethod
    def _stop(self) -> None:
        """End a turn that a person interrupted."""

    @abstractmethod
    def _start(self, field: str) -> str:
        """Begin a message or a thought; returns its id. field: text, thinking."""

    @abstractmethod
    def _tell_piece(self, field: str, identity: str, piece: str) -> None:
        """Tell more of it."""

    @abstractmethod
    def _end_text(self, identity: str, text: str, tokens: Tokens) -> None:
        """Tell a message whole, and what it has cost."""

    @abstractmethod
    def _end_thought(self, identity: str, text: str) -> None:
        """Tell a thought whole."""

    @abstractmethod
    def _needs_leave(self, call: Call) -> bool:
        """Tell whether a person has to allow a call, as the session's mode stands."""

    @abstractmethod
    def _start_call(self, call: Call) -> None:
        """Tell that a tool is called."""

    @abstractmethod
    def _ask_leave(self, call: Call) -> Steps:
        """Ask a person; returns a Leave."""

    @abstractmethod
    def _end_call(self, call: Call, *, is_done: bool) -> None:
        """Tell what came of a call. is_done: a file could be written."""

    @abstractmethod
    def _refuse_call(self, call: Call) -> None:
        """Tell that a person did not allow a call."""

    @abstractmethod
    def _question(self, text: str, choices: tuple[str, ...]) -> Steps:
        """Ask a person a question. Raises Interrupted."""

    @abstractmethod
    def _tell_plan(self, points: tuple[str, ...], done: int) -> None:
        """Tell the points of a plan, of which so many are done."""

    @abstractmethod
    def _drift(self) -> Steps:
        """Say what no client of today knows."""

    def _retry(self) -> None:
        """Tell that the connection was lost once; a wire that has no word for it tells nothing."""


def plan_states(points: tuple[str, ...], done: int, active: str) -> list[tuple[str, str]]:
    """Return each point of a plan with its state. active: the wire's word for the one that is worked on."""
    states = ["completed"] * done + [active] + ["pending"] * len(points)
    return list(zip(points, states, strict=False))


def output_of(script: str) -> str:
    """Return what a command would have printed: it is never run."""
    return f"demo: `{script}` would run here"


def _pieces(asked: Directives, turns: tuple[Turn, ...]) -> Iterable[str]:
    """Return the answer to the last of `turns`: in many small pieces, in big ones, or in a few."""
    flood = next((int(step.amount) for step in asked.steps if step.kind == "flood"), 0)
    if flood:
        return (f"{number} " for number in range(flood))
    if asked.big_bytes:
        text = answers.big(asked.big_bytes)
        return (text[start : start + _BLOCK] for start in range(0, len(text), _BLOCK))
    return answers.chunks(turn.compose(asked, turns, Style()))

"""A chat line by line: messages, slash commands, and what the agent asks, at a terminal."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.cli.live.chat_output import Printer
from oulipoly_engine.cli.live.chat_turns import Turns
from oulipoly_engine.cli.live.requests import describe_request
from oulipoly_engine.cli.live.turn_result import tell_result
from oulipoly_engine.core.commands.slash.lines import Message, Order, Refusal
from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import Question
from oulipoly_engine.core.live.requests import RequestStale
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.errors import Declined, InputHandled, Interrupted, RunnerError, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.records import replace

if TYPE_CHECKING:
    from oulipoly_engine.facade.live.turn_results import TurnResult

_DECISIONS = {"y": "approve", "s": "approve_for_session", "n": "deny", "c": "cancel"}


class Loop:
    """One chat; a slash command may take it to another session."""

    def __init__(self, context: Context, questions: Questions, timeout_s: float | None) -> None:
        self._context = context
        self._live = context.engine.live
        self._questions = questions
        self._turns = Turns(self._live, Printer("text", asks=True), timeout_s, self._answer_requests)
        self._session_id = ""

    def run(self, session: LiveSession, first: str | None) -> int:
        """Talk until the end of the input, and return the exit code. first: the first message."""
        self._session_id = session.session_id
        self._questions.offer = self._offer
        diagnostics.note("/help lists the commands; Ctrl-C interrupts a turn, Ctrl-D ends the chat")
        try:
            self._try(self._watch_running)
            if first is not None:
                self._try(self._send, first)
            while (line := self._read()) != "/quit":
                if line:
                    self._try(self._take, line)
        except Declined:  # the end of the input
            pass
        return 0

    def _offer(self, begun: str) -> Iterator[str]:
        """Yield the slash commands that begin so, and then what may stand behind them."""
        if begun.startswith("/"):
            with suppress(RunnerError):
                yield from self._context.engine.slash.complete(self._session_id, begun)

    def _read(self) -> str:
        """Return a line. Raises Declined at the end of the input."""
        try:
            return self._questions.message("> ")
        except Interrupted as interrupt:
            if interrupt.signal_number != signal.SIGINT:
                raise
            diagnostics.note("^C\nCtrl-D ends the chat")
            return ""

    def _try(self, act: Callable[..., None], *words: str) -> None:
        """Do something, and say what was wrong with it: the chat goes on. Raises Declined at the end of the input."""
        try:
            act(*words)
        except Declined:
            raise
        except Interrupted as interrupt:
            if interrupt.signal_number != signal.SIGINT:
                raise
            diagnostics.note("the turn goes on; `/interrupt` ends it")
        except RunnerError as error:
            if error.slug == InputHandled.slug:
                output.write_line(error.message)
            else:
                diagnostics.fail(error)

    def _take(self, line: str) -> None:
        slash = self._context.engine.slash
        match slash.judge(self._session_id, line):
            case Message(text=text):
                self._send(text)
            case Refusal(reason=reason):
                raise UsageInvalid(reason)
            case Order() as order if order.slash.command == "quit":
                raise Declined("the chat is left")
            case Order() as order:
                after = self._live.last_number(self._session_id)
                outcome = slash.run(self._session_id, order)
                output.write_lines(outcome.lines)
                if outcome.session_id:
                    self._session_id = outcome.session_id
                elif outcome.turn_id:
                    self._watch(outcome.turn_id, after)

    def _send(self, text: str) -> None:
        self._tell(self._turns.send(self._session_id, text))

    def _watch_running(self) -> None:
        """Have what is asked answered, and print what comes of a turn that runs already."""
        status = self._live.status(self._session_id)
        if status.busy and status.turn_id:
            self._watch(status.turn_id, self._live.last_number(self._session_id))

    def _watch(self, turn_id: str, after: int) -> None:
        self._tell(self._turns.watch(self._session_id, turn_id, after))

    def _tell(self, result: TurnResult) -> None:
        """Say how a turn has ended, and what goes on in this chat."""
        if self._turns.is_answer_shown:
            result = replace(result, reply=None)
        is_over = result.status in ("failed", "interrupted")
        session = self._live.find(self._session_id)
        tell_result(self._context.program, result, session, {}, as_json=False, can_go_on=not is_over)
        if result.code == failures.USAGE_LIMIT:
            diagnostics.note("next: /provider NAME goes on with another account")

    # What is asked ---------------------------------------------------------------------------------------------------
    def _answer_requests(self, session_id: str) -> None:
        for request in self._live.requests():
            if request.session_id == session_id and request.kind != "other":
                self._questions.look = lambda request=request: self._require_open(request)
                try:
                    self._answer(request)
                except RequestStale as error:  # somebody else was first, or its turn is over
                    diagnostics.note(error.message)
                finally:
                    self._questions.look = None

    def _require_open(self, request: LiveRequest) -> None:
        now = self._live.find_request(request.request_id)
        if now.status != "pending":
            raise RequestStale(f"it is {now.status}" + (f" by {plain(now.answered_by)}" if now.answered_by else ""))

    def _answer(self, request: LiveRequest) -> None:
        diagnostics.note("\n".join(describe_request(request)))
        self._questions.drop_typed_ahead()
        try:
            if request.kind == "user_input":
                answers = {question.id: self._ask(question) for question in request.prompt.questions}
                given = {name: (answer,) for name, answer in answers.items() if answer}
                self._live.answer(request.request_id, "answer", answers=given)
            else:
                self._live.answer(request.request_id, self._ask_decision(request))
        except Declined:
            diagnostics.note(f"it waits on: `{self._context.program} requests list` lists it")
            raise
        except Interrupted as interrupt:
            if interrupt.signal_number != signal.SIGINT:
                raise
            self._live.answer(request.request_id, "cancel")

    def _ask_decision(self, request: LiveRequest) -> str:
        for_session = "s: for the session, " if request.prompt.reach else ""
        while True:
            word = self._questions.line(f"Approve? y: once, {for_session}n: deny, c: deny and interrupt the turn: ")
            if word in _DECISIONS and (word != "s" or request.prompt.reach):
                return _DECISIONS[word]

    def _ask(self, question: Question) -> str:
        if question.is_secret:
            return self._questions.secret("Answer, not shown while you type: ")
        return self._questions.line("Answer: ")

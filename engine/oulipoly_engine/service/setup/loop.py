"""The set-up agent's loop: ask the model, do what it says, tell it what came of it, until it ends."""

from __future__ import annotations

from collections.abc import Callable

from oulipoly_engine.core.setup import feedback, prompt
from oulipoly_engine.core.setup.actions import CompleteAction
from oulipoly_engine.core.setup.dialogs import Answer, Confirmation, Confirmed, Skipped
from oulipoly_engine.core.setup.events import Complete, Failure, Outcome, Progress
from oulipoly_engine.core.setup.lifecycle import Life, Occurrence, advance
from oulipoly_engine.core.setup.prompt import Exchange, Situation
from oulipoly_engine.core.setup.turn import Reply, parse_reply
from oulipoly_engine.core.text.control_characters import visible_text
from oulipoly_engine.errors import Interrupted, RequestRefused, RunnerError
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.setup.action_run import ActionRun
from oulipoly_engine.service.setup.ask_user import Asking
from oulipoly_engine.service.setup.face import NobodyAnswers, Ports, SetupCancelled
from oulipoly_engine.stopping import Stopped


class SetupEnd(Record):
    """How a set-up ended."""

    outcome: Outcome
    summary: str = ""
    items: tuple[str, ...] = ()
    turns: int = 0
    changes: tuple[str, ...] = ()  # what was changed and can be undone, the last one first to be; in the past tense


def cancel(life: Life, error: BaseException) -> Life:
    """Return a life that a person has ended, or that has ended because there is none."""
    reason = error.message if isinstance(error, NobodyAnswers) else ""
    return replace(advance(life, Occurrence.CANCELLED), reason=reason)


class Loop:
    """One set-up from the first turn on."""

    def __init__(self, ports: Ports, ask_model: Callable[[str], str], look: Callable[[int], Situation]) -> None:
        """look: what there is now; gets how many turns there are."""
        self._ports, self._ask_model, self._look = ports, ask_model, look
        self._actions = ActionRun(ports)
        self._exchanges: list[Exchange] = []
        self._completed: CompleteAction | None = None
        self.life = Life()

    def run(self, life: Life) -> SetupEnd:
        """Go on from a life that is asking to its end. Never raises what a model or a person may cause."""
        self.life = life
        try:
            while not self.life.is_over:
                self._turn()
        except (SetupCancelled, Interrupted, Stopped) as error:
            self.life = cancel(self.life, error)
        return self.end()

    def end(self) -> SetupEnd:
        """Tell the face how it ended, and return that."""
        life, done = self.life, self._completed
        outcome = life.outcome or Outcome.CANCELLED
        summary = life.reason if done is None else self._ports.secrets.clean(done.summary)
        items = () if done is None else tuple(map(self._ports.secrets.clean, done.items))
        if outcome in (Outcome.SUCCESS, Outcome.DONE):
            self._ports.face.tell(Complete(summary, items))
        elif outcome is not Outcome.CANCELLED:
            self._ports.face.tell(Failure(summary or outcome.value, recoverable=False))
        return SetupEnd(outcome, summary, items, life.turns, tuple(self._actions.changes))

    def _turn(self) -> None:
        turn, most = self.life.turns, self.life.most_turns
        self._ports.face.tell(Progress(f"turn {turn} of at most {most}", 100 * (turn - 1) / most))
        clean = self._ports.secrets.clean
        # An argument can carry no NUL, and nothing carries half a character: programs and models write both.
        text = visible_text(clean(prompt.compose(self._look(most), self._exchanges)))
        try:
            said = self._ask_model(text)
        except (Interrupted, Stopped):
            raise
        except RunnerError as error:
            self._fail(error)
            return
        try:
            reply = parse_reply(said)
        except RequestRefused as error:
            self._ports.face.tell(Failure(f"the model's reply could not be read: {error.message}", recoverable=True))
            self._exchanges.append(Exchange(clean(prompt.cut(said, 500)), feedback.of_unreadable(error.message)))
            self._advance(Occurrence.UNREADABLE)
            return
        self._advance(Occurrence.REPLIED, reply)
        if not self.life.is_over:
            self._act(reply, clean(reply.text))

    def _act(self, reply: Reply, said: str) -> None:
        parts = []
        for action in reply.actions:
            if isinstance(action, CompleteAction):
                self._completed = action
                break
            parts.append(self._actions.do(action))
        if reply.left_out:
            parts.append(f"{reply.left_out} further actions were left out: {len(reply.actions)} are the most of a turn")
        self._exchanges.append(Exchange(said, feedback.join(parts)))
        if self._completed is not None:
            self._advance(Occurrence.COMPLETED)
        else:
            self._advance(Occurrence.SAID_DONE if reply.done else Occurrence.ACTED)

    def _fail(self, error: RunnerError) -> None:
        """Say why the model did not answer, and ask whether to try again."""
        message = self._ports.secrets.clean(error.message)
        self._ports.face.tell(Failure(message, recoverable=True))
        question = Confirmation("Try again?", f"The model did not answer: {message}", "try-again")
        try:
            answer: Answer = Asking(self._ports).put(question)
        except NobodyAnswers:
            answer = Skipped()
        if isinstance(answer, Confirmed) and answer.confirmed:
            self._advance(Occurrence.FAILED_ONCE)
        else:
            self._advance(Occurrence.FAILED)
            self.life = replace(self.life, reason=message)

    def _advance(self, occurrence: Occurrence, said: object = None) -> None:
        self.life = advance(self.life, occurrence, said)

"""Extensions in the process of one live session: asked in a thread, so that its loop goes on meanwhile.

One question after the other, in their order. What comes of each is given to the loop, which `wake` tells of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.extensions.installed import Installed
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.errors import InputHandled, RunnerError
from oulipoly_engine.extension_api import Session
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store

if TYPE_CHECKING:
    from oulipoly_engine.service.extensions.extensions import Extensions


GUARDED_ORDERS: Mapping[str, str] = {  # by the verbs of orders, which hook is asked before
    "send": "input",
    "steer": "input",
    "compact": "before_compaction",
    "begin_compaction": "before_compaction",
}


class ExtensionOrder(Record):
    """Which extensions a session's host has, and where they work; none: nothing of extensions is loaded."""

    installed: tuple[Installed, ...] = ()
    timeout_s: float = 5.0
    logs: str = ""
    settings: str = ""
    protected: tuple[str, ...] = ()


class HookAnswer(Record):
    """What extensions have said."""

    text: str = ""  # of the message, as it goes on
    answer: str = ""  # for those who follow the session
    error: Mapping[str, Any] = {}  # `slug`, `message` and `exit_code`: why it does not happen; empty: it does


class _Question(Record):
    hook: str
    facts: Mapping[str, Any]
    then: Callable[[HookAnswer], None]


NO_EXTENSIONS = ExtensionOrder()


class SessionHooks:
    """The extensions of one session."""

    def __init__(self, order: ExtensionOrder, store: Store, clock: Clock, session: LiveSession) -> None:
        self.wake: Callable[[], object] = lambda: None  # called by the thread when a question is answered
        self.notes: deque[str] = deque()  # for those who follow the session
        self._order = order
        self._store = store
        self._clock = clock
        self._session = describe_session(session)
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()
        self._answered: deque[tuple[_Question, HookAnswer]] = deque()
        self._thread: Thread | None = None
        self._kept: Extensions | None = None

    def asks(self, hook: str) -> bool:
        """Tell whether an extension hooks in there."""
        return any(hook in installed.manifest.hooks for installed in self._order.installed)

    def ask(self, hook: str, facts: Mapping[str, Any], then: Callable[[HookAnswer], None]) -> None:
        """Have extensions asked; `then` gets what they say, in the loop's own thread, by `settle`."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="extensions", daemon=True)
            self._thread.start()
        self._questions.put(_Question(hook, facts, then))

    def settle(self) -> bool:
        """Go on with what was asked about and is answered by now. Returns whether there was anything."""
        has_answers = bool(self._answered)
        while self._answered:
            question, outcome = self._answered.popleft()
            question.then(outcome)
        return has_answers

    def close(self) -> None:
        """End the extensions."""
        if self._kept is not None:
            self._kept.close()

    def _run(self) -> None:
        while (question := self._questions.get()) is not None:
            outcome = self._answer(question)
            self._answered.append((question, outcome))
            with suppress(OSError):  # its process ends
                self.wake()

    def _answer(self, question: _Question) -> HookAnswer:
        facts = question.facts
        try:
            match question.hook:
                case "input":
                    return self._take_input(str(facts["text"]))
                case "before_compaction":
                    self._extensions.guard(
                        "before_compaction", self._session, reason=str(facts.get("reason", "manual"))
                    )
                case _:
                    self._extensions.guard(question.hook, self._session, **facts)
        except RunnerError as error:
            return HookAnswer(error=_describe_error(error))
        return HookAnswer()

    def _take_input(self, text: str) -> HookAnswer:
        taken = self._extensions.take_input(text, self._session)
        if not taken.handled_by:
            return HookAnswer(taken.text)
        said = f"{taken.handled_by}: {taken.answer}" if taken.answer else f"{taken.handled_by} has taken the message"
        return HookAnswer(taken.text, said, _describe_error(InputHandled(said)))

    @property
    def _extensions(self) -> Extensions:
        if self._kept is None:
            from oulipoly_engine.service.extensions.extensions import (  # noqa: PLC0415 - few sessions have any
                Extensions,
                Surroundings,
            )

            order = self._order
            surroundings = Surroundings(
                lambda: nullcontext(self._store),
                self._clock,
                order.timeout_s,
                Path(order.logs),
                Path(order.settings),
                tuple(map(Path, order.protected)),
                self.notes.append,
            )
            self._kept = Extensions(lambda: order.installed, surroundings)
        return self._kept


def _describe_error(error: RunnerError) -> dict[str, Any]:
    return {"slug": error.slug, "message": error.message, "exit_code": error.exit_code}


def describe_session(session: LiveSession) -> Session:
    """Return a session as extensions see it."""
    return Session(
        session.session_id,
        session.workspace,
        session.runtime_id,
        session.account or "",
        session.model_name,
        session.title,
    )

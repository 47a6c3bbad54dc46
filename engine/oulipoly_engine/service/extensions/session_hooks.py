"""Extensions in the process of one live session: asked in a thread, so that its loop goes on meanwhile.

One question after the other, in their order. What comes of each is given to the loop, which `wake` tells of it.
Observers have a thread of their own, which reads the outbox when the loop has told something.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts.resource_lists import is_switched_off
from oulipoly_engine.core.extensions.hooks import OBSERVERS
from oulipoly_engine.core.extensions.installed import Installed
from oulipoly_engine.core.live.orders import ANSWER_S
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.text.redact import redact_strictly
from oulipoly_engine.errors import InputHandled, RequestRefused, RunnerError, StoreUnusable
from oulipoly_engine.extension_api import Session
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.outbox import events as outbox

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.accounts import Settings
    from oulipoly_engine.service.extensions.extensions import Extensions


GUARDED_ORDERS: Mapping[str, str] = {  # by the verbs of orders, which hook is asked before
    "send": "input",
    "steer": "input",
    "queue": "input",  # where it changes what a message says
    "compact": "before_compaction",
    "begin_compaction": "before_compaction",
}


_ALL_S = ANSWER_S - 5.0  # that extensions have together for one question: who has asked waits no longer
_LAST_S = 2.0  # that observers have at the end of a process
_LONGEST_EVENT = 8000  # characters


class ExtensionOrder(Record):
    """Which extensions a session's host has, and where they work; none: nothing of extensions is loaded."""

    installed: tuple[Installed, ...] = ()
    timeout_s: float = 5.0
    logs: str = ""
    settings: str = ""
    protected: tuple[str, ...] = ()
    folders: tuple[str, str, str, str] = ("", "", "", "")  # `Paths.config`, `data`, `home`, `cache`
    hidden: tuple[str, ...] = ()  # of the home, from those in sandboxes


class HookAnswer(Record):
    """What extensions have said."""

    text: str = ""  # of the message, as it goes on
    answer: str = ""  # for those who follow the session
    error: Mapping[str, Any] = {}  # `slug`, `message` and `exit_code`: why it does not happen; empty: it does


class _Question(Record):
    hook: str
    facts: Mapping[str, Any]
    then: Callable[[HookAnswer], None]
    until: float  # of `time.monotonic`


NO_EXTENSIONS = ExtensionOrder()


class SessionHooks:
    """The extensions of one session."""

    def __init__(self, order: ExtensionOrder, store: Store, clock: Clock, session: LiveSession) -> None:
        self.wake: Callable[[], object] = lambda: None  # called by the thread when a question is answered
        self.notes: deque[str] = deque()  # for those who follow the session
        self.patience_s = _ALL_S
        self._order = order
        self._store = store
        self._clock = clock
        self._session = describe_session(session)
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()
        self._answered: deque[tuple[_Question, HookAnswer]] = deque()
        self._thread: Thread | None = None
        self._kept: Extensions | None = None
        self._making = Lock()
        self._reader = reader_of(session.session_id)
        self._news = Event()
        self._is_over = False
        self._observer: Thread | None = None
        if any(self.asks(hook) for hook in OBSERVERS):
            outbox.register(store, self._reader)
            self._observer = Thread(target=self._observe, name="observers", daemon=True)
            self._observer.start()
        elif store.has_readers():
            outbox.unregister(store, self._reader)  # of a host before that was killed

    def tell(self) -> None:
        """Have observers hear what was written to the outbox by now."""
        if self._observer is not None:
            self._news.set()

    def asks(self, hook: str) -> bool:
        """Tell whether an extension hooks in there."""
        return any(hook in installed.manifest.hooks for installed in self._order.installed)

    def ask(self, hook: str, facts: Mapping[str, Any], then: Callable[[HookAnswer], None]) -> None:
        """Have extensions asked; `then` gets what they say, in the loop's own thread, by `settle`."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="extensions", daemon=True)
            self._thread.start()
        self._questions.put(_Question(hook, facts, then, time.monotonic() + self.patience_s))

    def settle(self) -> bool:
        """Go on with what was asked about and is answered by now. Returns whether there was anything."""
        has_answers = bool(self._answered)
        while self._answered:
            question, outcome = self._answered.popleft()
            question.then(outcome)
        return has_answers

    def close(self) -> None:
        """Have observers hear the last, within a moment, and end the extensions."""
        if self._observer is not None:
            self._is_over = True
            self._news.set()
            self._observer.join(_LAST_S)
            with suppress(StoreUnusable):
                outbox.unregister(self._store, self._reader)
        if self._kept is not None:
            self._kept.close()

    def _observe(self) -> None:
        is_last = False
        while not is_last:
            self._news.wait()
            self._news.clear()
            is_last = self._is_over
            with suppress(StoreUnusable):  # it is tried again with the next
                self._read_events()
            self._store.close()  # this thread's connection

    def _read_events(self) -> None:
        while events := outbox.read_after(self._store, self._reader):
            for event in events:
                if event.session_id in ("", self._session.id):
                    about = {"topic": event.topic, "at": event.at, **event.body}
                    self._extensions.observe(event.topic, self._session, about)
            outbox.advance(self._store, self._reader, events[-1].id)

    def _note(self, text: str) -> None:
        self.notes.append(_drop_halves(text))
        self._wake_loop()

    def _wake_loop(self) -> None:
        with suppress(OSError):  # its process ends
            self.wake()

    def _run(self) -> None:
        while (question := self._questions.get()) is not None:
            try:
                with self._extensions.within(question.until):
                    outcome = _clean(self._answer(question))
            except Exception as error:
                message = f"an extension could not be asked: {type(error).__name__}"
                outcome = HookAnswer(error=_describe_error(RequestRefused(message)))
            self._answered.append((question, outcome))
            self._wake_loop()

    def _answer(self, question: _Question) -> HookAnswer:
        facts = question.facts
        try:
            match question.hook:
                case "input":
                    return self._take_input(str(facts.get("text", "")))
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
        return HookAnswer(taken.text, taken.said, _describe_error(InputHandled(taken.said)))

    @property
    def _extensions(self) -> Extensions:
        with self._making:
            return self._make_extensions()

    def _list_on(self) -> tuple[Installed, ...]:
        """Return those that the user's settings leave on now: what is switched off is not called any more."""
        from oulipoly_engine.config.small_files import read_settings  # noqa: PLC0415 - few sessions have any

        config, data, home, cache = self._order.folders
        paths = Paths(Path(config), Path(data), Path(home), cache=Path(cache) if cache else None)
        settings = read_settings(paths).value
        return tuple(each for each in self._order.installed if is_on(each.name, settings))

    def _make_extensions(self) -> Extensions:
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
                self._note,
                lambda name, body: publish(self._store, self._clock, self._session.id, name, body),
                Path(order.folders[2]),
                tuple(map(Path, order.hidden)),
            )
            self._kept = Extensions(self._list_on, surroundings)
        return self._kept


def publish(store: Store, clock: Clock, session_id: str, name: str, body: Mapping[str, Any]) -> None:
    """Tell other extensions something, without its secrets. Raises ValueError for what JSON does not have."""
    text = redact_strictly(json.dumps({**body}, ensure_ascii=False))[:_LONGEST_EVENT]
    with store.write():
        outbox.publish(store, "event", clock.now(), session_id, {"name": name, "body": text})


def reader_of(session_id: str) -> str:
    """Return who reads the outbox for the extensions of a session."""
    return f"extensions:{session_id}"


def _clean(outcome: HookAnswer) -> HookAnswer:
    message = _drop_halves(str(outcome.error.get("message", "")))
    error = {**outcome.error, "message": message} if outcome.error else {}
    return HookAnswer(_drop_halves(outcome.text), _drop_halves(outcome.answer), error)


def _drop_halves(text: str) -> str:
    """Return a text without half characters, which nobody can be sent."""
    return text.encode("utf-8", "replace").decode()


def _describe_error(error: RunnerError) -> dict[str, Any]:
    return {"slug": error.slug, "message": error.message, "exit_code": error.exit_code}


def is_on(name: str, settings: Settings) -> bool:
    """Tell whether the settings leave an extension on."""
    return settings.extensions_enabled and not is_switched_off(settings.extensions, name)


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

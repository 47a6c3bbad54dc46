"""What blocks, in threads of its own: what came of it, what is under way, and how its user stops it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

from textual.app import App

from oulipoly_engine.stopping import Stopped, stoppable
from oulipoly_tui.base.messages import Job, WorkDone
from oulipoly_tui.screens import dialogs
from oulipoly_tui.toasts import Toasts

_TOLD_AFTER_S = 1.0  # what takes less is done before its row could be read
_PARTING_S = 3.0  # a script has two seconds to obey, and is killed then


class Jobs:
    """The work of the app that is under way."""

    def __init__(self, app: App[Any], toasts: Toasts, show: Callable[[], None]) -> None:
        """Begin without any. show: draws what is under way."""
        self._app = app
        self._toasts = toasts
        self._show = show
        self._all: list[Job] = []
        self._next: dict[str, Callable[[], object]] = {}  # by the name of what is under way

    def start(  # noqa: PLR0913, RUF100 - a call reads as a sentence
        self,
        name: str,
        function: Callable[[], Any],
        act: Callable[[Any], object] | None = None,
        failed: Callable[[Exception], object] | None = None,
        *,
        title: str = "",
        can_stop: bool = False,
    ) -> Job:
        """Run what blocks in a thread of its own; `act` gets its result in the app's thread.

        A failure is said; `failed` is told of it after that. title: what somebody who waits for it reads, and with
        `can_stop` may stop; without one nobody is told.
        """
        job = Job(name, title, can_stop, monotonic())

        def run() -> None:
            result, failure = None, None
            try:
                with stoppable(job.asked):
                    result = function()
            except Exception as error:  # noqa: BLE001, RUF100 - a worker's border: the app stays and says it
                failure = error
            if self._app.is_running:
                self._app.post_message(WorkDone(job, result, failure, act if failure is None else failed))

        self._all.append(job)
        job.thread = threading.Thread(target=run, name=title or name, daemon=True)
        job.thread.start()
        return job

    def start_newest(self, name: str, begin: Callable[[], object]) -> None:
        """Begin work of a name, or where such work is under way, once its result was taken; the newest wish alone.

        begin: starts it. A held-down key asks more often than a thread can answer.
        """
        if any(job.name == name for job in self._all):
            self._next[name] = begin
        else:
            begin()

    @property
    def are_under_way(self) -> bool:
        """Tell whether any work is under way."""
        return bool(self._all)

    def since(self, least_s: float) -> tuple[Job, ...]:
        """Return the work that has been under way for so long, the oldest first."""
        now = monotonic()
        return tuple(job for job in self._all if now - job.since >= least_s)

    @property
    def shown(self) -> tuple[Job, ...]:
        """Return the work that its user waits for, the oldest first."""
        return tuple(job for job in self.since(_TOLD_AFTER_S) if job.title)

    @property
    def stoppable(self) -> tuple[Job, ...]:
        """Return the work that can be stopped and has not been asked to yet, the oldest first."""
        return tuple(job for job in self._all if job.title and job.can_stop and not job.asked.is_set())

    def take_result(self, message: WorkDone) -> None:
        """Take a result, or say what failed."""
        self._all.remove(message.job)
        if isinstance(message.error, Stopped):
            self._toasts.say(f"Stopped {message.job.title or message.job.name}")
        elif message.error is not None:
            self._toasts.say_failure(message.job.name, message.error)
        if callable(message.act):
            message.act(message.result if message.error is None else message.error)
        begin = self._next.pop(message.job.name, None)
        if begin is not None:
            self.start_newest(message.job.name, begin)

    def ask_to_stop(self) -> None:
        """Stop what is under way; where there is more than one thing, ask which."""
        found = self.stoppable
        if len(found) == 1:
            self._stop(found[0])
        elif found:
            from oulipoly_tui.view.transcript.spans import Row  # noqa: PLC0415 - only when there is something to ask

            rows = tuple(Row(str(number), ((job.title, ""),)) for number, job in enumerate(found))
            dialogs.choose(self._app, "Stop what?", rows, lambda key: self._stop(found[int(key)]))

    def stop_all(self) -> None:
        """Ask what can be stopped to stop: the app is ending."""
        for job in self._all:
            if job.can_stop:
                job.asked.set()

    def wait_for_stopped(self, patience_s: float = _PARTING_S) -> None:
        """Wait for what its user waited for: no script of ours and no half a file shall outlive us."""
        deadline = monotonic() + patience_s
        for job in self._all:
            if job.title and job.thread is not None:
                job.thread.join(max(0.0, deadline - monotonic()))

    def _stop(self, job: Job) -> None:
        job.asked.set()
        self._show()

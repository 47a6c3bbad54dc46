"""A chat's messages to a live session, each to its end; Ctrl-C and the time limit interrupt the turn."""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from oulipoly_engine.cli.live.chat_output import Printer
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live import orders
from oulipoly_engine.errors import Interrupted, RunnerError
from oulipoly_engine.facade import diagnostics
from oulipoly_engine.facade.base.own_process import interruptible

if TYPE_CHECKING:
    from oulipoly_engine.facade.live.sessions import LiveSessions
    from oulipoly_engine.facade.live.turn_results import TurnResult

_END_S = 15.0  # that an interrupted turn may take to end
OPEN = ("queued", "starting", "running", "waiting_approval")  # states of a turn that may still go on


class Turns:
    """The turns of a chat, one after the other."""

    def __init__(
        self, live: LiveSessions, printer: Printer, timeout_s: float | None, answer: Callable[[str], None] | None
    ) -> None:
        """timeout_s: of a turn; None: no limit. answer: has a person answer what a session asks; None: nobody does."""
        self._live = live
        self._printer = printer
        self._timeout_s = timeout_s
        self._answer = answer
        self._last = 0  # the number of the last event that was printed
        self._turn_id = ""  # the last one; what happens in others is not printed
        self._has_ended = False  # its end was printed
        self.is_timed_out = False  # the last turn
        self.is_answer_shown = False  # of it: nothing is left to be printed

    def send(self, session_id: str, text: str) -> TurnResult:
        """Send a message and print what comes of it, to the end of its turn. Raises RunnerError."""
        turn_id = str(uuid.uuid4())
        after = self._live.last_number(session_id)
        try:
            with interruptible() as guard, guard.arming():
                self._live.send(session_id, text, turn_id=turn_id)
        except Interrupted as interrupt:
            _require_int(interrupt)
            self._interrupt(session_id, turn_id)
        return self.watch(session_id, turn_id, after)

    def watch(self, session_id: str, turn_id: str, after: int) -> TurnResult:
        """Print what comes of a turn behind the event of a number, to its end. Raises RunnerError."""
        self._last = after
        self._turn_id = turn_id
        self._has_ended = False
        self.is_timed_out = False
        deadline = None if self._timeout_s is None else time.monotonic() + self._timeout_s
        try:
            while True:
                result = self._wait(session_id, turn_id, deadline)
                is_asked = result.status == "waiting_approval" and not self.is_timed_out
                if not is_asked or self._answer is None:
                    break
                self._answer(session_id)
            self._print_rest(session_id)
        finally:
            self.is_answer_shown = self._printer.end()
        return result

    def _wait(self, session_id: str, turn_id: str, deadline: float | None) -> TurnResult:
        patience_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            result = self._listen(session_id, turn_id, patience_s)
        except Interrupted as interrupt:
            _require_int(interrupt)
            return self._stop(session_id, turn_id)
        if deadline is None or result.status not in OPEN or time.monotonic() < deadline:
            return result
        self.is_timed_out = True
        diagnostics.note(f"the turn has taken longer than {self._timeout_s:g} s")
        return self._stop(session_id, turn_id)

    def _stop(self, session_id: str, turn_id: str) -> TurnResult:
        """Interrupt a turn and wait for its end; a second Ctrl-C raises Interrupted."""
        self._interrupt(session_id, turn_id)
        return self._listen(session_id, turn_id, _END_S)

    def _listen(self, session_id: str, turn_id: str, patience_s: float | None) -> TurnResult:
        deltas = self._printer.form != "answer" and self._live.streams_responses
        with interruptible() as guard, guard.arming():
            return self._live.wait(
                session_id, turn_id, self._take, after=self._last, deltas=deltas, patience_s=patience_s
            )

    def _interrupt(self, session_id: str, turn_id: str) -> None:
        """Take a message back that waits, or interrupt its turn; one that is over meanwhile is neither."""
        diagnostics.note("interrupting")
        with suppress(RunnerError):
            if any(message.message_id == turn_id for message in self._live.queue(session_id)):
                self._live.change_queue(session_id, orders.ChangeQueue("remove", turn_id))
            elif self._live.status(session_id).turn_id == turn_id:
                self._live.order(session_id, orders.Interrupt(), starts=False)

    def _take(self, numbered: ev.Numbered) -> bool:
        event = numbered.event
        is_piece = isinstance(event, ev.ItemStarted | ev.ItemDelta)
        if 0 < numbered.seq <= self._last and not is_piece:
            return False  # told before: we have come again
        self._last = max(self._last, numbered.seq)
        is_other = getattr(event, "turn_id", "") not in ("", self._turn_id)
        if is_other and not isinstance(event, ev.RequestOpened):  # our turn waits for what is asked as well
            return False
        self._has_ended = self._has_ended or isinstance(event, ev.TurnEnded)
        return self._printer.take(numbered)

    def _print_rest(self, session_id: str) -> None:
        """Print what a process has told that left us before it was heard."""
        for numbered in self._live.events_after(session_id, self._last):
            if not self._has_ended:
                self._take(numbered)


def _require_int(interrupt: Interrupted) -> None:
    """Raise a signal again that is not Ctrl-C's."""
    if interrupt.signal_number != signal.SIGINT:
        raise interrupt

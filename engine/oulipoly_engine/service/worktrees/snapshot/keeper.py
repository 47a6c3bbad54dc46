"""Keeps the files of a live session's checkout before its first turn and after each, in a thread of its host.

Nobody waits for it. The next turn may begin meanwhile: a snapshot counts as none where the agent has begun to use a
tool, a model's first answer later, before it was taken. The first failure ends it until the next process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.sessions.turn_files import Moment
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import turn_files

if TYPE_CHECKING:
    from oulipoly_engine.service.worktrees.base.place import Place


class _Snapshot(Record):
    """One that was taken, or failed."""

    turn_id: str  # after which; empty: before the first of a process
    tools: int  # how many were used before it was asked for
    reference: str  # empty: there is none
    problem: str = ""


class FileKeeper:
    """Takes the snapshots of one session, in order."""

    def __init__(self, place: Place | None, clock: Clock) -> None:
        """place: None keeps nothing."""
        self.wake: Callable[[], object] = lambda: None  # called by a thread whose snapshot is taken
        self._place = place
        self._clock = clock
        self._asked: deque[tuple[str, int]] = deque()  # the first two of a `_Snapshot`
        self._threads: list[Thread] = []  # of snapshots that are not settled
        self._taken: deque[_Snapshot] = deque()
        self._lock = Lock()  # one git at a time
        self._tools = 0
        self._first_turn = ""
        self._before = ""  # the snapshot that the first turn has before it

    def ask(self, turn_id: str = "") -> None:
        """Have a snapshot taken by `start`. turn_id: of the turn that has ended; empty: none has begun."""
        if self._place is not None:
            self._asked.append((turn_id, self._tools))

    def start(self) -> None:
        """Begin with what was asked for; whoever waits for an answer has it by now."""
        while self._asked:
            thread = Thread(target=self._take, args=self._asked.popleft(), name="files", daemon=True)
            self._threads.append(thread)
            thread.start()

    def note_work(self) -> None:
        """Take it that the agent begins to use a tool, which may change files."""
        self._tools += 1

    def note_begin(self, store: Store, turn_id: str) -> None:
        """Write down what a turn that begins has before it. Runs inside the caller's write transaction."""
        self._first_turn = self._first_turn or turn_id
        if self._before and self._first_turn == turn_id:
            turn_files.note(store, turn_id, Moment.BEFORE, self._before)

    def settle(self, store: Store, patience_s: float = 0.0) -> str:
        """Write down what was taken by now, and return why nothing is kept any more; empty: it is, or that was told.

        patience_s: how long what is under way is waited for, at the process's end.
        """
        for thread in self._threads if patience_s else ():
            thread.join(patience_s)
        problem = ""
        while self._taken:
            snapshot = self._taken.popleft()
            self._threads.pop(0)  # they end in their order
            if not snapshot.reference:
                self._place = None
                problem = problem or snapshot.problem
            elif snapshot.tools != self._tools:
                continue
            elif snapshot.turn_id:
                turn_files.note(store, snapshot.turn_id, Moment.AFTER, snapshot.reference)
            else:
                self._before = snapshot.reference
                if self._first_turn:
                    self.note_begin(store, self._first_turn)
        return problem

    def _take(self, turn_id: str, tools: int) -> None:
        # ruff: noqa: PLC0415 - 20 ms, and only sessions in a repository need them
        from oulipoly_engine.service.worktrees.base.place import open_checkout
        from oulipoly_engine.service.worktrees.snapshot.references import reference_time
        from oulipoly_engine.service.worktrees.snapshot.turns import take_turn

        place = self._place
        reference = problem = ""
        try:
            with self._lock:
                if place is not None:
                    now = self._clock.now()
                    name = turn_id or f"begin-{reference_time(now)}"
                    reference = take_turn(open_checkout(place), name, now).reference
        except (RunnerError, OSError) as error:
            problem = getattr(error, "message", "") or str(error)
        finally:
            self._taken.append(_Snapshot(turn_id, tools, reference, problem))
            with suppress(OSError):  # its process ends
                self.wake()

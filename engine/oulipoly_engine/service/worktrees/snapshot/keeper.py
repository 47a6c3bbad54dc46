"""Keeps the files of a live session's checkout before its first turn and after each, in a thread of its host.

Nobody waits for it but a turn that would begin meanwhile, and that for two seconds at most: a snapshot during which a
turn has begun counts as none, for what that turn does may be in it. The first failure ends it until the next process.
"""

from __future__ import annotations

import time
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

_PATIENCE_S = 2.0  # of a turn that waits


class _Snapshot(Record):
    """One that was taken, or failed."""

    turn_id: str  # after which; empty: before the first of a process
    begun: int  # how many turns had begun when it was asked for
    reference: str  # empty: there is none
    problem: str = ""


class FileKeeper:
    """Takes the snapshots of one session, in order."""

    def __init__(self, place: Place | None, clock: Clock) -> None:
        """place: None keeps nothing."""
        self.wake: Callable[[], object] = lambda: None  # called by a thread whose snapshot is taken
        self._place = place
        self._clock = clock
        self._asked: deque[tuple[str, int]] = deque()  # turns, as `_Snapshot` has them
        self._threads: list[Thread] = []  # of snapshots that are not settled
        self._taken: deque[_Snapshot] = deque()
        self._lock = Lock()  # one git at a time
        self._begun = 0  # turns
        self._before = ""  # the snapshot that the next turn has before it
        self._waits_until = 0.0

    def ask(self, turn_id: str = "") -> None:
        """Have a snapshot taken by `start`. turn_id: of the turn that has ended; empty: none has begun."""
        if self._place is not None:
            self._asked.append((turn_id, self._begun))
            self._waits_until = time.monotonic() + _PATIENCE_S

    def start(self) -> None:
        """Begin with what was asked for; whoever waits for an answer has it by now."""
        while self._asked:
            thread = Thread(target=self._take, args=self._asked.popleft(), name="files", daemon=True)
            self._threads.append(thread)
            thread.start()

    @property
    def left_s(self) -> float:
        """Return how long a turn has to wait; 0: it may begin."""
        is_busy = bool(self._asked or self._threads)
        return max(0.0, self._waits_until - time.monotonic()) if is_busy else 0.0

    def note_begin(self, store: Store, turn_id: str) -> None:
        """Write down what a turn that begins has before it. Runs inside the caller's write transaction."""
        self._begun += 1
        if self._before:
            turn_files.note(store, turn_id, Moment.BEFORE, self._before)
            self._before = ""

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
            if snapshot.reference and snapshot.turn_id and snapshot.begun == self._begun:
                turn_files.note(store, snapshot.turn_id, Moment.AFTER, snapshot.reference)
            elif not snapshot.turn_id and not self._begun:
                self._before = snapshot.reference
            if not snapshot.reference:
                self._place = None
                problem = problem or snapshot.problem
        return problem

    def _take(self, turn_id: str, begun: int) -> None:
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
            self._taken.append(_Snapshot(turn_id, begun, reference, problem))
            with suppress(OSError):  # its process ends
                self.wake()

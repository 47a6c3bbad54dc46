"""Keeps the files of a live session's checkout before its first turn and after each, in a thread of its host.

Nobody waits for it. The next turn may begin meanwhile: a snapshot counts as none where the agent has begun to use a
tool, a model's first answer later, before it was taken, or a file in it was changed since that turn began: a hook, or a
CLI that tells of no tools. What has changed between two turns, by a person for example, is kept as the second begins.
The first failure ends it until the next process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.sessions.turn_files import Moment
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import turn_files

if TYPE_CHECKING:
    from oulipoly_engine.service.worktrees.base.place import Place

_TICK_S = 0.02  # that the times of files may lie behind the clock


class _Asked(Record):
    """A snapshot to take."""

    turn_id: str  # empty: before the first turn of a process
    moment: Moment
    tools: int  # how many were used before it was asked for
    turns: int  # how many had begun


class _Snapshot(Record):
    """One that was taken, or failed."""

    asked: _Asked
    reference: str  # empty: there is none
    changed_at: float = 0.0  # the newest file in it that the one before has otherwise, in seconds since 1970
    problem: str = ""


class FileKeeper:
    """Takes the snapshots of one session, in order."""

    def __init__(self, place: Place | None, clock: Clock) -> None:
        """place: None keeps nothing."""
        self.wake: Callable[[], object] = lambda: None  # called by a thread whose snapshot is taken
        self._place = place
        self._clock = clock
        self._asked: deque[_Asked] = deque()
        self._threads: list[Thread] = []  # of snapshots that are not settled
        self._taken: deque[_Snapshot] = deque()
        self._tools = 0
        self._begins: list[float] = []  # when turns began, in seconds since 1970
        self._first_turn = ""
        self._before = ""  # the snapshot that the first turn has before it
        self._last = ""  # that was written down

    def ask(self, turn_id: str = "", moment: Moment = Moment.AFTER) -> None:
        """Have a snapshot taken by `start`. turn_id: of the turn that has ended; empty: none has begun."""
        if self._place is not None:
            self._asked.append(_Asked(turn_id, moment, self._tools, len(self._begins)))

    def start(self) -> None:
        """Begin with what was asked for; whoever waits for an answer has it by now."""
        while self._asked:
            before = self._threads[-1] if self._threads else None
            thread = Thread(target=self._take, args=(self._asked.popleft(), before), name="files", daemon=True)
            self._threads.append(thread)
            thread.start()

    def note_work(self) -> None:
        """Take it that the agent begins to use a tool, which may change files."""
        self._tools += 1

    def note_begin(self, store: Store, turn_id: str) -> None:
        """Write down what a turn that begins has before it. Runs inside the caller's write transaction."""
        if not self._threads and not self._asked:
            self.ask(turn_id, Moment.BEFORE)
        self._begins.append(self._clock.now().timestamp())
        if not self._first_turn:
            self._first_turn = turn_id
            self._note_first(store)

    def _note_first(self, store: Store) -> None:
        if self._before and self._first_turn:
            turn_files.note(store, self._first_turn, Moment.BEFORE, self._before)

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
            elif not self._is_spoiled(snapshot):
                self._note(store, snapshot)
        return problem

    def _is_spoiled(self, snapshot: _Snapshot) -> bool:
        asked = snapshot.asked
        if asked.tools != self._tools:
            return True
        return asked.turns < len(self._begins) and snapshot.changed_at > self._begins[asked.turns] - _TICK_S

    def _note(self, store: Store, snapshot: _Snapshot) -> None:
        asked = snapshot.asked
        if not asked.turn_id:
            self._before = snapshot.reference
            self._note_first(store)
        elif asked.moment is Moment.AFTER or snapshot.reference != self._last:
            turn_files.note(store, asked.turn_id, asked.moment, snapshot.reference)
        self._last = snapshot.reference

    def _take(self, asked: _Asked, before: Thread | None) -> None:
        # ruff: noqa: PLC0415 - 20 ms, and only sessions in a repository need them
        from oulipoly_engine.service.worktrees.base.place import open_checkout
        from oulipoly_engine.service.worktrees.snapshot.references import reference_time
        from oulipoly_engine.service.worktrees.snapshot.turns import take_turn

        place = self._place
        reference = problem = ""
        changed_at = 0.0
        try:
            if before is not None:
                before.join()  # in the order in which they were asked for, and one git at a time
            if place is not None:
                now = self._clock.now()
                begin = f"begin-{reference_time(now)}"
                name = asked.turn_id if asked.moment is Moment.AFTER else begin
                files = take_turn(open_checkout(place), name or begin, now)
                reference = files.reference
                changed_at = files.changed_at
        except (RunnerError, OSError) as error:
            problem = getattr(error, "message", "") or str(error)
        finally:
            self._taken.append(_Snapshot(asked, reference, changed_at, problem))
            with suppress(OSError):  # its process ends
                self.wake()

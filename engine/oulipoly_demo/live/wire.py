"""Lines from stdin, lines to stdout, and what goes on in between: generators that wait a while or for an answer.

A generator yields the seconds that it waits, or None to wait until it is woken with a value. One thread does all of it,
so that a message is always read between two steps.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

from oulipoly_demo.base import streams

Steps = Generator[float | None, Any, Any]
_STDIN = 0
_READ_BYTES = 1 << 16


class Task:
    """A generator and when it goes on."""

    def __init__(self, steps: Steps) -> None:
        """Begin at once."""
        self.steps = steps
        self.due: float | None = 0.0  # monotonic seconds; None: until it is woken
        self.value: Any = None


class Wire:
    """The loop of a CLI that talks to a program."""

    def __init__(self, take_line: Callable[[bytes], None], *, term_code: int = 0) -> None:
        """take_line: is given each line of stdin without its newline. term_code: the exit code at SIGTERM."""
        self._take_line = take_line
        self._term_code = term_code
        self._tasks: list[Task] = []
        self._exit_code: int | None = None
        self._expected: dict[object, Task] = {}  # whose answers are waited for, by the request's id

    def start(self, steps: Steps) -> Task:
        """Have a generator run beside the reading."""
        task = Task(steps)
        self._tasks.append(task)
        return task

    def expect(self, identity: object, task: Task) -> None:
        """Let a generator wait for the answer to a request."""
        self._expected[identity] = task

    def answer(self, identity: object, value: Any) -> bool:  # noqa: ANN401 - whatever it waits for
        """Let the generator go on that waits for an answer. Returns whether one does: a late answer is for none."""
        task = self._expected.pop(identity, None)
        if task is not None:
            task.due, task.value = 0.0, value
        return task is not None

    def stop(self, task: Task) -> None:
        """End a generator where it is."""
        task.steps.close()
        self._expected = {identity: waits for identity, waits in self._expected.items() if waits is not task}
        if task in self._tasks:
            self._tasks.remove(task)

    def leave(self, exit_code: int) -> None:
        """End the loop after what is being done."""
        self._exit_code = exit_code

    def run(self, at_end: Callable[[], None] | None = None) -> int:
        """Read and write until stdin ends; returns the exit code.

        at_end: is called then, and what is under way is brought to its end; without it nothing is.
        """
        signal.signal(signal.SIGTERM, self._leave_at_once)
        pending, is_read = bytearray(), False
        while self._exit_code is None:
            if is_read and not self._tasks:
                return 0
            if is_read:
                time.sleep(self._pause() or 0.0)
            elif select.select([_STDIN], [], [], self._pause())[0]:
                raw = os.read(_STDIN, _READ_BYTES)
                if not raw and at_end is None:
                    return 0
                if not raw and at_end is not None:
                    is_read = True
                    at_end()
                pending += raw
                *lines, rest = bytes(pending).split(b"\n") if b"\n" in raw else (bytes(pending),)
                if lines:
                    pending = bytearray(rest)
                for line in lines:
                    self._take_line(line)
            self._step()
        return self._exit_code

    def _pause(self) -> float | None:
        dues = [task.due for task in self._tasks if task.due is not None]
        return max(0.0, min(dues) - time.monotonic()) if dues else None

    def _leave_at_once(self, _signal: int, _frame: FrameType | None) -> None:
        raise SystemExit(self._term_code)

    def _step(self) -> None:
        now = time.monotonic()
        for task in [one for one in self._tasks if one.due is not None and one.due <= now]:
            value, task.value = task.value, None
            try:
                waits = task.steps.send(value)
            except StopIteration:
                self.stop(task)
                continue
            task.due = None if waits is None else time.monotonic() + waits


def send(message: dict[str, Any]) -> None:
    """Write a message as one line."""
    streams.out(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n")

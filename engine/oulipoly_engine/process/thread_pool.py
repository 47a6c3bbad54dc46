"""Threads that do blocking work side by side and never keep the program from ending."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

from oulipoly_engine.stopping import inner_stop_event, stoppable

T = TypeVar("T")
R = TypeVar("R")

_ENDING_PATIENCE_S = 5.0
_LOOK_S = 0.2  # a signal that comes between the interpreter's look and a wait is noted, but does not end the wait


def run_in_threads(
    work: Callable[[T], R], items: Sequence[T], *, at_most: int, cancel: Callable[[], None] = lambda: None
) -> Generator[R, None, None]:
    """Do the work for every item, `at_most` at once, and yield results as they come.

    When the consumer stops early, is interrupted or is asked to stop, the work is too (`stopping`), which ends the
    programs that it waits for; `cancel` is called besides. It is expected to end soon after. Work that does not (a
    request that waits for its answer) is left behind in a daemon thread. An exception of the work is raised here.
    """
    waiting: SimpleQueue[T] = SimpleQueue()
    finished: SimpleQueue[R | Exception] = SimpleQueue()
    for item in items:
        waiting.put(item)

    stopped = inner_stop_event()

    def serve() -> None:
        with stoppable(stopped):
            for item in _drain(waiting):
                try:
                    finished.put(work(item))
                except Exception as error:  # the consumer raises it again
                    finished.put(error)

    threads: list[threading.Thread] = []
    try:
        for _ in range(min(at_most, len(items))):
            thread = threading.Thread(target=serve, name=threading.current_thread().name, daemon=True)
            threads.append(thread)  # before it starts: an interrupt may come while it already works
            thread.start()
        for _ in items:
            yield _result(_wait(finished))
    except BaseException:
        for _ in _drain(waiting):
            pass  # nobody shall begin what nobody waits for
        stopped.set()
        cancel()
        deadline = time.monotonic() + _ENDING_PATIENCE_S  # one for all: they end side by side
        for thread in threads:
            with suppress(RuntimeError):  # it has not begun, and finds nothing to do
                thread.join(max(0.0, deadline - time.monotonic()))
        raise


def do_side_by_side(calls: Sequence[Callable[[], R]]) -> list[R]:
    """Make some calls at once and return what they return, in their order. An exception of one is raised here."""

    def work(number: int) -> tuple[int, R]:
        return number, calls[number]()

    found = dict(run_in_threads(work, range(len(calls)), at_most=len(calls)))
    return [found[number] for number in range(len(calls))]


def _drain(queue: SimpleQueue[T]) -> Iterator[T]:
    """Take what is in a queue until it is empty."""
    with suppress(Empty):
        while True:
            yield queue.get_nowait()


def _wait(queue: SimpleQueue[T]) -> T:
    """Take what comes next, however long that takes; a signal is answered within a moment."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=_LOOK_S)


def _result(result: R | Exception) -> R:
    if isinstance(result, Exception):
        raise result
    return result

"""One law for all that is done in steps: noted first, settled where a step fails, and by the next start after a kill.

To settle is to look what is done, then to finish or to undo, and to end the operation. What is under way in another
process is left to that one; how that is told, each kind knows, most often by a lock.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.operations.operations import Operation
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.operations import operations

# Settle an operation and return what was done, as a sentence; empty: it is under way, or another process has done it.
Settlers = dict[str, Callable[[Operation], str]]  # by the operation's kind


def begin(store: Store, clock: Clock, kind: str, subject: str, **detail: object) -> Operation:
    """Note an operation before its first step, and return it."""
    operation = Operation(str(uuid.uuid4()), subject, kind, "begun", detail, clock.now())
    operations.begin(store, operation)
    return operation


@contextmanager
def settled_if_it_fails(settle: Callable[[str], object]) -> Iterator[None]:
    """Do the steps in the block; where one fails, settle what was begun as the next start would. settle: takes why."""
    try:
        yield
    except BaseException as error:
        with suppress(RunnerError, OSError):  # what cannot be settled now, the next start settles
            settle(str(getattr(error, "message", "") or "it was stopped"))
        raise


def recover(store: Store, settlers: Settlers, subject: str | None = None) -> tuple[str, ...]:
    """Settle what has begun and is under way in no process, and return what was done, a sentence each.

    subject: only what is done to this one. What cannot be settled is a sentence as well, and is tried again.
    """
    sentences = []
    for operation in operations.find(store, "begun", settlers.keys(), subject):
        try:
            sentences.append(settlers[operation.kind](operation))
        except (RunnerError, OSError) as error:
            why = getattr(error, "message", error)
            sentences.append(f"a {operation.kind} of {operation.subject} that was cut off cannot be settled: {why}")
    return tuple(filter(None, sentences))

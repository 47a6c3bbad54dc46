"""The last write of a run: worth a long wait, and never worth losing what the run itself came to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.errors import StoreLocked, StoreUnusable
from oulipoly_engine.process.signals import interruptible
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import invocations

if TYPE_CHECKING:
    from oulipoly_engine.core.artifacts.receipts import ReturnedArtifact

_PATIENCE_S = 30.0  # each try waits for as long as the store's own timeout says
_PAUSE_S = 0.2


def end(
    store: Store, row_id: int, outcome: Outcome, returned: Sequence[ReturnedArtifact], answer: Callable[[], str] = str
) -> None:
    """Make a run's row final, and keep what the run has handed back: both or neither. Raises StoreUnusable.

    answer: what the CLI has answered, without secrets; it is asked only where somebody is told of it.
    """
    with store.write():
        if store.has_readers():
            from oulipoly_engine.service.runs.outbox.publish import publish_end  # noqa: PLC0415 - mostly nobody reads

            publish_end(store, row_id, outcome, answer)
        invocations.end(store, row_id, outcome)
        if returned:
            from oulipoly_engine.store.runs.artifacts import record_returned  # noqa: PLC0415 - few runs return anything

            record_returned(store, row_id, returned)


def make_final(
    store: Store,
    row_id: int,
    outcome: Outcome,
    note: Callable[[str], None],
    returned: Sequence[ReturnedArtifact] = (),
    answer: Callable[[], str] = str,
) -> bool:
    """Make a run's row final as `end`, and return whether that was possible; if not, it is told.

    Waits for a state file that another process has locked, until a signal comes.
    """
    return write_patiently(lambda: end(store, row_id, outcome, returned, answer), "how this run ended", note)


def write_patiently(write: Callable[[], object], what: str, note: Callable[[str], None]) -> bool:
    """Write something, patiently, and return whether that was possible; if not, it is told."""
    deadline = time.monotonic() + _PATIENCE_S
    with interruptible() as guard:
        before = guard.signals  # the run itself may have ended by one
        while True:
            try:
                write()
            except StoreUnusable as error:
                if not isinstance(error, StoreLocked) or time.monotonic() >= deadline or guard.signals > before:
                    note(f"Warning: {what} could not be recorded: {error.message}")
                    return False
                time.sleep(_PAUSE_S)
            else:
                return True

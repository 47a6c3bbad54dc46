"""How interactive runs end: their row, the session that they have made, the result file. One way for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts.accounts import AcceptanceSpec
from oulipoly_engine.core.runs.acceptance import judge
from oulipoly_engine.core.runs.invocations import Category, Outcome
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.runs import final_write, results
from oulipoly_engine.service.runs.freshness import Freshness
from oulipoly_engine.store.base.db import Store


class Ran(Record):
    """What ran."""

    row_id: int
    uuid: str
    account: str
    resumes: str | None  # the session that it went on with
    acceptance: AcceptanceSpec | None  # the account's


class Last(Record):
    """What was seen of its end."""

    exit_code: int  # 128 plus the signal's number if a signal killed it
    killed_by: int | None
    tail: bytes  # the last of what it printed
    stopped_for: int | None = None  # the signal for which we ended it; None: it ended by itself


class Endings(Record):
    """Records ends."""

    store: Store
    results_folder: Path
    clock: Clock
    note: Callable[[str], None]

    def end(self, ran: Ran, last: Last) -> Outcome:
        """Make the run's row final, and return how; a row that cannot be written is told."""
        outcome = self._outcome(ran, last)
        final_write.make_final(self.store, ran.row_id, outcome, self.note)
        return outcome

    def attach(self, ran: Ran, outcome: Outcome, fresh: Freshness, hints: Sequence[str]) -> Outcome:
        """Tie the run to the session that it has made, by the turns that came in; returns the outcome with it."""
        if ran.resumes is not None:
            fresh.catch_up(ran.account)
            return outcome
        session_id = fresh.after_run(ran.account, ran.uuid, tuple(hints))
        return outcome if session_id is None else replace(outcome, session_id=session_id)

    def write_result(self, ran: Ran, outcome: Outcome) -> None:
        """Keep the result file; one that cannot be kept is told."""
        line = results.line_of(self.store, ran.uuid, ran.account, outcome.session_id or ran.resumes, outcome)
        try:
            results.write(self.results_folder, ran.uuid, line)
        except OSError as error:
            self.note(f"Warning: cannot keep the result file of {ran.uuid}: {error.strerror or error}")

    def _outcome(self, ran: Ran, last: Last) -> Outcome:
        success = last.exit_code == 0 and last.stopped_for is None
        outcome = Outcome(
            success=success,
            exit_code=last.exit_code if last.stopped_for is None else 128 + last.stopped_for,
            finished_at=self.clock.now(),
            terminal_reason=terminal_reason(last),
        )
        if ran.resumes is None:
            return outcome
        found = judge(ran.acceptance, ran.resumes, last.exit_code, last.tail.decode("utf-8", "replace"), "")
        return replace(
            outcome,
            error_category=Category.RESUME_SESSION_MISMATCH.value if found.is_mismatch and not success else None,
            session_id=None if found.is_mismatch else ran.resumes,
            capture_method="resumed",
            acceptance_status=found.status.value,
            acceptance_evidence=found.evidence,
        )


def terminal_reason(last: Last) -> str | None:
    """Return the contract's word for an end by a signal, ours or another's; None: it ended by itself."""
    if last.stopped_for is not None:
        return f"interrupted: signal {int(last.stopped_for)}"
    return f"killed by signal {last.killed_by}" if last.killed_by is not None else None

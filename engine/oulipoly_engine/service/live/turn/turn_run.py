"""A turn of a live session as a run: one of those that `trace`, budgets and the quota count."""

from __future__ import annotations

import uuid

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import Turn
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.process.liveness import here
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.live.turn.session_record import SessionRecord
from oulipoly_engine.service.quota.choose import expect_turns
from oulipoly_engine.store.agents.work_of_session import note_work_of_session
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.runs import invocations


class Process(Record):
    """The invocation that the CLI's process is."""

    row_id: int
    uuid: str
    account: str
    model_name: str
    owner_pid: int


class TurnRun:
    """The run of one turn after the other."""

    def __init__(self, store: Store, record: SessionRecord, process: Process, clock: Clock) -> None:
        self._store = store
        self._record = record
        self._process = process
        self._clock = clock
        self._row_id: int | None = None

    @property
    def is_kept(self) -> bool:
        """Return whether the running turn is written down."""
        return self._row_id is not None

    def begin(self, turn: Turn) -> None:
        """Write a turn down, and the run that it is. Runs inside a write transaction."""
        identity = str(uuid.uuid4())
        process = self._process
        session = self._record.session
        self._row_id = invocations.begin(
            self._store,
            invocations.NewInvocation(
                uuid=identity,
                model=process.model_name,
                account=process.account,
                member_index=None,
                created_at=self._clock.now(),
                parent=(process.account, process.uuid),
                working_directory=session.workspace,
                owner_pid=process.owner_pid,
                owner_place=here(),
                session_id=session.native_id,
                project=session.workspace,
                expected_turns=expect_turns(self._store, process.model_name, session.workspace).turns,
            ),
        )
        live_sessions.insert_turn(self._store, replace(turn, invocation_uuid=identity))
        note_work_of_session(self._store, session.session_id, self._clock.now())
        self._record.mint(process.account)

    def note_session(self, native_id: str) -> None:
        """Take the id that the CLI has for the session."""
        for row_id in (self._process.row_id, self._row_id):
            if row_id is not None:
                invocations.note_session(self._store, row_id, native_id)

    def end(self, event: ev.TurnEnded) -> None:
        """Take how the turn has ended."""
        if self._row_id is None:
            return
        reason = _find_reason(event)
        code = 0 if reason is None else 1
        outcome = Outcome(reason is None, code, self._clock.now(), reason, reason, event.message or None)
        invocations.end(self._store, self._row_id, replace(outcome, session_id=self._record.session.native_id))
        self._row_id = None

    def drop(self, message: str) -> None:
        """Take it that the CLI's process has ended before its turn."""
        if self._row_id is not None:
            outcome = Outcome(False, -1, self._clock.now(), None, "guard_drop", message)
            invocations.end(self._store, self._row_id, outcome)


def _find_reason(event: ev.TurnEnded) -> str | None:
    """Return why a turn has failed; None: it has not."""
    if event.status == "completed":
        return None
    if event.status == "interrupted":
        return "interrupted"
    return event.code or "turn_failed"

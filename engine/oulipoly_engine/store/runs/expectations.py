"""The turns of runs, counted in what was read of their sessions: of those that go on, and of those that have ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.runs.expectation import RunningWork, add_length
from oulipoly_engine.core.runs.invocations import Category, RunningRun, Status
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query, insertion
from oulipoly_engine.store.base.db import LOOK_BACK, Store
from oulipoly_engine.store.base.dialect import each_of, literal
from oulipoly_engine.store.base.orm import JOIN, SQL, Expression, Query, fn
from oulipoly_engine.store.models.runs import DecisionRow, ExpectationRow, InvocationRow, LengthsRow
from oulipoly_engine.store.models.transcripts import EntryRow
from oulipoly_engine.store.runs.invocations import ALL_PROJECTS, read_lengths

_UNKNOWN_LASTS = timedelta(hours=1)  # of a run whose session is not known; after it, what it was charged is used up

_PROMPT_COMES = timedelta(minutes=2)  # to a process that was begun for it; after that it will not


def _count_turns_of(session_id: object) -> Query:
    """Return the number of turns of an invocation's session since it began."""
    entry = EntryRow
    return entry.select(fn.COUNT(entry.id)).where(
        entry.session_id == session_id,
        entry.provider_name == InvocationRow.provider_name,
        entry.role == "assistant",
        entry.timestamp > InvocationRow.created_at,
    )


@compile_query
def _select_read_turns(row_ids: Parameter) -> Query:
    row = InvocationRow
    turns = _count_turns_of(fn.COALESCE(row.session_id, ExpectationRow.planned_session))
    return (
        row.select(row.id, turns)
        .join(ExpectationRow, on=(ExpectationRow.invocation_id == row.id))
        .where(row.id.in_(each_of(row_ids)))
    )


@compile_query
def _count_in_new_sessions(account: Parameter, since: Parameter, known_sessions: Parameter) -> Query:
    row = EntryRow
    earlier = EntryRow.alias()
    is_older = earlier.select(SQL("1")).where(
        earlier.session_id == row.session_id, earlier.provider_name == row.provider_name, earlier.timestamp <= since
    )
    return row.select(fn.COUNT(row.id)).where(
        row.provider_name == account,
        row.role == "assistant",
        row.timestamp > since,
        row.session_id.not_in(each_of(known_sessions)),
        ~fn.EXISTS(is_older),
    )


def read_works(
    store: Store, running: Sequence[RunningRun], now: datetime
) -> tuple[tuple[RunningWork, ...], dict[str, int]]:
    """Return the running runs that are charged, and by account the turns of those whose session is not known."""
    oldest = to_text(now - _UNKNOWN_LASTS)
    waiting = to_text(now - _PROMPT_COMES)
    charged = [
        run for run in running if run.expected_turns is not None and (not run.is_process or run.created_at > waiting)
    ]
    read_turns = dict(store.rows(_select_read_turns([run.row_id for run in charged])))
    works: list[RunningWork] = []
    unknown_since: dict[str, str] = {}
    for run in charged:
        expected_turns = run.expected_turns or 0.0
        if run.session_id is not None:
            works.append(RunningWork(run.account, expected_turns, read_turns[run.row_id]))
        elif run.created_at <= oldest:
            works.append(RunningWork(run.account, 0.0, 0))
        else:
            works.append(RunningWork(run.account, expected_turns, None))
            unknown_since[run.account] = min(run.created_at, unknown_since.get(run.account, run.created_at))
    sessions = [run.session_id for run in running if run.session_id is not None]
    counts = {
        account: int(store.rows(_count_in_new_sessions(account, since, sessions))[0][0])
        for account, since in unknown_since.items()
    }
    return tuple(works), counts


class PastRun(Record):
    """A run that has ended, with what was expected of it."""

    model: str
    account: str
    began_at: datetime
    ended_at: datetime
    did_well: bool
    is_refused: bool  # for its quota
    expected_turns: float
    turns: int | None  # None: not counted
    decision: str | None  # JSON; None: it was begun without a choice


@compile_query
def _select_past(since: Parameter) -> Query:
    row = InvocationRow
    return (
        row.select(
            row.model_name,
            row.provider_name,
            row.created_at,
            row.finished_at,
            row.status,
            row.error_category,
            ExpectationRow.expected_turns,
            ExpectationRow.turns,
            DecisionRow.decision,
        )
        .join(ExpectationRow, on=(ExpectationRow.invocation_id == row.id))
        .join(DecisionRow, JOIN.LEFT_OUTER, on=(DecisionRow.invocation_id == row.id))
        .where(_is_recent(), row.finished_at.is_null(False), row.created_at >= since)
        .order_by(row.id)
    )


def find_past(store: Store, since: datetime) -> tuple[PastRun, ...]:
    """Return the recent runs that were begun since an instant and have ended, oldest first."""
    return tuple(
        PastRun(
            model,
            account,
            from_text(began_at),
            from_text(ended_at),
            status == Status.SUCCEEDED.value,
            category == Category.QUOTA_EXHAUSTED.value,
            *rest,
        )
        for model, account, began_at, ended_at, status, category, *rest in store.rows(_select_past(to_text(since)))
    )


def _is_recent() -> Expression:
    newest = InvocationRow.alias()
    return InvocationRow.id > newest.select(fn.COALESCE(fn.MAX(newest.id), 0) - LOOK_BACK)


@compile_query
def _select_uncounted(account: Parameter, before: Parameter) -> Query:
    row = InvocationRow
    expected = ExpectationRow
    turns = _count_turns_of(row.session_id).where(EntryRow.timestamp <= row.finished_at)
    return (
        expected.select(row.id, row.model_name, expected.project, row.status, turns)
        .join(row, on=(expected.invocation_id == row.id))
        .where(
            literal(expected.turns.is_null()),
            _is_recent(),
            row.provider_name == account,
            row.session_id.is_null(False),
            row.finished_at <= before,
        )
    )


@compile_query
def _update_turns(row_id: Parameter, turns: Parameter) -> Query:
    row = ExpectationRow
    return row.update({row.turns: turns}).where(row.invocation_id == row_id, row.turns.is_null())


_KEEP_LENGTHS = insertion(
    LengthsRow.model_name,
    LengthsRow.project,
    LengthsRow.runs,
    LengthsRow.turns,
    LengthsRow.log_turns,
    LengthsRow.log_variance,
    conflict="update",
)


def count_turns(store: Store, account: str, before: datetime) -> None:
    """Count the turns of an account's runs that have ended, and learn from the lengths of those that did well.

    before: when a reading of its transcripts has begun: what a run wrote before is read by now. A run that did well
    without a turn is one whose transcript was not found: it stays uncounted.
    """
    instant = to_text(before)
    if not store.rows(_select_uncounted(account, instant)):
        return
    with store.write():
        for row_id, model, project, status, turns in store.rows(_select_uncounted(account, instant)):
            did_well = status == Status.SUCCEEDED.value
            if turns or not did_well:
                store.run(_update_turns(row_id, turns))
            if turns and did_well:
                _learn(store, model, project, turns)


def _learn(store: Store, model: str, project: str, turns: int) -> None:
    of_project, of_all = read_lengths(store, model, project)
    averages = {ALL_PROJECTS: of_all}
    if project:
        averages[project] = of_project
    for name, before in averages.items():
        after = add_length(before, turns)
        store.run(_KEEP_LENGTHS(model, name, after.runs, after.turns, after.log_turns, after.log_variance))


@compile_query
def _select_taken(row_id: Parameter) -> Query:
    return ExpectationRow.select(ExpectationRow.turns).where(ExpectationRow.invocation_id == row_id)


def read_taken(store: Store, row_id: int) -> int:
    """Return the turns of a run that has ended; 0 where they were not counted."""
    return sum(int(turns or 0) for (turns,) in store.rows(_select_taken(row_id)))

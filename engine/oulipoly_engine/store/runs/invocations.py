"""Invocation rows: begun before the spawn, ended exactly once, walked by trace."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.runs.invocations import NOT_KEPT, Invocation, Lengths, Outcome, RunningRun, Status
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import LOOK_BACK, Store
from oulipoly_engine.store.base.dialect import each_of, literal
from oulipoly_engine.store.base.orm import EXCLUDED, JOIN, Query, fn
from oulipoly_engine.store.models.runs import AccountCounterRow, DecisionRow, ExpectationRow, InvocationRow, LengthsRow
from oulipoly_engine.store.quota import quotas

ALL_PROJECTS = ""
_LAST_ERROR_LIMIT = 500  # characters; contract 1.8
_MOST_LOST = 100  # runs without a session that a scan looks for
_NO_FAILURES = ("guard_drop", "stdout_failed", "stdout_closed", NOT_KEPT)  # beside what we interrupted
_FIELDS = InvocationRow._meta.sorted_fields
_NAMES = tuple(field.column_name for field in _FIELDS)


class NewInvocation(Record):
    """What is known before the spawn."""

    uuid: str
    model: str
    account: str | None
    member_index: int | None
    created_at: datetime
    parent: tuple[str, str] | None = None  # (account, uuid) from the parent marker
    attempt: int = 1
    working_directory: str | None = None
    owner_pid: int | None = None
    owner_place: str | None = None
    session_id: str | None = None
    capture_method: str = "none"
    resume_input_id: str | None = None
    decision_json: str | None = None
    project: str = ""  # whose lengths tell how long the run will be; a folder
    expected_turns: float | None = None  # None: it is not charged, for it may be idle
    planned_session: str | None = None  # that its CLI is asked to begin


def begin(store: Store, new: NewInvocation) -> int:
    """Write a running row with its decision and return its row id.

    The parent is linked only if that row exists and ran on the account that the marker names.
    """
    with store.write():
        row_id = store.insert(
            InvocationRow,
            invocation_uuid=new.uuid,
            model_name=new.model,
            provider_name=new.account,
            provider_index=new.member_index,
            parent_invocation_id=_parent_row(store, new.parent),
            status=Status.RUNNING.value,
            session_id=new.session_id,
            session_capture_method=new.capture_method,
            resume_input_id=new.resume_input_id,
            attempt=new.attempt,
            working_directory=new.working_directory,
            owner_pid=new.owner_pid,
            owner_place=new.owner_place,
            created_at=to_text(new.created_at),
        )
        if new.decision_json is not None:
            store.insert(DecisionRow, invocation_id=row_id, decision=new.decision_json)
        if new.expected_turns is not None:
            store.insert(
                ExpectationRow,
                invocation_id=row_id,
                project=new.project,
                expected_turns=new.expected_turns,
                planned_session=new.planned_session,
            )
    return row_id


@compile_query
def _update_ended(
    row_id: Parameter,
    status: Parameter,
    success: Parameter,
    exit_code: Parameter,
    error_category: Parameter,
    terminal_reason: Parameter,
    session_id: Parameter,
    capture_method: Parameter,
    acceptance_status: Parameter,
    acceptance_evidence: Parameter,
    finished_at: Parameter,
) -> Query:
    row = InvocationRow
    values = {row.status: status, row.success: success, row.exit_code: exit_code, row.finished_at: finished_at}
    values |= {row.error_category: error_category, row.terminal_reason: terminal_reason}
    values |= {row.session_id: session_id, row.session_capture_method: capture_method}
    values |= {
        row.resume_acceptance_status: acceptance_status,
        row.resume_acceptance_evidence: acceptance_evidence,
    }
    return row.update(values).where(row.id == row_id)


def end(store: Store, row_id: int, outcome: Outcome) -> str | None:
    """Make a running row final, count it, and return the chain that its session belongs to, if it has one.

    Compare-and-set: a row that is final already stays as it is and nothing is counted twice.
    """
    with store.write():
        row = read(store, row_id)
        if row is None or row.status is not Status.RUNNING:
            return None
        store.run(
            _update_ended(
                row_id,
                (Status.SUCCEEDED if outcome.success else Status.FAILED).value,
                int(outcome.success),
                outcome.exit_code,
                outcome.error_category,
                outcome.terminal_reason,
                outcome.session_id or row.session_id,
                row.capture_method if outcome.capture_method == "none" else outcome.capture_method,
                outcome.acceptance_status,
                outcome.acceptance_evidence,
                to_text(outcome.finished_at),
            )
        )
        if row.account is not None:
            _count(store, row, outcome)
            quotas.count_call(store, row.account)
        if outcome.session_id is None or row.account is None:
            return None
        from oulipoly_engine.store.sessions import chains  # noqa: PLC0415 - some CLIs name no session

        return chains.mint(store, row.account, outcome.session_id, row.model, outcome.finished_at)


@compile_query
def _update_child(pid: Parameter, ticks: Parameter, row_id: Parameter) -> Query:
    return InvocationRow.update(child_pid=pid, child_ticks=ticks).where(InvocationRow.id == row_id)


def record_child(store: Store, row_id: int, pid: int, ticks: int | None) -> None:
    """Keep which process a run's CLI is. ticks: when it began, in the kernel's ticks since boot."""
    with store.write():
        store.run(_update_child(pid, ticks, row_id))


@compile_query
def _select_owned() -> Query:
    row = InvocationRow
    return row.select(*_FIELDS).where(
        row.id > _long_ago(), literal(row.status == "running"), row.owner_pid.is_null(False)
    )


def _long_ago() -> Query:
    newest = InvocationRow.alias()
    return newest.select(fn.COALESCE(fn.MAX(newest.id), 0) - LOOK_BACK)


def find_owned(store: Store) -> tuple[Invocation, ...]:
    """Return the recent rows that count as running and have a runner that watches them."""
    return tuple(_read(row) for row in store.rows(_select_owned()))


@compile_query
def _select_without_session(account: Parameter) -> Query:
    row, decision = InvocationRow, DecisionRow
    return (
        row.select(decision.decision, *_FIELDS)
        .join(decision, on=(decision.invocation_id == row.id))
        .where(
            row.id > _long_ago(),
            row.provider_name == account,
            row.session_id.is_null(),
            (row.terminal_reason == "guard_drop") | literal(row.status == "succeeded"),
        )
        .order_by(row.id.desc())
        .limit(_MOST_LOST)
    )


def find_without_session(store: Store, account: str) -> tuple[tuple[Invocation, str], ...]:
    """Return an account's recent runs without a session, with their decisions, newest first.

    Left out are those that have failed by themselves, and those that had no decision. One that has succeeded may have
    lost its runner while that looked for its session.
    """
    rows = store.rows(_select_without_session(account))
    return tuple((_read(values), str(decision)) for decision, *values in rows)


def find_recent(store: Store, prefix: str) -> tuple[Invocation, ...]:
    """Return the recent invocations whose UUID begins so."""
    row = InvocationRow
    rows = store.rows(row.select(*_FIELDS).where(row.id > _long_ago(), row.invocation_uuid.startswith(prefix)))
    return tuple(_read(row) for row in rows)


@compile_query
def _by_id(row_id: Parameter) -> Query:
    return InvocationRow.select(*_FIELDS).where(InvocationRow.id == row_id)


@compile_query
def _by_uuid(uuid: Parameter) -> Query:
    return InvocationRow.select(*_FIELDS).where(InvocationRow.invocation_uuid == uuid)


def find(store: Store, uuid: str) -> Invocation | None:
    """Return the invocation with that UUID."""
    return _first(store.rows(_by_uuid(uuid)))


@compile_query
def _select_folder(account: Parameter, session_id: Parameter) -> Query:
    row = InvocationRow
    is_of = (row.session_id == session_id) | (row.invocation_uuid == session_id)
    mine = (row.provider_name == account) & is_of & row.working_directory.is_null(False)
    return row.select(row.working_directory).where(mine).order_by(row.id.desc()).limit(1)


def find_folder(store: Store, account: str, session_id: str) -> str | None:
    """Return where a session's last run has worked. session_id: the run's own id where its CLI told none."""
    rows = store.rows(_select_folder(account, session_id))
    return str(rows[0][0]) if rows else None


def read(store: Store, row_id: int) -> Invocation | None:
    """Return the invocation of a row."""
    return _first(store.rows(_by_id(row_id)))


def children(store: Store, row_id: int) -> tuple[Invocation, ...]:
    """Return the invocations that this one started, oldest first."""
    row = InvocationRow
    rows = store.rows(row.select(*_FIELDS).where(row.parent_invocation_id == row_id).order_by(row.created_at, row.id))
    return tuple(_read(row) for row in rows)


def uuids_of_sessions(store: Store, session_ids: Iterable[str]) -> tuple[str, ...]:
    """Return the runs of sessions, the first one first. session_ids: the CLIs' own ids."""
    row = InvocationRow
    found = row.select(row.invocation_uuid).where(row.session_id.in_(each_of([*session_ids]))).order_by(row.id)
    return tuple(str(uuid) for (uuid,) in store.rows(found))


def uuids_of_children(store: Store, uuids: Iterable[str]) -> tuple[str, ...]:
    """Return the runs that other runs have started, the first one first."""
    row = InvocationRow
    parents = row.select(row.id).where(row.invocation_uuid.in_(each_of([*uuids])))
    found = row.select(row.invocation_uuid).where(row.parent_invocation_id.in_(parents)).order_by(row.id)
    return tuple(str(uuid) for (uuid,) in store.rows(found))


def uuid_of(store: Store, row_id: int) -> str | None:
    """Return the UUID of a row."""
    found = store.rows(InvocationRow.select(InvocationRow.invocation_uuid).where(InvocationRow.id == row_id))
    return str(found[0][0]) if found else None


def decision_json(store: Store, row_id: int) -> str | None:
    """Return the stored decision of an invocation as JSON text."""
    found = store.rows(DecisionRow.select(DecisionRow.decision).where(DecisionRow.invocation_id == row_id))
    return str(found[0][0]) if found else None


@compile_query
def _counts(model: Parameter) -> Query:
    row = AccountCounterRow
    return row.select(row.account, row.invocation_count).where(row.model_name == model)


def counts(store: Store, model: str) -> dict[str, int]:
    """Return lifetime invocation counts of one model by account."""
    return {str(account): int(count) for account, count in store.rows(_counts(model))}


@compile_query
def _select_running() -> Query:
    row = InvocationRow
    expected = ExpectationRow
    session_id = fn.COALESCE(row.session_id, expected.planned_session)
    return (
        row.select(row.id, row.provider_name, row.created_at, session_id, expected.expected_turns)
        .join(expected, JOIN.LEFT_OUTER, on=(expected.invocation_id == row.id))
        .where(row.id > _long_ago(), literal(row.status == "running"), row.provider_name.is_null(False))
    )


def find_running(store: Store) -> tuple[RunningRun, ...]:
    """Return the recent runs that go on and have an account."""
    return tuple(RunningRun(*row) for row in store.rows(_select_running()))


@compile_query
def _select_lengths(model: Parameter, project: Parameter) -> Query:
    row = LengthsRow
    return row.select(row.project, row.runs, row.turns, row.log_turns, row.log_variance).where(
        row.model_name == model, row.project.in_((project, ALL_PROJECTS))
    )


def read_lengths(store: Store, model: str, project: str) -> tuple[Lengths | None, Lengths | None]:
    """Return how long a project's runs of a model have been, and all of the model's; None: none was counted."""
    lengths = {name: Lengths(*averages) for name, *averages in store.rows(_select_lengths(model, project))}
    return (lengths.get(project) if project else None), lengths.get(ALL_PROJECTS)


@compile_query
def _recent_failures(model: Parameter, since: Parameter) -> Query:
    row = InvocationRow
    reason = fn.COALESCE(row.terminal_reason, "")
    return (
        row.select(row.provider_name, fn.COUNT(row.id))
        .where(
            row.model_name == model,
            row.finished_at > since,
            literal(row.status == "failed"),
            ~(reason ** "interrupted%"),
            reason.not_in(_NO_FAILURES),
        )
        .group_by(row.provider_name)
    )


def recent_failures(store: Store, model: str, since: datetime) -> dict[str, int]:
    """Return failures of one model since an instant, by account.

    What we interrupted ourselves, did not see the end of, or could not pass on is not a failure of the account; nor is
    what an agent has returned.
    """
    rows = store.rows(_recent_failures(model, to_text(since)))
    return {str(account): int(count) for account, count in rows}


@compile_query
def _last_account(model: Parameter) -> Query:
    row = AccountCounterRow
    return (
        row.select(row.account)
        .where(row.model_name == model, row.last_invoked_at.is_null(False))
        .order_by(row.last_invoked_at.desc())
        .limit(1)
    )


def last_account(store: Store, model: str) -> str | None:
    """Return the account that served this model last."""
    rows = store.rows(_last_account(model))
    return str(rows[0][0]) if rows else None


def _redact(text: str) -> str:
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, and most runs succeed

    return redact(text)[:_LAST_ERROR_LIMIT]


def _count(store: Store, row: Invocation, outcome: Outcome) -> None:
    error = None if outcome.success else _redact(outcome.error_text or outcome.error_category or "failed")
    finished = to_text(outcome.finished_at)
    error_at = None if error is None else finished
    store.run(_add_to_counter(row.model, row.account, int(not outcome.success), error, error_at, finished))


@compile_query
def _add_to_counter(
    model: Parameter,
    account: Parameter,
    errors: Parameter,
    last_error: Parameter,
    last_error_at: Parameter,
    invoked_at: Parameter,
) -> Query:
    counter = AccountCounterRow
    added = counter.insert(
        {
            counter.model_name: model,
            counter.account: account,
            counter.invocation_count: 1,
            counter.error_count: errors,
            counter.last_error: last_error,
            counter.last_error_at: last_error_at,
            counter.last_invoked_at: invoked_at,
        }
    )
    update = {
        counter.invocation_count: counter.invocation_count + 1,
        counter.error_count: counter.error_count + EXCLUDED.error_count,
        counter.last_error: fn.COALESCE(EXCLUDED.last_error, counter.last_error),
        counter.last_error_at: fn.COALESCE(EXCLUDED.last_error_at, counter.last_error_at),
        counter.last_invoked_at: EXCLUDED.last_invoked_at,
    }
    return added.on_conflict(conflict_target=[counter.model_name, counter.account], update=update)


@compile_query
def _select_parent(uuid: Parameter, account: Parameter) -> Query:
    row = InvocationRow
    return row.select(row.id).where(row.invocation_uuid == uuid, row.provider_name == account)


def _parent_row(store: Store, parent: tuple[str, str] | None) -> int | None:
    if parent is None:
        return None
    account, uuid = parent
    found = store.rows(_select_parent(uuid, account))
    return int(found[0][0]) if found else None


def _first(rows: list[tuple[object, ...]]) -> Invocation | None:
    return _read(rows[0]) if rows else None


def _read(row: tuple[object, ...]) -> Invocation:
    at = dict(zip(_NAMES, row, strict=True))
    return Invocation(
        row_id=_int(at["id"]) or 0,
        uuid=str(at["invocation_uuid"]),
        model=str(at["model_name"]),
        account=_text(at["provider_name"]),
        member_index=_int(at["provider_index"]),
        parent_row_id=_int(at["parent_invocation_id"]),
        status=Status(str(at["status"])),
        success=None if at["success"] is None else bool(at["success"]),
        exit_code=_int(at["exit_code"]),
        error_category=_text(at["error_category"]),
        terminal_reason=_text(at["terminal_reason"]),
        session_id=_text(at["session_id"]),
        capture_method=str(at["session_capture_method"]),
        resume_input_id=_text(at["resume_input_id"]),
        acceptance_status=_text(at["resume_acceptance_status"]),
        acceptance_evidence=_text(at["resume_acceptance_evidence"]),
        attempt=_int(at["attempt"]) or 1,
        working_directory=_text(at["working_directory"]),
        owner_pid=_int(at["owner_pid"]),
        created_at=from_text(str(at["created_at"])),
        finished_at=None if at["finished_at"] is None else from_text(str(at["finished_at"])),
        child_pid=_int(at["child_pid"]),
        child_ticks=_int(at["child_ticks"]),
        owner_place=_text(at["owner_place"]),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _int(value: object) -> int | None:
    return value if isinstance(value, int) else None


def note_session(store: Store, row_id: int, session_id: str) -> None:
    """Keep which session a running invocation has, once its CLI has said so."""
    row = InvocationRow
    told = {row.session_id: session_id, row.session_capture_method: "live"}
    with store.write():
        store.run(row.update(told).where(row.id == row_id, literal(row.status == "running")))


def note_owner(store: Store, row_id: int, pid: int) -> None:
    """Keep which process of ours watches a run from now on."""
    row = InvocationRow
    with store.write():
        store.run(row.update({row.owner_pid: pid}).where(row.id == row_id))


def drop(store: Store, row_id: int) -> None:
    """Remove a row of which nothing was started: another process was quicker."""
    with store.write():
        store.run(InvocationRow.delete().where(InvocationRow.id == row_id, literal(InvocationRow.status == "running")))

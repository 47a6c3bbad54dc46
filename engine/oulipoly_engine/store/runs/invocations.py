"""Invocation rows: begun before the spawn, ended exactly once, walked by trace."""

from __future__ import annotations

from datetime import datetime

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.runs.invocations import Invocation, Outcome, Status
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.sessions import chains

INVOCATION_COLUMNS = (
    "id",
    "invocation_uuid",
    "model_name",
    "provider_name",
    "provider_index",
    "parent_invocation_id",
    "status",
    "success",
    "exit_code",
    "error_category",
    "terminal_reason",
    "session_id",
    "session_capture_method",
    "resume_input_id",
    "resume_acceptance_status",
    "resume_acceptance_evidence",
    "attempt",
    "working_directory",
    "owner_pid",
    "created_at",
    "finished_at",
)
_LAST_ERROR_LIMIT = 500  # characters; contract 1.8
_LOOK_BACK = 1000  # rows in which lost ones are sought: each start looks, so they never get far
_FAILURE_WINDOW_COLUMNS = "model_name = ? AND finished_at > ? AND status = 'failed'"
_COLUMNS = ", ".join(INVOCATION_COLUMNS)


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
    session_id: str | None = None
    capture_method: str = "none"
    resume_input_id: str | None = None
    decision_json: str | None = None


def begin(store: Store, new: NewInvocation) -> int:
    """Write a running row with its decision and return its row id.

    The parent is linked only if that row exists and ran on the account that the marker names.
    """
    with store.write():
        row_id = store.insert(
            "invocations",
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
            created_at=to_text(new.created_at),
        )
        if new.decision_json is not None:
            store.insert("decisions", invocation_id=row_id, decision=new.decision_json)
    return row_id


def end(store: Store, row_id: int, outcome: Outcome) -> str | None:
    """Make a running row final, count it, and return the chain that its session belongs to, if it has one.

    Compare-and-set: a row that is final already stays as it is and nothing is counted twice.
    """
    with store.write():
        row = _one(store, "id = ?", (row_id,))
        if row is None or row.status is not Status.RUNNING:
            return None
        store.execute(
            "UPDATE invocations SET status = ?, success = ?, exit_code = ?, error_category = ?, terminal_reason = ?,"
            " session_id = ?, session_capture_method = ?, resume_acceptance_status = ?,"
            " resume_acceptance_evidence = ?, finished_at = ? WHERE id = ?",
            (
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
                row_id,
            ),
        )
        if row.account is not None:
            _count(store, row, outcome)
            quotas.count_call(store, row.account)
        if outcome.session_id is None or row.account is None:
            return None
        return chains.mint(store, row.account, outcome.session_id, row.model, outcome.finished_at)


def running_owners(store: Store) -> tuple[tuple[int, int, datetime], ...]:
    """Return (row id, process id of its runner, begun at) of recent rows that count as running."""
    rows = store.rows(
        "SELECT id, owner_pid, created_at FROM invocations WHERE id > (SELECT COALESCE(MAX(id), 0) FROM invocations)"
        " - ? AND status = 'running' AND owner_pid IS NOT NULL",
        (_LOOK_BACK,),
    )
    return tuple((int(row_id), int(pid), from_text(str(created))) for row_id, pid, created in rows)


def find(store: Store, uuid: str) -> Invocation | None:
    """Return the invocation with that UUID."""
    return _one(store, "invocation_uuid = ?", (uuid,))


def children(store: Store, row_id: int) -> tuple[Invocation, ...]:
    """Return the invocations that this one started, oldest first."""
    rows = store.rows(
        f"SELECT {_COLUMNS} FROM invocations WHERE parent_invocation_id = ? ORDER BY created_at, id",  # noqa: S608
        (row_id,),
    )
    return tuple(_read(row) for row in rows)


def uuid_of(store: Store, row_id: int) -> str | None:
    """Return the UUID of a row."""
    found = store.rows("SELECT invocation_uuid FROM invocations WHERE id = ?", (row_id,))
    return str(found[0][0]) if found else None


def decision_json(store: Store, row_id: int) -> str | None:
    """Return the stored decision of an invocation as JSON text."""
    found = store.rows("SELECT decision FROM decisions WHERE invocation_id = ?", (row_id,))
    return str(found[0][0]) if found else None


def counts(store: Store, model: str) -> dict[str, int]:
    """Return lifetime invocation counts of one model by account."""
    rows = store.rows("SELECT account, invocation_count FROM account_counters WHERE model_name = ?", (model,))
    return {str(account): int(count) for account, count in rows}


def recent_failures(store: Store, model: str, since: datetime) -> dict[str, int]:
    """Return failures of one model since an instant, by account.

    What we interrupted ourselves, did not see the end of, or could not pass on is no failure of the account.
    """
    rows = store.rows(
        "SELECT provider_name, COUNT(*) FROM invocations "  # noqa: S608 - a constant, no outside text
        f"WHERE {_FAILURE_WINDOW_COLUMNS} AND COALESCE(terminal_reason, '') NOT LIKE 'interrupted%' "
        "AND COALESCE(terminal_reason, '') NOT IN ('guard_drop', 'stdout_failed', 'stdout_closed') "
        "GROUP BY provider_name",
        (model, to_text(since)),
    )
    return {str(account): int(count) for account, count in rows}


def last_account(store: Store, model: str) -> str | None:
    """Return the account that served this model last."""
    rows = store.rows(
        "SELECT account FROM account_counters WHERE model_name = ? AND last_invoked_at IS NOT NULL "
        "ORDER BY last_invoked_at DESC LIMIT 1",
        (model,),
    )
    return str(rows[0][0]) if rows else None


def _count(store: Store, row: Invocation, outcome: Outcome) -> None:
    error = None if outcome.success else (outcome.error_text or outcome.error_category or "failed")[:_LAST_ERROR_LIMIT]
    finished = to_text(outcome.finished_at)
    store.execute(
        "INSERT INTO account_counters (model_name, account, invocation_count, error_count, last_error, last_error_at,"
        " last_invoked_at) VALUES (?, ?, 1, ?, ?, ?, ?) ON CONFLICT (model_name, account) DO UPDATE SET"
        " invocation_count = invocation_count + 1, error_count = error_count + excluded.error_count,"
        " last_error = COALESCE(excluded.last_error, last_error),"
        " last_error_at = COALESCE(excluded.last_error_at, last_error_at), last_invoked_at = excluded.last_invoked_at",
        (row.model, row.account, int(not outcome.success), error, None if error is None else finished, finished),
    )


def _parent_row(store: Store, parent: tuple[str, str] | None) -> int | None:
    if parent is None:
        return None
    account, uuid = parent
    found = store.rows("SELECT id FROM invocations WHERE invocation_uuid = ? AND provider_name = ?", (uuid, account))
    return int(found[0][0]) if found else None


def _one(store: Store, condition: str, parameters: tuple[object, ...]) -> Invocation | None:
    rows = store.rows(f"SELECT {_COLUMNS} FROM invocations WHERE {condition}", parameters)  # noqa: S608
    return _read(rows[0]) if rows else None


def _read(row: tuple[object, ...]) -> Invocation:
    at = dict(zip(INVOCATION_COLUMNS, row, strict=True))
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
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _int(value: object) -> int | None:
    return value if isinstance(value, int) else None

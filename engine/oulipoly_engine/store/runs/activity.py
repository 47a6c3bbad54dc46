"""What runs at the moment, over all our processes."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.runs.invocations import Invocation
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import JOIN, Query, fn
from oulipoly_engine.store.models.live import LiveRequestRow
from oulipoly_engine.store.models.runs import AccountCounterRow, InvocationRow
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.sessions import chains

# There is no index on the status, and a row stays running for hours at most: the newest rows hold all of them.
_NEWEST = 5000
_LATELY = 500  # runs: enough to see which accounts have worked since they were last read


class Failure(NamedTuple):
    """The last run of an account, where it failed."""

    account: str
    model: str
    category: str | None
    reason: str | None
    text: str | None  # what it said, redacted
    finished_at: datetime
    uuid: str


@compile_query
def _select_last_failures() -> Query:
    row, counter, ended = InvocationRow, AccountCounterRow, InvocationRow.alias()
    last_of_each = (
        ended.select(fn.MAX(ended.id))
        .where(ended.id > _long_ago(), ended.status.in_(("succeeded", "failed")))
        .group_by(ended.provider_name)
    )
    told_then = (
        (counter.model_name == row.model_name)
        & (counter.account == row.provider_name)
        & (counter.last_error_at == row.finished_at)
    )
    return (
        row.select(
            row.provider_name,
            row.model_name,
            row.error_category,
            row.terminal_reason,
            counter.last_error,
            row.finished_at,
            row.invocation_uuid,
        )
        .join(counter, JOIN.LEFT_OUTER, on=told_then)
        .where(
            row.id.in_(last_of_each),
            row.status == "failed",
            row.provider_name.is_null(False),
            row.finished_at.is_null(False),
        )
        .order_by(row.id.desc())
    )


def failures(store: Store) -> tuple[Failure, ...]:
    """Return the last run of each account that failed in it; a success since then ends what was wrong."""
    rows = store.rows(_select_last_failures())
    return tuple(
        Failure(
            account, model, category, reason, text and redact(text), from_text(finished_at), uuid
        )  # older rows are raw
        for account, model, category, reason, text, finished_at, uuid in rows
    )


@compile_query
def _select_last_ends() -> Query:
    row, newest = InvocationRow, InvocationRow.alias()
    lately = newest.select(fn.MAX(newest.id) - _LATELY)
    return (
        row.select(row.provider_name, fn.MAX(row.finished_at))
        .where(row.id > lately, row.provider_name.is_null(False), row.finished_at.is_null(False))
        .group_by(row.provider_name)
    )


def find_last_ends(store: Store) -> dict[str, datetime]:
    """Return when a run of each account last ended, among the newest runs."""
    return {account: from_text(at) for account, at in store.rows(_select_last_ends())}


def has_records(store: Store) -> bool:
    """Tell whether anything was ever recorded: a run or a session."""
    return chains.has_any(store) or bool(store.rows(InvocationRow.select(InvocationRow.id).limit(1)))


@compile_query
def _select_running(limit: Parameter) -> Query:
    row = InvocationRow
    return (
        row.select(row.invocation_uuid)
        .where(row.id > _long_ago(), row.status == "running")
        .order_by(row.id.desc())
        .limit(limit)
    )


def find_running(store: Store, limit: int = 200) -> tuple[Invocation, ...]:
    """Return the invocations that have not ended, newest first.

    A process that was killed leaves its row running: whoever shows these asks whether `owner_pid` lives.
    """
    rows = store.rows(_select_running(limit))
    found = (invocations.find(store, str(uuid)) for (uuid,) in rows)
    return tuple(row for row in found if row is not None)


def _long_ago() -> Query:
    newest = InvocationRow.alias()
    return newest.select(fn.MAX(newest.id) - _NEWEST)


@compile_query
def _select_open_request() -> Query:
    row = LiveRequestRow
    return row.select(row.request_id).where(row.status == "pending").limit(1)


def is_asked(store: Store) -> bool:
    """Tell whether a request of a live session is open; its process may be gone."""
    return bool(store.rows(_select_open_request()))

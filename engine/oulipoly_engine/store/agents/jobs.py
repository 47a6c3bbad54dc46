"""Tools that were run in agents: written before they start, ended once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.agents.agents import JOB, JOB_OPEN, Job
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.base.compiled import compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.base.rows import column_values, name_values
from oulipoly_engine.store.models.live import AgentJobRow

_COLUMNS = AgentJobRow._meta.sorted_fields
_DEFAULT_LIMIT = 100


def insert(store: Store, job: Job) -> None:
    """Write a tool that is about to be run, and that its agent works."""
    columns = column_values(job) | {"arguments": json.dumps(job.arguments, ensure_ascii=False)}
    with store.write():
        store.insert(AgentJobRow, **columns)
        agents.note_work(store, job.agent_id, job.created_at)


def move(store: Store, job_id: str, event: str, now: datetime, **changes: Any) -> bool:  # noqa: ANN401 - columns
    """Apply an event of `JOB` with further changes. Returns whether the job was in a status in which it may come."""
    row = AgentJobRow
    sources = [status for status, each in JOB if each == event]
    target = next(JOB[status, event] for status in sources)
    values = {getattr(row, name): value for name, value in changes.items()}
    values |= {row.status: target, row.begun_at if event == "begin" else row.ended_at: to_text(now)}
    with store.write():
        has_moved = store.run(row.update(values).where(row.job_id == job_id, row.status.in_(sources))) == 1
        if has_moved:
            ((agent_id,),) = store.rows(row.select(row.agent_id).where(row.job_id == job_id))
            agents.note_work(store, agent_id, now)
    return has_moved


def note(store: Store, job_id: str, **changes: Any) -> bool:  # noqa: ANN401 - columns
    """Change fields of a job that runs, not its status. Returns whether it still runs."""
    row = AgentJobRow
    values = {getattr(row, name): value for name, value in changes.items()}
    with store.write():
        return store.run(row.update(values).where(row.job_id == job_id, row.status == "running")) == 1


def claim(store: Store, owner: str, most: int, now: datetime) -> Job | None:
    """Begin the job that has waited longest, and return it; None: none waits, or so many run already."""
    row = AgentJobRow
    with store.write():
        open_jobs = list_open(store)
        waiting = [job for job in open_jobs if job.status == "pending"]
        if not waiting or len(open_jobs) - len(waiting) >= most:
            return None
        move(store, waiting[0].job_id, "begin", now, owner=owner)
        rows = store.rows(row.select(*_COLUMNS).where(row.job_id == waiting[0].job_id))
    return _read(rows[0])


def find(store: Store, identity: str) -> tuple[Job, ...]:
    """Return the jobs whose id begins so; an exact one is the only one. identity: not empty."""
    row = AgentJobRow
    query = row.select(*_COLUMNS).where(row.job_id.startswith(identity)).order_by(row.created_at)
    jobs = tuple(map(_read, store.rows(query)))
    return tuple(job for job in jobs if job.job_id == identity) or jobs


def list_jobs(
    store: Store,
    agent_id: str = "",
    *,
    kind: str = "",
    labels: Mapping[str, str] | None = None,
    limit: int = _DEFAULT_LIMIT,
) -> tuple[Job, ...]:
    """Return the jobs, the newest first; of one agent, of one kind, or those that have all these labels."""
    row = AgentJobRow
    query = row.select(*_COLUMNS).order_by(row.created_at.desc(), row.job_id)
    query = query.where(row.agent_id == agent_id) if agent_id else query
    query = query.where(row.kind == kind) if kind else query
    jobs = map(_read, store.rows(query if labels else query.limit(limit)))
    wanted = (labels or {}).items()
    return tuple(job for job in jobs if wanted <= job.labels.items())[:limit]


@compile_query
def _select_open() -> Query:
    row = AgentJobRow
    return row.select(*_COLUMNS).where(row.status.in_(JOB_OPEN)).order_by(row.created_at)


def list_open(store: Store, agent_ids: Sequence[str] = ()) -> tuple[Job, ...]:
    """Return the jobs that wait or run; of some agents alone, or of all."""
    jobs = map(_read, store.rows(_select_open()))  # they are few
    return tuple(job for job in jobs if not agent_ids or job.agent_id in agent_ids)


def _read(values: tuple[Any, ...]) -> Job:
    at = name_values(_COLUMNS, values)
    lists = {"arguments": tuple(json.loads(at["arguments"])), "labels": json.loads(at["labels"])}
    return Job(**at | lists)

"""Agents: moved from status to status by compare-and-set, each change with a row of history."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.agents import states
from oulipoly_engine.core.agents.agents import Agent, AgentPlan, Change
from oulipoly_engine.core.agents.states import Event, Reason
from oulipoly_engine.core.live.states import TURN_OPEN
from oulipoly_engine.errors import AgentStateInvalid, NameTaken
from oulipoly_engine.records import asdict, prepare
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.base.rows import name_values
from oulipoly_engine.store.models.live import (
    AgentHistoryRow,
    AgentJobRow,
    AgentRow,
    AgentSessionRow,
    LiveSessionRow,
    LiveTurnRow,
)

_COLUMNS = AgentRow._meta.sorted_fields
_ID_DIGITS = 8  # that lists show
_plans = msgspec.json.Decoder(prepare(AgentPlan))


def insert(store: Store, agent: Agent) -> None:
    """Write an agent that is about to be brought up. Raises NameTaken."""
    columns = {name: getattr(agent, name) for name in asdict(agent)}
    columns |= {"plan": msgspec.json.encode(agent.plan).decode()}
    columns |= {name: to_text(columns[name]) for name in ("created_at", "updated_at")}
    with store.write():
        if any(each.name == agent.name for each in find(store, agent.name)):
            raise NameTaken(f"there is an agent {agent.name!r}: choose another name, or `agents agent rm` it first")
        store.insert(AgentRow, **columns)
        _note(store, agent.agent_id, agent.updated_at, Change(agent.updated_at, agent.status))


def move(
    store: Store, agent_id: str, event: Event, now: datetime, *, reason: Reason = "", detail: str = "", owner: str = ""
) -> Agent:
    """Apply an event, and return the agent as it is then. owner: who goes on with it, as a process's mark.

    Raises AgentStateInvalid where the event cannot come; so only one of several processes starts an agent.
    """
    row = AgentRow
    with store.write():
        agent = read(store, agent_id)
        if agent is None:
            raise AgentStateInvalid("the agent is removed: `agents agent run` makes another one")
        standing = states.advance(agent.standing, event, reason)
        problem = detail if standing.status == "failed" else ""
        changes = {row.status: standing.status, row.reason: standing.reason, row.problem: problem}
        changes |= {row.owner: owner, row.updated_at: to_text(now)}
        store.run(row.update(changes).where(row.agent_id == agent_id))
        _note(store, agent_id, now, Change(now, standing.status, standing.reason, detail))
        changed = read(store, agent_id)
    assert changed is not None  # noqa: S101 - it was there, and this is one transaction
    return changed


def change_plan(store: Store, agent_id: str, plan: AgentPlan, digest: str = "") -> None:
    """Keep what an agent is made of, once its image was read."""
    row = AgentRow
    changes = {row.plan: msgspec.json.encode(plan).decode(), row.digest: digest}
    with store.write():
        store.run(row.update(changes).where(row.agent_id == agent_id))


def change_owner(store: Store, agent_id: str, owner: str) -> None:
    """Say which process goes on with an agent, by its mark; empty: none does."""
    with store.write():
        store.run(AgentRow.update({AgentRow.owner: owner}).where(AgentRow.agent_id == agent_id))


def take_over(store: Store, agent_id: str, owner: str, successor: str) -> bool:
    """Have one process go on with what another did. owner: that other's mark. Returns whether nobody was first."""
    row = AgentRow
    with store.write():
        mine = row.update({row.owner: successor}).where(row.agent_id == agent_id, row.owner == owner)
        return store.run(mine) == 1


def change_isolation(store: Store, agent_id: str, isolation: str) -> None:
    """Keep which isolation was chosen for an agent."""
    with store.write():
        store.run(AgentRow.update({AgentRow.isolation: isolation}).where(AgentRow.agent_id == agent_id))


@compile_query
def _select(agent_id: Parameter) -> Query:
    return AgentRow.select(*_COLUMNS).where(AgentRow.agent_id == agent_id)


def read(store: Store, agent_id: str) -> Agent | None:
    """Return the agent of an id."""
    rows = store.rows(_select(agent_id))
    return _read(rows[0]) if rows else None


def find(store: Store, identity: str) -> tuple[Agent, ...]:
    """Return the agents whose name is this, else those whose id begins so. Removed ones are not there.

    identity: of an id eight characters at least: a slip in a short name would be the beginning of somebody's id.
    """
    row = AgentRow
    is_there = row.status != "removed"
    is_meant = row.name == identity
    if len(identity) >= _ID_DIGITS:
        is_meant |= row.agent_id.startswith(identity)
    query = row.select(*_COLUMNS).where(is_there, is_meant)
    agents = tuple(map(_read, store.rows(query)))
    return tuple(agent for agent in agents if agent.name == identity) or agents


@compile_query
def _select_other_than(status: Parameter) -> Query:
    row = AgentRow
    return row.select(*_COLUMNS).where(row.status != status).order_by(row.created_at, row.agent_id)


def list_agents(store: Store, *, has_removed: bool = False) -> tuple[Agent, ...]:
    """Return the agents, oldest first."""
    return tuple(map(_read, store.rows(_select_other_than("" if has_removed else "removed"))))


def read_history(store: Store, agent_id: str, limit: int = 50) -> tuple[Change, ...]:
    """Return the last changes of an agent's status, oldest first."""
    row = AgentHistoryRow
    columns = (row.at, row.status, row.reason, row.detail)
    query = row.select(*columns).where(row.agent_id == agent_id).order_by(row.id.desc()).limit(limit)
    changes = [Change(from_text(at), *values) for at, *values in store.rows(query)]
    return tuple(reversed(changes))


# Work ----------------------------------------------------------------------------------------------------------------
def note_work(store: Store, agent_id: str, now: datetime) -> None:
    """Have an agent that is up count as working while a turn or a tool of it is open, and as ready else.

    Whoever opens or closes such calls it in the same transaction: the history has each change, whoever looks or not.
    """
    job = AgentJobRow
    with store.write():
        agent = read(store, agent_id)
        if agent is None or not agent.is_ready:
            return
        running = job.select(job.job_id).where(job.agent_id == agent_id, job.status == "running").limit(1)
        is_busy = any(each == agent_id for each, _ in list_open_turns(store)) or bool(store.rows(running))
        if is_busy != (agent.status == "working"):
            move(store, agent_id, "work" if is_busy else "rest", now, owner=agent.owner)


def _note(store: Store, agent_id: str, now: datetime, change: Change) -> None:
    store.insert(
        AgentHistoryRow,
        agent_id=agent_id,
        at=to_text(now),
        status=change.status,
        reason=change.reason,
        detail=change.detail,
    )


# Sessions ------------------------------------------------------------------------------------------------------------
def add_session(store: Store, agent_id: str, session_id: str, now: datetime, prompted_by: str = "") -> None:
    """Note that a session is an agent's, before it begins. prompted_by: another one's that waits for it."""
    fields = {"session_id": session_id, "agent_id": agent_id, "prompted_by": prompted_by}
    with store.write():
        store.insert(AgentSessionRow, **fields, created_at=to_text(now))


def drop_session(store: Store, session_id: str) -> None:
    """Forget a session that did not begin."""
    with store.write():
        store.run(AgentSessionRow.delete().where(AgentSessionRow.session_id == session_id))


def find_of_session(store: Store, session_id: str) -> Agent | None:
    """Return the agent whose session this is; None: it is nobody's."""
    row = AgentRow
    session = AgentSessionRow
    of_session = session.select(session.agent_id).where(session.session_id == session_id)
    rows = store.rows(row.select(*_COLUMNS).where(row.agent_id.in_(of_session)))
    return _read(rows[0]) if rows else None


def find_prompter(store: Store, session_id: str) -> str:
    """Return the session of an agent that has begun a session by a prompt; empty: none has."""
    row = AgentSessionRow
    rows = store.rows(row.select(row.prompted_by).where(row.session_id == session_id))
    return str(rows[0][0]) if rows else ""


def list_waiting(store: Store, session_id: str) -> tuple[str, ...]:
    """Return the ids of the agents that wait for one another in a session, the first prompt's last."""
    row = AgentSessionRow
    waiting: list[str] = []
    while session_id:
        rows = store.rows(row.select(row.agent_id, row.prompted_by).where(row.session_id == session_id))
        session_id = ""
        for agent_id, prompted_by in rows:  # one, or none where the session is no agent's
            waiting.append(agent_id)
            session_id = prompted_by
    return tuple(waiting)


def list_sessions(store: Store, agent_id: str) -> tuple[str, ...]:
    """Return the ids of an agent's sessions, the newest first."""
    row = AgentSessionRow
    query = row.select(row.session_id).where(row.agent_id == agent_id).order_by(row.created_at.desc())
    return tuple(session_id for (session_id,) in store.rows(query))


@compile_query
def _select_accounts() -> Query:
    row = LiveSessionRow
    session = AgentSessionRow
    query = session.select(session.agent_id, row.account, row.runtime_id)
    return query.join(row, on=row.session_id == session.session_id).order_by(session.created_at)


def list_accounts(store: Store) -> dict[str, str]:
    """Return by agent what its newest session is on: an account, or a runtime that has none."""
    return {agent_id: account or runtime for agent_id, account, runtime in store.rows(_select_accounts())}


@compile_query
def _select_open_turns() -> Query:
    row = LiveTurnRow
    session = AgentSessionRow
    query = session.select(session.agent_id, session.session_id).join(row, on=row.session_id == session.session_id)
    return query.where(row.status.in_(TURN_OPEN))


def list_open_turns(store: Store) -> tuple[tuple[str, str], ...]:
    """Return agent and session of each turn that is under way."""
    return tuple((agent_id, session_id) for agent_id, session_id in store.rows(_select_open_turns()))


def _read(values: tuple[Any, ...]) -> Agent:
    at = name_values(_COLUMNS, values)
    return Agent(**at | {"plan": _plans.decode(at["plan"])})

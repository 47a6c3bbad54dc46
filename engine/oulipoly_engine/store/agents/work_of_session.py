"""What a session does is its agent's work, where it is an agent's: few are, and the rest load nothing of agents."""

from __future__ import annotations

from datetime import datetime

from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.models.live import AgentSessionRow


@compile_query
def _select_agent_of(session_id: Parameter) -> Query:
    return AgentSessionRow.select(AgentSessionRow.agent_id).where(AgentSessionRow.session_id == session_id)


def note_work_of_session(store: Store, session_id: str, now: datetime) -> None:
    """Do as `agents.note_work` for the agent whose session this is, if it is an agent's."""
    for (agent_id,) in store.rows(_select_agent_of(session_id)):
        from oulipoly_engine.store.agents.agents import note_work  # noqa: PLC0415 - each live session would load it

        note_work(store, agent_id, now)

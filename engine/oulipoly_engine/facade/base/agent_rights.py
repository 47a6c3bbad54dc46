"""What a process that an agent has started may do with running agents and their sessions; a person may do all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.agents.capabilities import MAY, Caller
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade.base.own_process import is_person, parent_invocation
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.core.agents.agents import Agent
    from oulipoly_engine.facade.base.home import Home

# ruff: noqa: PLC0415 - live sessions and their store take 60 ms, and a person is asked for none of it

_DEEPEST = 32  # runs that have started one another


class Asker(Record):
    """An agent one of whose sessions has started us."""

    agent: Agent
    session_id: str


def find_asker(home: Home) -> Asker | None:
    """Return the agent that has started us, perhaps by a run of its own; None: none has."""
    from oulipoly_engine.service.live import hosts
    from oulipoly_engine.store.agents import agents
    from oulipoly_engine.store.runs import invocations

    parent = parent_invocation()
    if parent is None:
        return None
    sessions = {host.invocation: host.session_id for host in hosts.survey(home.paths)}
    uuid = parent.id
    with home.lend_store_to_read() as store:
        for _ in range(_DEEPEST):
            session_id = sessions.get(uuid, "")
            agent = agents.find_of_session(store, session_id)
            if agent is not None:
                return Asker(agent, session_id)
            run = invocations.find(store, uuid)
            if run is None or run.parent_row_id is None:
                return None
            uuid = invocations.uuid_of(store, run.parent_row_id) or ""
    return None


def require_right(home: Home, command: str, agent: Agent | None = None) -> str:
    """Return the session of the agent that has started us, empty for a person. command: of the table, with an agent.

    Raises RequestRefused where whoever has started us may not do it, with what a person would do.
    """
    if is_person():
        return ""
    asker = find_asker(home)
    caller = _find_caller(home, asker, agent)
    if asker is not None and caller in MAY[command]:
        return asker.session_id
    raise RequestRefused(_explain(command, asker, agent))


def require_right_to_session(home: Home, session_id: str, *, answers: bool = False, is_run: bool = False) -> None:
    """Refuse orders to a running agent's session to all but that session and the one that has begun it by a prompt.

    answers: what the session asks is answered, which a person alone does. is_run: a run asks another process of ours,
    which cannot tell whose it is. Sessions that are no agent's are open to what any run has started. Raises
    RequestRefused.
    """
    if is_person() and not is_run:
        return
    from oulipoly_engine.store.agents import agents

    with home.lend_store_to_read() as store:
        agent = agents.find_of_session(store, session_id)
        prompter = agents.find_prompter(store, session_id)
    if agent is None:
        return
    if answers:
        raise RequestRefused(
            f"an agent may not answer what the agent {agent.name} asks: a person does, with `agents requests list` and "
            "`agents requests approve` in a terminal of their own"
        )
    asker = None if is_run else find_asker(home)
    if asker is None or asker.session_id not in (session_id, prompter):
        raise RequestRefused(
            f"an agent may not talk to a session of the agent {agent.name}, nor change it: a person does, with "
            f"`agents agent chat {agent.name} --session {session_id[:8]}` in a terminal of their own"
        )


def _find_caller(home: Home, asker: Asker | None, agent: Agent | None) -> Caller:
    if asker is None or agent is None:
        return Caller.OTHER
    if asker.agent.agent_id == agent.agent_id:
        return Caller.ITSELF
    from oulipoly_engine.store.agents import together

    with home.lend_store_to_read() as store:
        targets = together.list_targets(store, asker.agent.agent_id)
    may_prompt = agent.agent_id in targets and "agent-prompt" in asker.agent.plan.capabilities
    return Caller.LINKED if may_prompt else Caller.OTHER


def _explain(command: str, asker: Asker | None, agent: Agent | None) -> str:
    from oulipoly_engine.core.commands.table import find

    act = find(command).summary.partition(":")[0]
    words = command if agent is None else f"{command} {agent.name}"
    sentence = f"an agent may not {act}: a person does, with `agents {words}` in a terminal of their own"
    if command == "agent prompt" and asker is not None and agent is not None and asker.agent != agent:
        name = asker.agent.name
        sentence += f"; or a person lets {name} do it: `agents agent link {name} {agent.name}`"
    return sentence

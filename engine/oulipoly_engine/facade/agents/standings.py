"""The running agents as lists show them, and what killed processes have left of them, which each list settles.

Lists load nothing of live sessions and of images: a part of either waits for the agent that needs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.agents.containers import CONTAINER
from oulipoly_engine.core.agents.states import RUNNING, Event, Reason
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.images.refusals import AgentfileInvalid, ImageNotFound, ImageRefused, SignatureRefused
from oulipoly_engine.errors import (
    AccountUnusable,
    AgentFailed,
    AgentFileInvalid,
    AgentNotFound,
    AgentStateInvalid,
    IsolationUnavailable,
    ProgramMissing,
    RequestRefused,
    RunnerError,
    SpawnFailed,
    StoreNotWritable,
    TooManyAgents,
)
from oulipoly_engine.facade.base.home import Part, find_only
from oulipoly_engine.process.liveness import has_ended_mark, own_mark
from oulipoly_engine.records import Record
from oulipoly_engine.service.agents.log import find_log
from oulipoly_engine.store.agents import agents, jobs
from oulipoly_engine.store.base.db import Store

if TYPE_CHECKING:
    from oulipoly_engine.facade.agents.serving import Serving
    from oulipoly_engine.facade.live.sessions import LiveSessions
    from oulipoly_engine.service.agents.supervisor import SupervisorOrder

# ruff: noqa: PLC0415 - live sessions take 150 ms, tools and logins 60 ms, the redactor 8 ms: most lists need none

UNHELD_WITHOUT_BOX = ("every path, process and address of its user is reached",)
_SERVED = ("starting", "ready", "working")  # when accounts serve an agent
_REASONS: tuple[tuple[type[RunnerError], Reason], ...] = (
    (ImageNotFound, "pull"),
    (SignatureRefused, "pull"),
    (ImageRefused, "config"),
    (AgentfileInvalid, "config"),
    (AgentFileInvalid, "config"),
    (AccountUnusable, "model"),
    (ProgramMissing, "model"),
)


class AgentStanding(Record):
    """An agent and how it stands."""

    agent: Agent
    in_flight: int = 0  # turns and tools that run
    account: str = ""  # of its newest session; empty: it has none
    logins: Mapping[str, str] = {}  # by account that can serve it: why its login is within reach; empty: it is not

    @property
    def status(self) -> str:
        """Return its status, which says working also where nobody has written that down yet."""
        if self.agent.status == "ready" and self.in_flight:
            return "working"
        return self.agent.status


class AgentList(Part):
    """The running agents of one user, to be looked at."""

    # Finding ---------------------------------------------------------------------------------------------------------
    def list(self, *, has_removed: bool = False, has_logins: bool = False) -> tuple[AgentStanding, ...]:
        """Return the agents, oldest first, once what killed processes have left is settled.

        has_logins: tell also which logins each reaches; the files of those logins are read for that.
        """
        with self._home.lend_store_to_read() as store:
            self._home.write_along(store, lambda: self._settle(store), None)
            listed = agents.list_agents(store, has_removed=has_removed)
            in_flight = self._count_in_flight(store)
            accounts = agents.list_accounts(store)
        logins = self._read_logins(listed) if has_logins else {}
        return tuple(
            AgentStanding(agent, in_flight[key], accounts.get(key, ""), logins.get(key, {}))
            for agent, key in ((agent, agent.agent_id) for agent in listed)
        )

    def logins(self, agent: Agent) -> Mapping[str, str]:
        """Return why the login of each account that can serve an agent is within its reach; empty: it is not."""
        return self._read_logins((agent,)).get(agent.agent_id, {})

    def _read_logins(self, listed: Sequence[Agent]) -> Mapping[str, Mapping[str, str]]:
        """Return the logins of each agent that runs on accounts, by its id."""
        served = [agent for agent in listed if not agent.has_own_runtime and agent.status in _SERVED]
        if not served:
            return {}
        serving = self._serving()
        return {agent.agent_id: serving.logins(agent) for agent in served}

    def _serving(self) -> Serving:
        """Return what can serve agents now."""
        from oulipoly_engine.facade.agents.serving import Serving

        return Serving(self._home)

    def _live(self) -> LiveSessions:
        """Return the live sessions, those of agents among them."""
        from oulipoly_engine.facade.live.sessions import LiveSessions

        return LiveSessions(self._home)

    def find(self, identity: str) -> Agent:
        """Return the agent of a name, or whose id begins so. Raises AgentNotFound, IdAmbiguous."""
        with self._home.lend_store_to_read() as store:
            matches = agents.find(store, identity) if identity else ()
        none = f"there is no agent {identity[:80]!r}: `agents agent ps` lists them"
        return find_only(matches, lambda agent: agent.agent_id, identity, "agents", AgentNotFound(none))

    def root(self, agent: Agent) -> Path:
        """Return the root of an agent's tree."""
        return self._home.paths.running_agents / agent.agent_id

    def log(self, agent: Agent) -> Path:
        """Return an agent's log."""
        return find_log(self.root(agent))

    def _refuse_too_many(self, store: Store) -> None:
        """Raise TooManyAgents where more agents are up than may be. Called in the transaction that brings up one more.

        An agent counts whose own runtime has failed and is going to be started again; one whose process was killed does
        not.
        """
        most = self._home.files.settings().agent_max_running
        owned = (agent for agent in agents.list_agents(store) if not (agent.owner and has_ended_mark(agent.owner)))
        count = sum(agent.status in RUNNING or (agent.status == "failed" and agent.owner != "") for agent in owned)
        if most and count > most:
            raise TooManyAgents(
                f"as many agents are up as may be at once (`agent_max_running` is {most}): stop one with `agents agent "
                "stop NAME`, or raise that in config.toml"
            )

    def _fail(self, store: Store, agent: Agent, error: RunnerError) -> None:
        from oulipoly_engine.core.text.redact import redact

        reason: Reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), "init")
        self._write_log(agent, f"failed: {error.message}")
        with suppress(AgentStateInvalid):
            agents.move(store, agent.agent_id, "fail", self._home.now(), reason=reason, detail=redact(error.message))

    def _write_log(self, agent: Agent, text: str) -> None:
        """Append a line to an agent's log; a full disk hinders nothing."""
        from oulipoly_engine.service.agents.log import write_line

        write_line(self.log(agent), text, self._home.now())

    def _end_work(self, store: Store, agent: Agent) -> None:
        """End the processes of an agent's sessions, and its tools. Raises RequestRefused where one does not end."""
        from oulipoly_engine.core.live import orders
        from oulipoly_engine.host.link import HostGone, HostUnreachable
        from oulipoly_engine.service.agents import tools
        from oulipoly_engine.service.live import hosts

        for job in jobs.list_open(store, (agent.agent_id,)):
            with suppress(StoreNotWritable):  # who lists it next writes that down
                jobs.move(store, job.job_id, "cancel", self._home.now(), problem="the agent was stopped")
            tools.end_process(job)
        self._clear_containers(agent)
        living = {host.session_id for host in hosts.survey(self._home.paths)}
        mine = [session for session in agents.list_sessions(store, agent.agent_id) if session in living]
        live = self._live()
        for session_id in mine:
            with suppress(HostUnreachable, HostGone, RunnerError):
                live.order(session_id, orders.Cancel(), starts=False)
        for session_id in mine:
            if not hosts.wait_for_end(self._home.paths, session_id):
                raise RequestRefused(f"the process of its session {session_id} does not end: try it again")

    def _end_group(self, agent: Agent) -> None:
        """End what an agent has hidden in sessions of its own, as far as its control group tells."""
        if agent.plan.group:
            from oulipoly_engine.process.boxes.groups import end_group

            end_group(agent.plan.group)

    def _finish_removal(self, store: Store, agent: Agent) -> Agent:
        from oulipoly_engine.service.agents.tree import remove_tree
        from oulipoly_engine.store.agents import together

        together.forget(store, agent.agent_id, self._home.now())  # first: what it may do ends at once
        self._end_work(store, agent)
        self._end_group(agent)
        remove_tree(self.root(agent))
        self.log(agent).unlink(missing_ok=True)
        with store.write():
            together.forget(store, agent.agent_id, self._home.now())  # what a call under way has written meanwhile
            return agents.move(store, agent.agent_id, "clean_up", self._home.now())

    # Settling --------------------------------------------------------------------------------------------------------
    def _settle(self, store: Store) -> None:
        """Take up what killed processes have left, and note who works and who rests."""
        for job in jobs.list_open(store):
            if job.status == "running" and job.owner and has_ended_mark(job.owner):
                from oulipoly_engine.service.agents.tools import end_process

                jobs.move(store, job.job_id, "orphan", self._home.now(), problem="the process that ran it was killed")
                end_process(job)
                agent = agents.read(store, job.agent_id)
                if agent is not None:
                    self._clear_containers(agent, job.job_id)
        in_flight = self._count_in_flight(store)
        for agent in agents.list_agents(store):
            if agent.owner and has_ended_mark(agent.owner):
                self._settle_left(store, agent)
            elif agent.status == "ready" and in_flight[agent.agent_id]:
                agents.note_work(store, agent.agent_id, self._home.now())
            elif agent.status == "working" and not in_flight[agent.agent_id]:
                with store.write():  # a tool or a turn may have begun since they were counted
                    if not self._count_in_flight(store)[agent.agent_id]:
                        self._move_along(store, agent, "rest")

    def _settle_left(self, store: Store, agent: Agent) -> None:
        """Settle an agent whose process was killed between two steps."""
        if agent.status == "removing":
            with suppress(RunnerError):  # it stays so, and the next one tries again
                self._finish_removal(store, agent)
        elif agent.is_ready and agent.isolation == CONTAINER and agent.has_own_runtime:
            if agents.take_over(store, agent.agent_id, agent.owner, own_mark()):  # its container may run on
                from oulipoly_engine.service.agents.supervisor import start_supervisor

                self._write_log(agent, "the process that held its container was killed: another one takes it up")
                with suppress(SpawnFailed):  # then we are gone soon, and the next command tries again
                    start_supervisor(self._supervisor_order(agent))
        elif agent.is_ready:
            why = "the process that owned its runtime was killed"
            self._write_log(agent, f"failed: {why}")
            with suppress(AgentStateInvalid):
                agents.move(store, agent.agent_id, "crash", self._home.now(), detail=why)
        elif agent.status in RUNNING:
            self._fail(store, agent, AgentFailed("the process that brought it up was killed"))

    def _supervisor_order(self, agent: Agent) -> SupervisorOrder:
        from oulipoly_engine.service.agents.supervisor import SupervisorOrder

        folder = str(self._home.paths.running_agents)
        return SupervisorOrder(str(self._home.paths.state_db), folder, str(self.log(agent)), agent.agent_id)

    def _clear_containers(self, agent: Agent, job_id: str = "") -> None:
        """Remove the containers of an agent that does not run, or of a tool whose holder is gone."""
        if agent.isolation != CONTAINER or not agent.plan.container.host:
            return
        from oulipoly_engine.executors.docker_api import connect, remove_left

        try:
            with closing(connect(agent.plan.container.host)) as client:
                remove_left(client, agent.agent_id, job_id)
        except (IsolationUnavailable, OSError) as error:  # they are looked for again at the next start
            self._write_log(agent, f"its containers were not looked for: {error}")

    def _move_along(self, store: Store, agent: Agent, event: Event) -> None:
        with suppress(AgentStateInvalid):  # another process was first
            agents.move(store, agent.agent_id, event, self._home.now(), owner=agent.owner)

    def _count_in_flight(self, store: Store) -> Counter[str]:
        """Return how many turns and tools run, by the ids of their agents."""
        count = Counter(job.agent_id for job in jobs.list_open(store) if job.status == "running")
        open_turns = agents.list_open_turns(store)
        if open_turns:
            from oulipoly_engine.service.live import hosts

            living = {host.session_id for host in hosts.survey(self._home.paths)}
            count.update(agent_id for agent_id, session_id in open_turns if session_id in living)
        return count


def list_logins_in_reach(level: str, logins: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each login that an agent reaches; of one that nothing holds, that it reaches all.

    A sealed agent reaches none: an account whose login cannot be kept on the host is refused to it.
    """
    if level == Level.NONE:
        return UNHELD_WITHOUT_BOX
    if level == Level.SEALED:
        return ()
    return tuple(
        f"the login of {account} is seen and used by its CLI, and by what that runs: {reason}"
        for account, reason in logins.items()
        if reason
    )

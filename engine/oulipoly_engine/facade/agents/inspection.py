"""All that is known of a running agent, and what its box or its containers hold, measured from inside."""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.core.agents.agents import Agent, Change, Job
from oulipoly_engine.core.agents.containers import CONTAINER
from oulipoly_engine.core.agents.texts import AgentView
from oulipoly_engine.core.boxes.box import Level, Network, list_unheld
from oulipoly_engine.core.boxes.report import IsolationReport
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.agents.standings import UNHELD_WITHOUT_BOX, AgentList, AgentStanding, list_logins_in_reach
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.agents.start import (
    cli_bin_dirs,
    container_bin_dirs,
    find_skipped,
    runtime_start,
    tool_start,
)
from oulipoly_engine.service.agents.tree import view_agent
from oulipoly_engine.store.agents import agents, jobs

# ruff: noqa: PLC0415 - logins and boxes take 40 ms each, containers 10: an agent that nothing holds needs none

_NETWORK_IS_SEEN = ("its program, and what that runs, reach the network as this machine does",)


class AgentDetails(Record):
    """All that is known of an agent."""

    standing: AgentStanding
    history: tuple[Change, ...]
    sessions: tuple[str, ...]
    view: AgentView
    unheld: tuple[str, ...]  # what its isolation does not hold, a sentence each
    skipped: tuple[str, ...]  # variables that were not its image's or the user's to set
    jobs: tuple[Job, ...]  # the last ones
    report: IsolationReport | None = None  # measured from inside; None: nothing holds it, or it does not run


class AgentInspection(AgentList):
    """The running agents of one user, to be looked into."""

    def inspect(self, identity: str) -> AgentDetails:
        """Return all that is known of an agent. Raises AgentNotFound."""
        agent_id = self.find(identity).agent_id
        standing = next(each for each in self.list() if each.agent.agent_id == agent_id)
        agent = standing.agent
        standing = replace(standing, logins=self.logins(agent))
        root = self.root(agent)
        with self._home.lend_store_to_read() as store:
            history = agents.read_history(store, agent_id)
            sessions = agents.list_sessions(store, agent_id)
            recent = jobs.list_jobs(store, agent_id, limit=20)
        view = view_agent(root, agent, self._bin_dirs(agent))
        unheld, report = self._measure(agent) if agent.isolation else ((), None)
        skipped = find_skipped(root, agent)
        return AgentDetails(standing, history, sessions, view, unheld, skipped, recent, report)

    def _measure(self, agent: Agent) -> tuple[tuple[str, ...], IsolationReport | None]:
        """Return what an agent's isolation does not hold, and what was measured from inside; None: nothing was."""
        root = self.root(agent)
        if agent.isolation == CONTAINER:
            return self._measure_container(agent)
        start = tool_start(root, agent)
        if start.box is None:
            return UNHELD_WITHOUT_BOX, None
        unheld = list_unheld(start.box, is_root=os.getuid() == 0)
        if agent.isolation == Level.NONE:
            return unheld, None
        unheld = (*unheld, *list_logins_in_reach(agent.isolation, self.logins(agent)))
        if not agent.is_ready or self._home.read_only:
            return unheld, None
        from tempfile import TemporaryDirectory

        from oulipoly_engine.service.agents.logins import reach_addresses, serve_box, start_cli
        from oulipoly_engine.service.isolation import measure_box

        folder = self._home.paths.running_agents
        try:
            if agent.has_own_runtime:
                with reach_addresses(runtime_start(root, agent), agent, root) as start:
                    assert start.box is not None  # noqa: S101 - the level is the agent's, as above
                    report = measure_box(start.box, start.environment, self._home.paths.home, folder)
                return self._add_network(unheld, report), report
            serving = self._serving()
            chosen = serving.choose_account(serving.choose_runtime(agent))
            cli = start_cli(root, agent, chosen, self._home.clock)
            assert cli.start.box is not None  # noqa: S101 - the level is the agent's, as above
            with TemporaryDirectory(prefix="agents-") as place:
                path = Path(place, "proxy")
                with serve_box(cli.start.box, path, cli.login, self._home.clock) as (box, _, _):
                    report = measure_box(box, cli.environment, self._home.paths.home, folder)
        except RunnerError as error:
            return (*unheld, f"it could not be measured: {error.message}"), None
        return self._add_network(unheld, report), report

    def _add_network(self, unheld: tuple[str, ...], report: IsolationReport) -> tuple[str, ...]:
        return unheld if report.network is Network.PROXY else (*unheld, *_NETWORK_IS_SEEN)

    def _measure_container(self, agent: Agent) -> tuple[tuple[str, ...], IsolationReport | None]:
        from oulipoly_engine.service.agents.containers import UNHELD_IN_CONTAINERS, measure_container

        unheld = (*UNHELD_IN_CONTAINERS, *list_logins_in_reach(CONTAINER, self.logins(agent)))
        if not agent.is_ready or self._home.read_only:
            return unheld, None
        try:
            runtime = None if agent.has_own_runtime else self._serving().choose_runtime(agent)
            return unheld, measure_container(self.root(agent), agent, runtime, self._home.paths.home)
        except RunnerError as error:
            return (*unheld, f"it could not be measured: {error.message}"), None

    def _find_runtimes(self, agent: Agent) -> tuple[Runtime, ...]:
        """Return the runtimes that can serve an agent. Raises AccountUnusable, which says why none can."""
        return self._serving().find_runtimes(agent)

    def _bin_dirs(self, agent: Agent) -> tuple[str, ...]:
        if agent.isolation == CONTAINER:
            return container_bin_dirs(agent)
        return cli_bin_dirs(self.root(agent), "")

"""The door to the engine: it puts the parts of the facade together and holds what lives as long as a face does.

Queries give values, commands give results, events go out. Every method may be called from any thread; all but
`follow` and `close` block, so a screen calls them from a worker. Each part is loaded when it is asked for.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.events import Listeners
from oulipoly_engine.facade.base.home import Home, Surroundings, made_once

if TYPE_CHECKING:
    from oulipoly_engine.facade.accounts.setup import AccountSetup
    from oulipoly_engine.facade.agents.agents import Agents
    from oulipoly_engine.facade.agents.sessions import AgentSessions
    from oulipoly_engine.facade.agents.standings import AgentList
    from oulipoly_engine.facade.agents.together import Together
    from oulipoly_engine.facade.agents.tools import AgentTools
    from oulipoly_engine.facade.artifacts import Artifacts
    from oulipoly_engine.facade.checks import Checks
    from oulipoly_engine.facade.configuration import Configuration
    from oulipoly_engine.facade.extensions.extensions import Extensions
    from oulipoly_engine.facade.extensions.serving import Serving
    from oulipoly_engine.facade.images.images import Images
    from oulipoly_engine.facade.images.registry import Registry
    from oulipoly_engine.facade.images.transfer import Transfer
    from oulipoly_engine.facade.live.runtimes import Runtimes
    from oulipoly_engine.facade.live.sessions import LiveSessions
    from oulipoly_engine.facade.live.slash import SlashCommands
    from oulipoly_engine.facade.packages.packages import Packages
    from oulipoly_engine.facade.quota.accounts import Accounts
    from oulipoly_engine.facade.quota.ledger import Ledger
    from oulipoly_engine.facade.quota.pools import Pools
    from oulipoly_engine.facade.quota.quota import Quota
    from oulipoly_engine.facade.recovery import Recovery
    from oulipoly_engine.facade.runs.background import BackgroundRuns
    from oulipoly_engine.facade.runs.interactive import Interactive
    from oulipoly_engine.facade.runs.one_shots import OneShots
    from oulipoly_engine.facade.runs.orphans import Orphans
    from oulipoly_engine.facade.runs.trace import Trace
    from oulipoly_engine.facade.sessions.sessions import Sessions
    from oulipoly_engine.facade.setup.agent import SetupAgent
    from oulipoly_engine.facade.setup.sync import SetupSync
    from oulipoly_engine.facade.snapshot import Snapshot, SnapshotMaker
    from oulipoly_engine.facade.state_file import StateFile
    from oulipoly_engine.facade.telemetry import TelemetryRecords
    from oulipoly_engine.facade.terminals.command_log import CommandLog
    from oulipoly_engine.facade.terminals.new_terminals import NewTerminals
    from oulipoly_engine.facade.terminals.programs import Programs
    from oulipoly_engine.facade.terminals.terminals import Terminals
    from oulipoly_engine.facade.web.access import WebAccess
    from oulipoly_engine.facade.web.grants import Grants
    from oulipoly_engine.facade.worktrees.changes import Changes
    from oulipoly_engine.facade.worktrees.retention import Retention
    from oulipoly_engine.facade.worktrees.turn_files import TurnFiles
    from oulipoly_engine.facade.worktrees.work import WorkSessions
    from oulipoly_engine.facade.worktrees.worktrees import Worktrees
    from oulipoly_engine.paths import Paths
    from oulipoly_engine.service.following.late import LateFollower
    from oulipoly_engine.service.following.watch import Watch

# ruff: noqa: PLC0415 - a one-shot must not wait for what only the app asks, nor the first frame for what comes later

__all__ = ["Surroundings"]


class Engine:
    """One user's accounts, pools, sessions, terminals and records."""

    def __init__(self, surroundings: Surroundings | None = None, listeners: Listeners | None = None) -> None:
        self.surroundings = surroundings or Surroundings()
        self.listeners = listeners or Listeners(failed=lambda _error: None)
        self._home = Home(self.surroundings, self.listeners)
        self.making = threading.RLock()  # a part, for a moment: whoever asks first may be the app's own thread
        self._taking = threading.Lock()  # a snapshot, which may wait for the state file
        self._watch: Watch | None = None
        self._follower: LateFollower | None = None
        marks = (self.paths.configuration_journal, self.paths.removed_homes)
        if not self.surroundings.read_only and any(map(os.path.lexists, marks)):
            self.recovery.settle_accounts()

    @property
    def paths(self) -> Paths:
        """Return the user's folders."""
        return self.surroundings.paths

    @made_once
    def recovery(self) -> Recovery:
        """Return what settles what killed processes have left."""
        from oulipoly_engine.facade.recovery import Recovery

        return Recovery(self._home, self.account_setup)

    @made_once
    def accounts(self) -> Accounts:
        """Return what is asked and ordered about accounts."""
        from oulipoly_engine.facade.quota.accounts import Accounts

        return Accounts(self._home)

    @made_once
    def account_setup(self) -> AccountSetup:
        """Return what is asked and ordered about accounts as part of the configuration."""
        from oulipoly_engine.facade.accounts.setup import AccountSetup

        return AccountSetup(self._home)

    @made_once
    def setup_agent(self) -> SetupAgent:
        """Return the set-up agent."""
        from oulipoly_engine.facade.setup.agent import SetupAgent

        return SetupAgent(self._home, self.one_shots, self.account_setup)

    @made_once
    def setup_sync(self) -> SetupSync:
        """Return what is asked and ordered about skills and MCP servers, and about the set-up agent's memory."""
        from oulipoly_engine.facade.setup.sync import SetupSync

        return SetupSync(self._home)

    @made_once
    def together(self) -> Together:
        """Return links, notes and tokens of running agents."""
        from oulipoly_engine.facade.agents.together import Together

        return Together(self._home)

    @made_once
    def agent_list(self) -> AgentList:
        """Return the running agents for whoever only lists them."""
        from oulipoly_engine.facade.agents.standings import AgentList

        return AgentList(self._home)

    @made_once
    def agent_life(self) -> Agents:
        """Return the running agents for whoever only brings them up or ends them."""
        from oulipoly_engine.facade.agents.agents import Agents

        return Agents(self._home)

    @made_once
    def agents(self) -> AgentSessions:
        """Return what is asked and ordered about running agents."""
        from oulipoly_engine.facade.agents.sessions import AgentSessions

        return AgentSessions(self._home)

    @made_once
    def artifacts(self) -> Artifacts:
        """Return what is asked and ordered about artifacts."""
        from oulipoly_engine.facade.artifacts import Artifacts

        return Artifacts(self._home)

    @made_once
    def packages(self) -> Packages:
        """Return what is asked and ordered about packages."""
        from oulipoly_engine.facade.packages.packages import Packages

        return Packages(self._home)

    @made_once
    def images(self) -> Images:
        """Return what is asked and ordered about images of agents."""
        from oulipoly_engine.facade.images.images import Images

        return Images(self._home)

    @made_once
    def registry(self) -> Registry:
        """Return the registry that can be served."""
        from oulipoly_engine.facade.images.registry import Registry

        return Registry(self._home)

    @made_once
    def image_transfer(self) -> Transfer:
        """Return what pulls, pushes, signs and verifies images."""
        from oulipoly_engine.facade.images.transfer import Transfer

        return Transfer(self._home)

    @made_once
    def pools(self) -> Pools:
        """Return what is asked and ordered about pools."""
        from oulipoly_engine.facade.quota.pools import Pools

        return Pools(self._home, self.accounts)

    @made_once
    def quota(self) -> Quota:
        """Return what is asked and ordered about quota."""
        from oulipoly_engine.facade.quota.quota import Quota

        return Quota(self._home)

    @made_once
    def ledger(self) -> Ledger:
        """Return what is asked about the ledger."""
        from oulipoly_engine.facade.quota.ledger import Ledger

        return Ledger(self._home)

    @made_once
    def extensions(self) -> Extensions:
        """Return what is asked and ordered about extensions."""
        from oulipoly_engine.facade.extensions.extensions import Extensions

        return Extensions(self._home)

    @made_once
    def runtimes(self) -> Runtimes:
        """Return what is asked and ordered about the runtimes of live sessions."""
        from oulipoly_engine.facade.live.runtimes import Runtimes

        return Runtimes(self._home)

    @made_once
    def one_shots(self) -> OneShots:
        """Return the one-shots that this process waits for."""
        from oulipoly_engine.facade.runs.one_shots import OneShots

        return OneShots(self._home)

    @made_once
    def interactive(self) -> Interactive:
        """Return the CLIs that a person talks to."""
        from oulipoly_engine.facade.runs.interactive import Interactive

        return Interactive(self._home)

    @made_once
    def orphans(self) -> Orphans:
        """Return what is asked and ordered about CLIs that outlive their runner."""
        from oulipoly_engine.facade.runs.orphans import Orphans

        return Orphans(self._home)

    @made_once
    def trace(self) -> Trace:
        """Return what is asked about recorded invocations."""
        from oulipoly_engine.facade.runs.trace import Trace

        return Trace(self._home)

    @made_once
    def background(self) -> BackgroundRuns:
        """Return the one-shots in the background."""
        from oulipoly_engine.facade.runs.background import BackgroundRuns

        return BackgroundRuns(self._home, self.pools)

    @made_once
    def command_log(self) -> CommandLog:
        """Return what this process has started since this was first asked for."""
        from oulipoly_engine.facade.terminals.command_log import CommandLog

        return CommandLog(self._home.clock)

    @made_once
    def programs(self) -> Programs:
        """Return what runs programs of the user's own choice."""
        from oulipoly_engine.facade.terminals.programs import Programs

        return Programs(self._home)

    @made_once
    def sessions(self) -> Sessions:
        """Return what is asked and ordered about sessions."""
        from oulipoly_engine.facade.sessions.sessions import Sessions

        return Sessions(self._home)

    @made_once
    def live(self) -> LiveSessions:
        """Return the live sessions."""
        from oulipoly_engine.facade.live.sessions import LiveSessions

        return LiveSessions(self._home)

    @made_once
    def slash(self) -> SlashCommands:
        """Return what lines of live sessions that begin with a slash do."""
        from oulipoly_engine.facade.live.slash import SlashCommands

        return SlashCommands(self._home, self.live, self.runtimes, self.sessions)

    @made_once
    def changes(self) -> Changes:
        """Return what is asked and ordered about the changes of sessions."""
        from oulipoly_engine.facade.worktrees.changes import Changes

        return Changes(self._home)

    @made_once
    def web(self) -> WebAccess:
        """Return who may use the server, and what it keeps."""
        from oulipoly_engine.facade.web.access import WebAccess

        return WebAccess(self._home)

    @made_once
    def worktrees(self) -> Worktrees:
        """Return the worktrees of sessions."""
        from oulipoly_engine.facade.worktrees.worktrees import Worktrees

        return Worktrees(self._home)

    @made_once
    def turn_files(self) -> TurnFiles:
        """Return the files of sessions as they were at their messages."""
        from oulipoly_engine.facade.worktrees.turn_files import TurnFiles

        return TurnFiles(self._home, self.changes, self.sessions.branches)

    @made_once
    def retention(self) -> Retention:
        """Return the policy by which worktrees, and texts that are kept twice, go by themselves."""
        from oulipoly_engine.facade.worktrees.retention import Retention

        return Retention(self._home, self.worktrees)

    @made_once
    def work(self) -> WorkSessions:
        """Return the sessions that work by themselves."""
        from oulipoly_engine.facade.worktrees.work import WorkSessions

        return WorkSessions(self._home, self.live, lambda: self.worktrees)

    @made_once
    def grants(self) -> Grants:
        """Return what a person has allowed, of every kind."""
        from oulipoly_engine.facade.web.grants import Grants

        return Grants(self._home, self.web, self.live)

    @made_once
    def agent_tools(self) -> AgentTools:
        """Return the tools of agents, for whoever shows a token of them."""
        from oulipoly_engine.facade.agents.tools import AgentTools

        return AgentTools(self._home)

    @made_once
    def serving(self) -> Serving:
        """Return what CLIs start as their MCP servers."""
        from oulipoly_engine.facade.extensions.serving import Serving

        return Serving(self._home)

    @made_once
    def terminals(self) -> Terminals:
        """Return what is asked and ordered about terminals."""
        from oulipoly_engine.facade.terminals.terminals import Terminals

        return Terminals(self._home)

    @made_once
    def new_terminals(self) -> NewTerminals:
        """Return what is ordered of new terminals."""
        from oulipoly_engine.facade.terminals.new_terminals import NewTerminals

        return NewTerminals(self._home, self.pools)

    @made_once
    def configuration(self) -> Configuration:
        """Return what is asked and ordered about the configuration's files."""
        from oulipoly_engine.facade.configuration import Configuration

        return Configuration(self._home)

    @made_once
    def state_file(self) -> StateFile:
        """Return what is ordered about the state file as a whole."""
        from oulipoly_engine.facade.state_file import StateFile

        return StateFile(self._home)

    @made_once
    def telemetry(self) -> TelemetryRecords:
        """Return what telemetry holds."""
        from oulipoly_engine.facade.telemetry import TelemetryRecords

        return TelemetryRecords(self._home)

    @made_once
    def checks(self) -> Checks:
        """Return what is asked of the doctor."""
        from oulipoly_engine.facade.checks import Checks

        return Checks(self._home)

    def snapshot(self) -> Snapshot:
        """Return how everything stands now. A state file that cannot be read is said in it, not raised."""
        with self._taking:
            now, configured = self._home.now(), self._home.read_configuration()
            pins = self.pools.pins if "pools" in self.__dict__ else {}  # `status` waits for no module of theirs
            try:
                with self._home.lend_store_to_read() as store:
                    return self._maker.make(store, configured, pins, now)
            except RunnerError as error:
                return self._maker.without_store(configured, error.message, now)

    def follow(self) -> None:
        """Begin to publish StateChanged and ConfigurationChanged as others write, and to store what the CLIs write.

        EntriesIngested goes out as entries are stored; nothing is stored in read-only mode.
        """
        from oulipoly_engine.service.following.late import LateFollower, Sources
        from oulipoly_engine.service.following.watch import Watch, Watched

        home = self._home
        if self._watch is None:
            self._watch = Watch(Watched(home.store, home.places.fingerprint), self.listeners, home.clock)
        if self._follower is None and not home.read_only:
            sources = Sources(
                home.store,
                home.read_configuration,
                home.paths,
                home.wiring.ingester,
                self.listeners,
                home.clock,
                home.notices,
            )
            self._follower = LateFollower(sources)

    def close(self) -> None:
        """Stop what runs in the background, end the watch and close this thread's connection."""
        if "background" in self.__dict__:
            self.background.close()
        if "command_log" in self.__dict__:
            self.command_log.close()
        if self._follower is not None:
            self._follower.close()
        if self._watch is not None:
            self._watch.close()
        self._home.close()

    @made_once
    def _maker(self) -> SnapshotMaker:
        from oulipoly_engine.facade.snapshot import SnapshotMaker

        writable = None if self._home.read_only else self.paths
        return SnapshotMaker(home=self.paths.home, paths=writable, data=self.paths.data)

"""Running agents: brought up, listed, stopped, removed. Each change is written before what it says is relied on.

An agent of `builtin:runner` has no process of its own: it is ready when its tree is there and an account can serve it,
and its sessions are live sessions, whose hosts start their CLIs in its environment and its box.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from oulipoly_engine.core.agents import names
from oulipoly_engine.core.agents.agents import OWN_RUNTIME, Agent, AgentPlan, Change, Job, Overrides
from oulipoly_engine.core.agents.capabilities import Note
from oulipoly_engine.core.agents.plan import make_plan
from oulipoly_engine.core.agents.states import RUNNING, Reason
from oulipoly_engine.core.agents.texts import AgentView
from oulipoly_engine.core.boxes.allow_list import parse_allowed
from oulipoly_engine.core.boxes.box import Level, Network, list_unheld
from oulipoly_engine.core.boxes.report import IsolationReport
from oulipoly_engine.core.images.info import wanted_mounts, wanted_network
from oulipoly_engine.core.images.refusals import AgentfileInvalid, ImageNotFound, ImageRefused, SignatureRefused
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.launch.cli_options import CliOptions, check_system_prompt, find_refusal
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.text.redact import redact
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
    SystemRefused,
    UsageInvalid,
)
from oulipoly_engine.facade.agents.sources import find_path, place_files, place_tools, read_source
from oulipoly_engine.facade.base.home import Part, find_only
from oulipoly_engine.facade.base.own_process import require_person
from oulipoly_engine.facade.live.catalogue import catalogue_of
from oulipoly_engine.facade.live.sessions import LiveSessions
from oulipoly_engine.host.link import HostGone, HostUnreachable
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.process.liveness import has_ended_mark, own_mark
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.agents import tools
from oulipoly_engine.service.agents.log import write_log
from oulipoly_engine.service.agents.logins import CliAccount, describe_login, serve_box, start_cli
from oulipoly_engine.service.agents.start import check_isolation, cli_bin_dirs, cli_start, find_cli, tool_start, try_cli
from oulipoly_engine.service.agents.supervisor import SupervisorOrder, choose_address, start_supervisor
from oulipoly_engine.service.agents.tokens import ensure_agent_token
from oulipoly_engine.service.agents.tree import agent_prompt, remove_tree, view_agent, write_tree
from oulipoly_engine.service.isolation import measure_box
from oulipoly_engine.service.live import hosts
from oulipoly_engine.store.agents import agents, jobs, together
from oulipoly_engine.store.base.db import Store

_DEFAULT_LEVELS = (Level.GUARDED, Level.NONE)  # the best first that a CLI of the user's accounts works in
_LOG_LINES = 200
_LOOK_S = 0.05
_END_S = 20.0  # that a supervisor may take to end a runtime
_REASONS: tuple[tuple[type[RunnerError], Reason], ...] = (
    (ImageNotFound, "pull"),
    (SignatureRefused, "pull"),
    (ImageRefused, "config"),
    (AgentfileInvalid, "config"),
    (AgentFileInvalid, "config"),
    (AccountUnusable, "model"),
    (ProgramMissing, "model"),
)


class _RuntimeFailed(AgentFailed):
    """An agent's own runtime did not become ready."""


class AgentWish(Record):
    """An agent to run."""

    source: str  # a reference, a path, or the name of a definition
    name: str = ""  # empty: one is chosen
    isolation: str = ""  # empty: the best that works here
    overrides: Overrides = Overrides()


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


class AgentPreview(Record):
    """What an agent would get, before it is run."""

    plan: AgentPlan
    digest: str
    network: tuple[str, ...]  # that its image asks for, `HOST:PORT`
    mounts: tuple[str, ...]  # the same, `TARGET[:ro]`
    refusals: Mapping[str, str]  # by level: why this machine cannot give it; empty: it can


class Agents(Part):
    """The running agents of one user."""

    # Finding ---------------------------------------------------------------------------------------------------------
    def list(self, *, has_removed: bool = False) -> tuple[AgentStanding, ...]:
        """Return the agents, oldest first, once what killed processes have left is settled."""
        with self._home.lend_store_to_read() as store:
            self._home.write_along(store, lambda: self._settle(store), None)
            listed = agents.list_agents(store, has_removed=has_removed)
            in_flight = self._count_in_flight(store)
            accounts = agents.list_accounts(store)
        return tuple(
            AgentStanding(agent, in_flight[agent.agent_id], accounts.get(agent.agent_id, ""), self.logins(agent))
            for agent in listed
        )

    def logins(self, agent: Agent) -> dict[str, str]:
        """Return why the login of each account that can serve an agent is within its reach; empty: it is not."""
        if agent.plan.runtime != OWN_RUNTIME or agent.status not in ("starting", "ready", "working"):
            return {}
        try:
            runtimes = self._find_runtimes(agent)
            chosen = [self._choose(runtime) for runtime in runtimes]
            return {
                each.runtime.account or each.runtime.id: describe_login(agent.isolation, each, self._home.clock)
                for each in chosen
            }
        except RunnerError:
            return {}

    def _choose(self, runtime: Runtime) -> CliAccount:
        """Return what serves an agent on a runtime."""
        cli = catalogue_of(self._home).clis.get(runtime.id)
        return CliAccount(runtime, cli, self._home.quiet_files.accounts().get(runtime.account))

    def find(self, identity: str) -> Agent:
        """Return the agent of a name, or whose id begins so. Raises AgentNotFound, IdAmbiguous."""
        with self._home.lend_store_to_read() as store:
            matches = agents.find(store, identity) if identity else ()
        none = f"there is no agent {identity[:80]!r}: `agents agent ps` lists them"
        return find_only(matches, lambda agent: agent.agent_id, identity, "agents", AgentNotFound(none))

    def inspect(self, identity: str) -> AgentDetails:
        """Return all that is known of an agent. Raises AgentNotFound."""
        agent_id = self.find(identity).agent_id
        standing = next(each for each in self.list() if each.agent.agent_id == agent_id)
        agent = standing.agent
        root = self.root(agent)
        with self._home.lend_store_to_read() as store:
            history = agents.read_history(store, agent_id)
            sessions = agents.list_sessions(store, agent_id)
            recent = jobs.list_jobs(store, agent_id, limit=20)
        view = view_agent(root, agent, self._bin_dirs(agent))
        unheld, report = self._measure(agent) if agent.isolation else ((), None)
        skipped = tool_start(root, agent).skipped
        return AgentDetails(standing, history, sessions, view, unheld, skipped, recent, report)

    def _measure(self, agent: Agent) -> tuple[tuple[str, ...], IsolationReport | None]:
        """Return what an agent's isolation does not hold, and what was measured from inside; None: nothing was."""
        root = self.root(agent)
        start = tool_start(root, agent)
        unheld = _UNHELD_WITHOUT_BOX if start.box is None else list_unheld(start.box)
        if agent.plan.runtime != OWN_RUNTIME or start.box is None:
            return unheld, None
        unheld = (*unheld, *list_logins_in_reach(agent.isolation, self.logins(agent)))
        if agent.status not in ("ready", "working") or self._home.read_only:
            return unheld, None
        try:
            runtime = self._find_runtimes(agent)[0]
            cli = start_cli(root, agent, self._choose(runtime), self._home.clock)
            assert cli.start.box is not None  # noqa: S101 - the level is the agent's, as above
            folder = self._home.paths.running_agents
            with TemporaryDirectory(prefix="agents-") as place:
                path = Path(place, "proxy")
                with serve_box(cli.start.box, path, cli.login, self._home.clock) as (box, _, _):
                    report = measure_box(box, cli.environment, self._home.paths.home, folder)
        except RunnerError as error:
            return (*unheld, f"it could not be measured: {error.message}"), None
        return unheld if box.network is Network.PROXY else (*unheld, *_NETWORK_IS_SEEN), report

    def read_log(self, identity: str, lines: int = _LOG_LINES) -> tuple[str, ...]:
        """Return the last lines of an agent's log."""
        path = self.log(self.find(identity))
        try:
            text = path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return ()
        return tuple(text.splitlines()[-lines:]) if lines > 0 else ()

    def root(self, agent: Agent) -> Path:
        """Return the root of an agent's tree."""
        return self._home.paths.running_agents / agent.agent_id

    def log(self, agent: Agent) -> Path:
        """Return an agent's log."""
        return self._home.paths.agent_logs / f"{agent.agent_id}.log"

    def preview(self, source: str) -> AgentPreview:
        """Return what an agent of a source would get; of a path its image is built. Nothing runs.

        Raises AgentfileInvalid, ImageNotFound, ImageRefused, ReferenceInvalid, SignatureRefused.
        """
        self._home.refuse_if_read_only("run an agent")
        read = read_source(self._home, source)
        plan = make_plan(read.agentfile, read.contexts, read.digests, Overrides(), read.text)
        declared = read.agentfile.agent
        refusals = {level.value: _find_refusal(level.value) for level in Level}
        return AgentPreview(plan, read.digest, wanted_network(declared), wanted_mounts(declared), refusals)

    # Life ------------------------------------------------------------------------------------------------------------
    def run(self, wish: AgentWish) -> Agent:
        """Bring up a new agent and return it, ready. One that fails stays listed, with its reason.

        Raises AgentFailed, NameTaken, IsolationUnavailable, UsageInvalid.
        """
        self._home.refuse_if_read_only("run an agent")
        if wish.isolation == Level.NONE:
            require_person("run an agent without isolation")
        if wish.overrides.addresses and wish.isolation != Level.SEALED:
            raise UsageInvalid("--address needs --isolation sealed: the network of other levels is this machine's")
        for text in wish.overrides.addresses:
            parse_allowed(text)
        if wish.isolation:
            check_isolation(wish.isolation)
        now = self._home.now()
        name = names.check_name(wish.name) if wish.name else self._choose_name()
        plan = AgentPlan(overrides=wish.overrides)
        source = str(find_path(self._home, wish.source) or wish.source)
        agent = Agent(
            str(uuid.uuid4()),
            name,
            source,
            wish.isolation,
            "pulling",
            now,
            now,
            plan=plan,
            owner=own_mark(),
        )
        with self._home.lend_store() as store:
            agents.insert(store, agent)
            return self._bring_up(store, agent)

    def start(self, identity: str) -> Agent:
        """Start a stopped or failed agent again on its tree. Raises AgentStateInvalid where it runs, AgentFailed."""
        self._home.refuse_if_read_only("start an agent")
        agent = self.find(identity)
        if agent.status == "failed":
            self._end_supervisor(agent)  # which waits to try again
        with self._home.lend_store() as store:
            self._settle(store)
            agent = agents.move(store, agent.agent_id, "start", self._home.now(), owner=own_mark())
            return self._bring_up(store, agent)

    def stop(self, identity: str) -> Agent:
        """Stop an agent: its sessions' processes and its tools end. One that does not run stays as it is."""
        self._home.refuse_if_read_only("stop an agent")
        agent = self.find(identity)
        with self._home.lend_store() as store:
            self._settle(store)
            self._end_supervisor(agent)
            with suppress(AgentStateInvalid):  # nothing runs
                agent = agents.move(store, agent.agent_id, "stop", self._home.now())
                self._write_log(agent, "stopped")
            self._end_work(store, agent)
        return self.find(agent.agent_id)

    def remove(self, identity: str) -> Agent:
        """Stop an agent and remove its tree. Its sessions stay in the list of sessions. Raises SystemRefused."""
        self._home.refuse_if_read_only("remove an agent")
        agent = self.find(identity)
        with self._home.lend_store() as store:
            if agent.status != "removing":
                self._end_supervisor(agent)
                agent = agents.move(store, agent.agent_id, "remove", self._home.now(), owner=own_mark())
            return self._finish_removal(store, agent)

    # Parts -----------------------------------------------------------------------------------------------------------
    def _bring_up(self, store: Store, agent: Agent) -> Agent:
        """Bring an agent from pulling to ready; one whose image was read once keeps it."""
        try:
            if not agent.plan.source_text:
                source = read_source(self._home, agent.source)
                plan = make_plan(source.agentfile, source.contexts, source.digests, agent.plan.overrides, source.text)
                agents.change_plan(store, agent.agent_id, plan, source.digest)
            agent = agents.move(store, agent.agent_id, "image_ready", self._home.now(), owner=own_mark())
            agent = self._prepare(store, agent)
            if agent.plan.runtime == OWN_RUNTIME:
                agent = agents.move(store, agent.agent_id, "answer", self._home.now())
            else:
                agent = self._supervise(store, agent)
        except _RuntimeFailed as error:  # which its supervisor has written down, and may try again
            raise AgentFailed(
                f"{agent.name} was not started: {error.message}; `agents agent logs {agent.name}` tells more"
            ) from error
        except AgentStateInvalid as error:  # somebody has stopped or removed it meanwhile
            raise AgentFailed(f"{agent.name} was not started: {error.message}") from error
        except RunnerError as error:
            self._fail(store, agent, error)
            raise AgentFailed(
                f"{agent.name} could not be started: {error.message}; `agents agent start {agent.name}` tries again"
            ) from error
        self._write_log(agent, f"ready, isolation {agent.isolation}")
        return agent

    def _prepare(self, store: Store, agent: Agent) -> Agent:
        """Find who serves an agent and write its tree."""
        if agent.plan.runtime != OWN_RUNTIME:
            return self._prepare_runtime(store, agent)
        root = self.root(agent)
        runtimes = self._find_runtimes(agent)
        if not agent.isolation:
            agent = replace(agent, isolation=self._choose_isolation(agent, root, runtimes[0]))
            agents.change_isolation(store, agent.agent_id, agent.isolation)
        check_isolation(agent.isolation)
        self._refuse_unkept(agent, runtimes)
        self._write_tree(agent)
        check_system_prompt(agent_prompt(root, agent, self._bin_dirs(agent), self._pinned(agent)))
        ensure_agent_token(store, agent, self._home.now())
        make_folder(self._home.paths.agent_logs)
        for name in tool_start(root, agent).skipped:
            self._write_log(agent, f"the variable {name} is reserved and was left out")
        return agent

    def _refuse_unkept(self, agent: Agent, runtimes: tuple[Runtime, ...]) -> None:
        """Refuse a sealed agent that no account can serve, for no login stays on the host. Raises AccountUnusable."""
        if agent.isolation != Level.SEALED:
            return
        reasons = [describe_login(agent.isolation, self._choose(each), self._home.clock) for each in runtimes]
        if all(reasons):
            name = runtimes[0].account or runtimes[0].id
            raise AccountUnusable(
                f"the login of {name} cannot be kept out of a sealed box: {reasons[0]}; choose another account with "
                "--model, or --isolation guarded"
            )

    def _prepare_runtime(self, store: Store, agent: Agent) -> Agent:
        """Write the tree of an agent that has a runtime of its own."""
        plan = agent.plan
        if not plan.runtime.startswith("/"):
            raise AgentFailed(
                f"its runtime {plan.runtime} is an image, which cannot be started yet: `--runtime {OWN_RUNTIME}` runs "
                "it on your accounts, and `--runtime /PATH` with a program of this machine"
            )
        if not agent.isolation:
            guarded = Level.GUARDED.value
            with suppress(IsolationUnavailable):
                check_isolation(guarded)
                agent = replace(agent, isolation=guarded)
        if not agent.isolation:
            require_person("run an agent without isolation")
            agent = replace(agent, isolation=Level.NONE.value)
        check_isolation(agent.isolation)
        agent = replace(agent, plan=replace(plan, address=plan.address or choose_address()))
        agents.change_isolation(store, agent.agent_id, agent.isolation)
        agents.change_plan(store, agent.agent_id, agent.plan, agent.digest)
        self._write_tree(agent)
        return agent

    def _supervise(self, store: Store, agent: Agent) -> Agent:
        """Have a process of its own own an agent's runtime, and wait until that is ready. Raises AgentFailed."""
        folder = str(self._home.paths.running_agents)
        order = SupervisorOrder(str(self._home.paths.state_db), folder, str(self.log(agent)), agent.agent_id)
        start_supervisor(order)
        while agent.status == "starting" and not has_ended_mark(agent.owner or own_mark()):
            time.sleep(_LOOK_S)
            agent = agents.read(store, agent.agent_id) or agent
        if agent.status not in ("ready", "working"):
            raise _RuntimeFailed(agent.problem or f"it is {agent.status}")
        return agent

    def _end_supervisor(self, agent: Agent) -> None:
        """Have the process end that owns an agent's runtime, and the runtime with it. Raises RequestRefused."""
        if agent.plan.runtime == OWN_RUNTIME or not agent.owner or has_ended_mark(agent.owner):
            return
        pid = int(agent.owner.split()[0])
        if agent.owner == own_mark():
            return
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _END_S
        while not has_ended_mark(agent.owner):
            if time.monotonic() > deadline:
                raise RequestRefused(f"the process {pid} that owns the runtime of {agent.name} does not end: try again")
            time.sleep(_LOOK_S)

    def _find_runtimes(self, agent: Agent) -> tuple[Runtime, ...]:
        """Return the runtimes that can serve an agent. Raises AccountUnusable, which says why none can."""
        catalogue = catalogue_of(self._home)
        model = agent.plan.model
        provider, is_qualified, _ = model.partition("/")
        files = self._home.files
        if model in files.model_names():
            pooled = {member.account for member in files.model(model).members}
            runtimes = tuple(each for each in catalogue.runtimes if each.account in pooled)
        elif is_qualified:
            runtimes = catalogue.find_all(provider)
        elif model:
            raise AccountUnusable(
                f"MODEL {model} names no provider and is none of your models "
                f"({', '.join(files.model_names()) or 'there are none'}): `--model NAME` says which is meant"
            )
        else:
            runtimes = catalogue.runtimes
        asks = CliOptions(system_prompt="x")
        able = [each for each in runtimes if each.is_enabled]
        refusals = [find_refusal(each, catalogue.clis.get(each.id), asks) for each in able]
        served = tuple(each for each, refusal in zip(able, refusals, strict=True) if not refusal)
        if not served:
            why = f"no account of yours serves {model or 'an agent without MODEL'}"
            if refusals:
                why = refusals[0].partition(":")[0]
            raise AccountUnusable(
                f"{why}: `agents runtime list` lists what can be driven; `--model` names another model"
            )
        return served

    def _choose_isolation(self, agent: Agent, root: Path, runtime: Runtime) -> str:
        """Return the best level of this machine in which an agent's CLI says its version."""
        problem = ""
        for level in _DEFAULT_LEVELS:
            if level is Level.NONE:
                require_person(f"run an agent without isolation ({problem})")
            else:
                try:
                    check_isolation(level.value)
                    self._try_cli(replace(agent, isolation=level.value), root, runtime)
                except IsolationUnavailable as error:
                    problem = error.message
                    continue
            if problem:
                self._home.note(f"isolation {level.value}: {problem}")
                self._write_log(agent, f"isolation {level.value}: {problem}")
            return level.value
        raise IsolationUnavailable(problem)

    def _try_cli(self, agent: Agent, root: Path, runtime: Runtime) -> None:
        self._write_tree(agent)
        try_cli(
            cli_start(root, agent, find_cli(runtime), (runtime.home, runtime.shadow_home)), runtime, agent.isolation
        )

    def _write_tree(self, agent: Agent) -> None:
        root = self.root(agent)
        write_tree(root, agent, self._bin_dirs(agent), self._pinned(agent))
        try:
            place_files(self._home, agent, root / "etc/data")
            missing = place_tools(self._home, agent, root / "usr/bin")
        except OSError as error:
            raise SystemRefused(f"the agent's files cannot be written: {error.strerror or error}") from error
        for sentence in missing:
            self._write_log(agent, sentence)

    def _pinned(self, agent: Agent) -> tuple[Note, ...]:
        """Return the notes that are part of an agent's context."""
        with self._home.lend_store_to_read() as store:
            return tuple(note for note in together.list_notes(store, agent.agent_id) if note.is_pinned)

    def _bin_dirs(self, agent: Agent) -> tuple[str, ...]:
        return cli_bin_dirs(self.root(agent), "")

    def _choose_name(self) -> str:
        with self._home.lend_store_to_read() as store:
            taken = {agent.name for agent in agents.list_agents(store)}
        while True:
            name = names.choose_name(secrets.randbelow(1 << 30))
            if name not in taken:
                return name

    def _fail(self, store: Store, agent: Agent, error: RunnerError) -> None:
        reason: Reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), "init")
        self._write_log(agent, f"failed: {error.message}")
        with suppress(AgentStateInvalid):
            agents.move(store, agent.agent_id, "fail", self._home.now(), reason=reason, detail=redact(error.message))

    def _write_log(self, agent: Agent, text: str) -> None:
        """Append a line to an agent's log; a full disk hinders nothing."""
        line = "; ".join(text.splitlines())
        write_log(self.log(agent), f"[{self._home.now().isoformat(timespec='seconds')}] {redact(line)}\n")

    def _end_work(self, store: Store, agent: Agent) -> None:
        """End the processes of an agent's sessions, and its tools. Raises RequestRefused where one does not end."""
        for job in jobs.list_open(store, (agent.agent_id,)):
            jobs.move(store, job.job_id, "cancel", self._home.now(), problem="the agent was stopped")
            tools.end_process(job)
        living = {host.session_id for host in hosts.survey(self._home.paths)}
        mine = [session for session in agents.list_sessions(store, agent.agent_id) if session in living]
        live = LiveSessions(self._home)
        for session_id in mine:
            with suppress(HostUnreachable, HostGone, RunnerError):
                live.order(session_id, orders.Cancel(), starts=False)
        for session_id in mine:
            if not hosts.wait_for_end(self._home.paths, session_id):
                raise RequestRefused(f"the process of its session {session_id} does not end: try it again")

    def _finish_removal(self, store: Store, agent: Agent) -> Agent:
        together.forget(store, agent.agent_id, self._home.now())  # first: what it may do ends at once
        self._end_work(store, agent)
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
                jobs.move(store, job.job_id, "orphan", self._home.now(), problem="the process that ran it was killed")
                tools.end_process(job)
        in_flight = self._count_in_flight(store)
        for agent in agents.list_agents(store):
            if agent.owner and has_ended_mark(agent.owner):
                self._settle_left(store, agent)
            elif agent.status == "ready" and in_flight[agent.agent_id]:
                self._move_along(store, agent, "work")
            elif agent.status == "working" and not in_flight[agent.agent_id]:
                self._move_along(store, agent, "rest")

    def _settle_left(self, store: Store, agent: Agent) -> None:
        """Settle an agent whose process was killed between two steps."""
        if agent.status == "removing":
            with suppress(RunnerError):  # it stays so, and the next one tries again
                self._finish_removal(store, agent)
        elif agent.status in ("ready", "working"):
            self._write_log(agent, "failed: the process that owned its runtime was killed")
            with suppress(AgentStateInvalid):
                why = "the process that owned its runtime was killed"
                agents.move(store, agent.agent_id, "crash", self._home.now(), detail=why)
        elif agent.status in RUNNING:
            self._fail(store, agent, AgentFailed("the process that brought it up was killed"))

    def _move_along(self, store: Store, agent: Agent, event: str) -> None:
        with suppress(AgentStateInvalid):  # another process was first
            agents.move(
                store, agent.agent_id, "work" if event == "work" else "rest", self._home.now(), owner=agent.owner
            )

    def _count_in_flight(self, store: Store) -> Counter[str]:
        """Return how many turns and tools run, by the ids of their agents."""
        count = Counter(job.agent_id for job in jobs.list_open(store) if job.status == "running")
        open_turns = agents.list_open_turns(store)
        living = {host.session_id for host in hosts.survey(self._home.paths)} if open_turns else set()
        count.update(agent_id for agent_id, session_id in open_turns if session_id in living)
        return count


def _find_refusal(level: str) -> str:
    """Say why this machine cannot give a level; empty: it can."""
    try:
        check_isolation(level)
    except IsolationUnavailable as error:
        return error.message
    return ""


_UNHELD_WITHOUT_BOX = ("every path, process and address of its user is reached",)
_NETWORK_IS_SEEN = ("its CLI, and what that runs, reach the network as this machine does",)


def list_logins_in_reach(level: str, logins: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each login that an agent reaches; of one that nothing holds, that it reaches all.

    A sealed agent reaches none: an account whose login cannot be kept on the host is refused to it.
    """
    if level == Level.NONE:
        return _UNHELD_WITHOUT_BOX
    if level == Level.SEALED:
        return ()
    return tuple(
        f"the login of {account} is seen and used by its CLI, and by what that runs: {reason}"
        for account, reason in logins.items()
        if reason
    )

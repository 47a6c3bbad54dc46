"""Running agents: brought up, listed, stopped, removed. Each change is written before what it says is relied on.

An agent of `builtin:runner` has no process of its own: it is ready when its tree is there and an account can serve it,
and its sessions are live sessions, whose hosts start their CLIs in its environment and its box.
"""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

from oulipoly_engine.core.agents import names
from oulipoly_engine.core.agents.agents import Agent, AgentPlan, Overrides
from oulipoly_engine.core.agents.capabilities import Note
from oulipoly_engine.core.agents.containers import CONTAINER, ContainerPlan
from oulipoly_engine.core.agents.environment import RUNTIME_BINARY
from oulipoly_engine.core.agents.limits import check_limits
from oulipoly_engine.core.agents.plan import make_plan
from oulipoly_engine.core.boxes.allow_list import parse_allowed
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.images.refusals import ImageRefused
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.errors import (
    AgentFailed,
    AgentStateInvalid,
    IsolationUnavailable,
    RequestRefused,
    RunnerError,
    StoreNotWritable,
    SystemRefused,
    UsageInvalid,
)
from oulipoly_engine.executors.docker_api import connect, ensure_image, find_host, remove_left
from oulipoly_engine.facade.agents.inspection import AgentInspection
from oulipoly_engine.facade.agents.sources import (
    AgentSource,
    find_path,
    note_images,
    place_files,
    place_runtime,
    place_tools,
    preview_source,
    read_source,
    require_image,
)
from oulipoly_engine.facade.base.agent_rights import require_right
from oulipoly_engine.process.liveness import has_ended_mark, own_mark
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.agents.start import (
    check_isolation,
    cli_start,
    find_cli,
    find_skipped,
    tool_start,
    try_cli,
)
from oulipoly_engine.service.agents.tree import agent_prompt, find_missing, write_tree
from oulipoly_engine.store.agents import agents, together
from oulipoly_engine.store.base.db import Store

# ruff: noqa: PLC0415 - supervisors, logins and boxes take 40 ms each, tokens 10: who starts one kind of agent needs no
# other

_DEFAULT_LEVELS = (Level.GUARDED, Level.NONE)  # the best first that a CLI of the user's accounts works in
_LOG_LINES = 200
_FIRST_LOOK_S = 0.005  # whether a runtime is ready, most of which are at once; doubles up to the next
_LOOK_S = 0.05
_END_S = 30.0  # that a supervisor may take to end a runtime


class _RuntimeFailed(AgentFailed):
    """An agent's own runtime did not become ready."""


class AgentWish(Record):
    """An agent to run."""

    source: str  # a reference, a path, or the name of a definition
    name: str = ""  # empty: one is chosen
    isolation: str = ""  # empty: the best that works here
    overrides: Overrides = Overrides()
    digest: str = ""  # of the preview that was agreed to: nothing else is run; empty: whatever the source is


class AgentPreview(Record):
    """What an agent would get, before it is run."""

    plan: AgentPlan
    digest: str
    network: tuple[str, ...]  # that its image asks for, `HOST:PORT`
    mounts: tuple[str, ...]  # the same, `TARGET[:ro]`
    refusals: Mapping[str, str]  # by level: why this machine cannot give it; empty: it can


class Agents(AgentInspection):
    """The running agents of one user."""

    def read_log(self, identity: str, lines: int = _LOG_LINES) -> tuple[str, ...]:
        """Return the last lines of an agent's log."""
        path = self.log(self.find(identity))
        try:
            text = path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return ()
        return tuple(text.splitlines()[-lines:]) if lines > 0 else ()

    def preview(self, source: str) -> AgentPreview:
        """Return what an agent of a source would get. Nothing runs, and no image is tagged.

        Raises AgentfileInvalid, ImageNotFound, ImageRefused, ReferenceInvalid, SignatureRefused.
        """
        from oulipoly_engine.core.images.info import wanted_mounts, wanted_network

        self._home.refuse_if_read_only("run an agent")
        read = preview_source(self._home, source)
        plan = make_plan(read.agentfile, read.contexts, read.digests, Overrides(), read.text)
        declared = read.agentfile.agent
        refusals = {level.value: _find_refusal(level.value) for level in Level}
        return AgentPreview(plan, read.digest, wanted_network(declared), wanted_mounts(declared), refusals)

    # Life ------------------------------------------------------------------------------------------------------------
    def run(self, wish: AgentWish) -> Agent:
        """Bring up a new agent and return it, ready. One that fails stays listed; none is made of no image.

        Raises AgentFailed, NameTaken, IsolationUnavailable, ReferenceInvalid, UsageInvalid, ImageNotFound where a path
        has no Agentfile, ImageRefused where it is not what was shown, TooManyAgents; then there is no agent.
        """
        self._home.refuse_if_read_only("run an agent")
        require_right(self._home, "agent run")
        if wish.overrides.addresses and wish.isolation != Level.SEALED:
            raise UsageInvalid("--address needs --isolation sealed: the network of other levels is this machine's")
        for text in wish.overrides.addresses:
            parse_allowed(text)
        if wish.isolation:
            check_isolation(wish.isolation)
        check_limits(wish.overrides.limits, wish.isolation)
        now = self._home.now()
        name = names.check_name(wish.name) if wish.name else self._choose_name()
        plan = AgentPlan(overrides=wish.overrides)
        path = find_path(self._home, wish.source)
        if path is None:
            require_image(self._home, wish.source)
        if missing := find_missing(wish.overrides.mounts):
            raise UsageInvalid(missing)
        place = str(path or wish.source)
        source = read_source(self._home, place) if wish.digest else None
        if source is not None and source.digest != wish.digest:
            raise ImageRefused(f"{wish.source} has changed since you looked at it: look at it again, then run it")
        agent = Agent(
            str(uuid.uuid4()),
            name,
            place,
            wish.isolation,
            "pulling",
            now,
            now,
            plan=plan,
            owner=own_mark(),
        )
        with self._home.lend_store() as store:
            with store.write():
                agents.insert(store, agent)
                self._refuse_too_many(store)
            return self._bring_up(store, agent, source)

    def start(self, identity: str) -> Agent:
        """Start a stopped or failed agent again on its tree.

        Raises AgentStateInvalid where it runs, TooManyAgents, AgentFailed.
        """
        self._home.refuse_if_read_only("start an agent")
        agent = self.find(identity)
        require_right(self._home, "agent start", agent)
        if agent.status == "failed":
            self._end_supervisor(agent)  # which waits to try again
        with self._home.lend_store() as store:
            self._settle(store)
            with store.write():
                agent = agents.move(store, agent.agent_id, "start", self._home.now(), owner=own_mark())
                self._refuse_too_many(store)
            return self._bring_up(store, agent)

    def stop(self, identity: str) -> Agent:
        """Stop an agent: its sessions' processes and its tools end. One that does not run stays as it is.

        Raises StoreNotWritable where that cannot be written down, behind their end: it may be who fills the disk.
        """
        self._home.refuse_if_read_only("stop an agent")
        agent = self.find(identity)
        require_right(self._home, "agent stop", agent)
        try:
            return self._stop(agent)
        except StoreNotWritable as error:
            with self._home.lend_store_to_read() as store:
                self._end_work(store, agent)
                self._end_supervisor(agent)
                self._end_group(agent)
            raise StoreNotWritable(f"{agent.name} runs nothing any more, but {error.message}; stop it again") from error

    def _stop(self, agent: Agent) -> Agent:
        with self._home.lend_store() as store:
            self._settle(store)
            self._end_work(store, agent)  # first: one that says that it is stopped has nothing that runs
            self._end_supervisor(agent)
            with suppress(AgentStateInvalid):  # nothing runs
                agent = agents.move(store, agent.agent_id, "stop", self._home.now())
                self._write_log(agent, "stopped")
            self._end_work(store, agent)  # what has begun meanwhile
            self._end_group(agent)
        return self.find(agent.agent_id)

    def remove(self, identity: str) -> Agent:
        """Stop an agent and remove its tree. Its sessions stay in the list of sessions. Raises SystemRefused."""
        self._home.refuse_if_read_only("remove an agent")
        agent = self.find(identity)
        require_right(self._home, "agent rm", agent)
        with self._home.lend_store() as store:
            if agent.status != "removing":
                self._end_supervisor(agent)
                agent = agents.move(store, agent.agent_id, "remove", self._home.now(), owner=own_mark())
            return self._finish_removal(store, agent)

    # Parts -----------------------------------------------------------------------------------------------------------
    def _bring_up(self, store: Store, agent: Agent, source: AgentSource | None = None) -> Agent:
        """Bring an agent from pulling to ready; one whose image was read once keeps it. source: where that is read."""
        try:
            if not agent.plan.source_text:
                source = source or read_source(self._home, agent.source)
                plan = make_plan(source.agentfile, source.contexts, source.digests, agent.plan.overrides, source.text)
                agents.change_plan(store, agent.agent_id, plan, source.digest)
            agent = self._note_images(store, agent)
            if agent.isolation == CONTAINER:
                agent = self._find_containers(store, agent)
            agent = agents.move(store, agent.agent_id, "image_ready", self._home.now(), owner=own_mark())
            agent = self._prepare(store, agent)
            if not agent.has_own_runtime:
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

    def _note_images(self, store: Store, agent: Agent) -> Agent:
        """Note which images an agent's tools and runtime come from, and say which is another than at the last start."""
        agent = agents.read(store, agent.agent_id) or agent
        plan = note_images(self._home, agent.plan)
        pairs = [(f"the tool {tool.name}", tool.digest) for tool in plan.tools]
        before = (*(tool.digest for tool in agent.plan.tools), agent.plan.runtime_digest)
        for digest, (name, now) in zip(before, (*pairs, ("the runtime", plan.runtime_digest)), strict=True):
            if digest and now != digest:
                self._write_log(agent, f"{name} is another image than at the last start: {now or 'none'}, not {digest}")
        if plan != agent.plan:
            agents.change_plan(store, agent.agent_id, plan, agent.digest)
        return replace(agent, plan=plan)

    def _find_containers(self, store: Store, agent: Agent) -> Agent:
        """Note where an agent's containers run, have their image there, and remove what earlier ones have left."""
        overrides = agent.plan.overrides
        plan = ContainerPlan(find_host(), overrides.base_image, overrides.limits)
        with closing(connect(plan.host)) as client:
            ensure_image(client, plan.image)
            remove_left(client, agent.agent_id)
        agent = agents.read(store, agent.agent_id) or agent
        agents.change_plan(store, agent.agent_id, replace(agent.plan, container=plan), agent.digest)
        return replace(agent, plan=replace(agent.plan, container=plan))

    def _prepare(self, store: Store, agent: Agent) -> Agent:
        """Find who serves an agent and write its tree."""
        if agent.has_own_runtime:
            return self._prepare_runtime(store, agent)
        from oulipoly_engine.core.live.launch.cli_options import check_system_prompt
        from oulipoly_engine.service.agents.tokens import ensure_agent_token

        root = self.root(agent)
        runtime = self._serving().choose_runtime(agent)
        if not agent.isolation:
            agent = replace(agent, isolation=self._choose_isolation(agent, root, runtime))
            agents.change_isolation(store, agent.agent_id, agent.isolation)
        check_isolation(agent.isolation, agent.plan.container)
        agent = self._choose_group(store, agent)
        self._write_tree(agent)
        check_system_prompt(agent_prompt(root, agent, self._bin_dirs(agent), self._pinned(agent)))
        ensure_agent_token(store, agent, self._home.now())
        if agent.isolation == CONTAINER:
            self._try_cli(agent, root, runtime)
        self._require_held(agent)
        for name in find_skipped(root, agent):
            self._write_log(agent, f"the variable {name} is reserved and was left out")
        return agent

    def _choose_group(self, store: Store, agent: Agent) -> Agent:
        """Give the processes of an agent a control group where its limits ask for that and this machine has one."""
        limits = agent.plan.overrides.limits
        if agent.isolation == CONTAINER or not (limits.memory_bytes or limits.processes):
            return agent
        from oulipoly_engine.process.boxes.groups import choose_group

        self._end_group(agent)
        agent = replace(agent, plan=replace(agent.plan, group=choose_group(f"agents-{agent.agent_id}")))
        agents.change_plan(store, agent.agent_id, agent.plan, agent.digest)
        return agent

    def _prepare_runtime(self, store: Store, agent: Agent) -> Agent:
        """Write the tree of an agent that has a runtime of its own."""
        from oulipoly_engine.service.agents.supervisor import choose_address

        plan = agent.plan
        if not agent.isolation:
            guarded = Level.GUARDED.value
            with suppress(IsolationUnavailable):
                check_isolation(guarded)
                agent = replace(agent, isolation=guarded)
        if not agent.isolation:
            agent = replace(agent, isolation=Level.NONE.value)
        check_isolation(agent.isolation, agent.plan.container)
        agent = replace(agent, plan=replace(plan, address=choose_address(agent, self._home.paths.agent_sockets)))
        agents.change_isolation(store, agent.agent_id, agent.isolation)
        agents.change_plan(store, agent.agent_id, agent.plan, agent.digest)
        agent = self._choose_group(store, agent)
        self._write_tree(agent)
        self._require_held(agent)
        return agent

    def _require_held(self, agent: Agent) -> None:
        """Refuse an agent whose box does not hold here what its level promises. Raises IsolationUnavailable."""
        if agent.isolation not in (Level.GUARDED, Level.SEALED):  # a container is measured by who inspects it
            return
        from oulipoly_engine.service.start_probe import require_held

        root = self.root(agent)
        box = tool_start(root, agent).box
        assert box is not None  # noqa: S101 - of these levels
        require_held(box, root.parent)

    def _supervise(self, store: Store, agent: Agent) -> Agent:
        """Have a process of its own own an agent's runtime, and wait until that is ready. Raises AgentFailed."""
        from oulipoly_engine.service.agents.supervisor import start_supervisor

        start_supervisor(self._supervisor_order(agent))
        look_s = _FIRST_LOOK_S
        while agent.status == "starting" and not has_ended_mark(agent.owner or own_mark()):
            time.sleep(look_s)
            look_s = min(2 * look_s, _LOOK_S)
            agent = agents.read(store, agent.agent_id) or agent
        if not agent.is_ready:
            raise _RuntimeFailed(agent.problem or f"it is {agent.status}")
        return agent

    def _end_supervisor(self, agent: Agent) -> None:
        """Have the process end that owns an agent's runtime, and the runtime with it. Raises RequestRefused."""
        if not agent.has_own_runtime or not agent.owner or has_ended_mark(agent.owner):
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

    def _choose_isolation(self, agent: Agent, root: Path, runtime: Runtime) -> str:
        """Return the best level of this machine in which an agent's CLI says its version."""
        problem = ""
        for level in _DEFAULT_LEVELS:
            if level is not Level.NONE:
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
            if agent.has_own_runtime and not agent.plan.runtime.startswith("/"):
                place_runtime(self._home, agent.plan.runtime, root / RUNTIME_BINARY)
        except OSError as error:
            raise SystemRefused(f"the agent's files cannot be written: {error.strerror or error}") from error
        for sentence in missing:
            self._write_log(agent, sentence)

    def _pinned(self, agent: Agent) -> tuple[Note, ...]:
        """Return the notes that are part of an agent's context."""
        with self._home.lend_store_to_read() as store:
            return tuple(note for note in together.list_notes(store, agent.agent_id) if note.is_pinned)

    def _choose_name(self) -> str:
        import secrets

        with self._home.lend_store_to_read() as store:
            taken = {agent.name for agent in agents.list_agents(store)}
        while True:
            name = names.choose_name(secrets.randbelow(1 << 30))
            if name not in taken:
                return name


def _find_refusal(level: str) -> str:
    """Say why this machine cannot give a level; empty: it can."""
    try:
        check_isolation(level)
    except IsolationUnavailable as error:
        return error.message
    return ""

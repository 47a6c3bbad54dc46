"""How a live session is started: its CLI's words and environment, and the order for its host."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from oulipoly_engine import variables
from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts.accounts import USUAL_COMMAND_S, Account
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.agents.capabilities import PROMPT_S
from oulipoly_engine.core.agents.containers import CONTAINER
from oulipoly_engine.core.live.launch import arguments as launch_arguments
from oulipoly_engine.core.live.permissions import read_profile
from oulipoly_engine.core.live.retry import Policy
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.runs import markers
from oulipoly_engine.core.runs.invocations import PROCESS_SUFFIX
from oulipoly_engine.core.sessions.compaction import Rules
from oulipoly_engine.drivers.base import Opening
from oulipoly_engine.drivers.table import driver_of
from oulipoly_engine.errors import AccountUnusable, IsolationUnavailable
from oulipoly_engine.host.launcher import escape_word
from oulipoly_engine.paths import Paths
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.liveness import here
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.agents.tool_socket import (
    TOKEN_VARIABLE,
    ToolOrder,
    bridge_server,
    make_order,
    open_box,
    socket_path,
    wants_tools,
)
from oulipoly_engine.service.extensions.session_hooks import NO_EXTENSIONS, ExtensionOrder
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.forks import find_end, make_preface
from oulipoly_engine.service.live.host import Limits
from oulipoly_engine.service.live.runtimes.programs import launch_environment, prepare_homes
from oulipoly_engine.service.live.session_host import HostOrder, LiveHost
from oulipoly_engine.service.quota.choose import expect_turns
from oulipoly_engine.service.worktrees.base.git import without_repository
from oulipoly_engine.service.worktrees.base.guard import hold_for_start
from oulipoly_engine.service.worktrees.base.place import is_in_repository
from oulipoly_engine.service.worktrees.setup.ports import worktree_environment
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_entries, live_sessions
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.worktrees import worktrees

if TYPE_CHECKING:
    from oulipoly_engine.core.agents.agents import Agent
    from oulipoly_engine.core.worktrees.worktrees import Worktree
    from oulipoly_engine.service.agents.logins import CliAccount, CliStart
    from oulipoly_engine.service.extensions.handover import HandOver


class LiveLauncher(Record):
    """Starts the hosts of live sessions."""

    store: Store
    accounts: Mapping[str, Account]
    paths: Paths
    clock: Clock
    compaction: Rules = Rules()
    keeps_files: bool = False  # of checkouts, at the ends of turns
    writes_files: bool = False  # session files, after turns
    answer_tokens: int | None = None  # that an answer may have; None: as many as the CLI lets it
    temperature: float | None = None  # of the model; None: as the CLI has it
    command_s: int = USUAL_COMMAND_S  # that a command of the CLI's tools may run
    extensions: ExtensionOrder = NO_EXTENSIONS
    retry: Policy = Policy()
    hand_over: HandOver | None = None  # of what extensions give to CLIs

    def start(
        self,
        session: LiveSession,
        runtime: Runtime,
        cli: Cli | None,
        *,
        decision_json: str | None = None,
        parent: markers.ParentRef | None = None,
        has_prompt: bool = False,
    ) -> LiveHost | None:
        """Start the host of a session; None: another process has started one. Raises RunnerError.

        has_prompt: a first message follows, so that its account is charged from now on.
        """
        with hold_for_start(self.store, self.paths.locks, session.session_id, session.workspace):
            return self._start(session, runtime, cli, decision_json, parent, has_prompt=has_prompt)

    def _start(
        self,
        session: LiveSession,
        runtime: Runtime,
        cli: Cli | None,
        decision_json: str | None,
        parent: markers.ParentRef | None,
        *,
        has_prompt: bool,
    ) -> LiveHost | None:
        if not runtime.is_enabled:
            raise AccountUnusable(f"the runtime {runtime.id!r} is switched off: set `enabled = true` in config.toml")
        has_past = self._has_past(session, runtime)
        opening = self._opening(session, runtime, has_past=has_past)
        more = () if cli is None or cli.live is None else cli.live.reserved
        launch_arguments.refuse_reserved(runtime.id, runtime.kind, opening.args, more)  # they were kept, and may be old
        opening = replace(opening, args=(*opening.args, *session.opening.own_args))
        prepare_homes(runtime)
        if has_past and not driver_of(runtime.kind).resumes:
            self._add_preface(session)
        identity = str(uuid.uuid4())
        start = self._find_start(session, runtime, cli)
        tools = None
        if start is None:
            env = self._limits(cli) | self._environment(session, runtime, identity)
        else:
            own_ids = markers.parent_env(runtime.account or runtime.id, identity)
            env = {**self._limits(cli), **start.environment, **own_ids}
            opening = replace(opening, args=(*opening.args, *start.words))
            opening, env, tools = self._hand_tools(session, runtime, cli, opening, env)
        if self.hand_over is not None and start is None:  # in a box is what was declared, and nothing else
            opening, env = self.hand_over.give_session(opening, cli, runtime.kind, env)
        model_name = session.model_name
        row = invocations.begin(
            self.store,
            invocations.NewInvocation(
                uuid=identity,
                model=f"{model_name}~{PROCESS_SUFFIX}",
                account=runtime.account or runtime.id,
                member_index=None,
                created_at=self.clock.now(),
                parent=None if parent is None else (parent.source, parent.id),
                working_directory=session.workspace,
                owner_pid=os.getpid(),
                owner_place=here(),
                session_id=session.native_id,
                capture_method="none" if session.native_id is None else "resumed",
                decision_json=decision_json,
                project=session.workspace,
                expected_turns=expect_turns(self.store, model_name, session.workspace).turns if has_prompt else None,
            ),
        )
        words: tuple[str, ...] = (runtime.program,)
        box = None
        turn_s = 0
        if start is not None:
            turn_s = start.start.time_s
            words = (*start.start.before, start.start.program)
            box = start.start.box
        if tools is not None:
            box = open_box(box, tools.path)
        order = HostOrder(
            session_id=session.session_id,
            host_id=hosts.host_id(session.session_id),
            state_db=str(self.paths.state_db),
            folder=str(self.paths.live_runtime),
            logs=str(self.paths.terminal_logs),
            argv=tuple(map(escape_word, (*words, *driver_of(runtime.kind).words(opening)))),
            env={escape_word(key): escape_word(value) for key, value in env.items()},
            kind=runtime.kind,
            opening=opening,
            limits=Limits(
                startup_s=runtime.startup_s,
                idle_s=min(runtime.idle_s, session.opening.idle_s or runtime.idle_s),
                answer_s=runtime.answer_s,
                stderr_lines=runtime.stderr_lines,
                notice_s=session.opening.notice_s or Limits().notice_s,
                compaction=self.compaction,
                writes_file=self.writes_files,
                retry=self.retry,
                turn_silence_s=session.opening.turn_silence_s,
                turn_s=turn_s,
            ),
            invocation_row=row,
            invocation_uuid=identity,
            account=runtime.account or runtime.id,
            model_name=model_name,
            named_in=runtime.named_in,
            proxy=runtime.proxy,
            wire_log=str(self.wire_log(session.session_id)) if runtime.debug_native_events else "",
            options=options_of(session, runtime, self.extensions),
            extensions=self.extensions,
            keeps_files=self.keeps_files and is_in_repository(Path(session.workspace)),
            log=str(session_log(self.paths, session.session_id)) if session.opening.log else "",
            tools=tools,
            box=box,
            login=None if start is None else start.login,
        )
        host = hosts.start(self.paths, order)
        if host is None:
            invocations.drop(self.store, row)
        return host

    def wire_log(self, session_id: str) -> Path:
        """Return the file in which what a session's CLI says is kept, where its runtime asks for that."""
        return self.paths.terminal_logs / f"{session_id}.wire.jsonl"

    def _limits(self, cli: Cli | None) -> dict[str, str]:
        """Return the variables that tell a CLI what its answers and commands may take."""
        protocol = None if cli is None else cli.live
        if protocol is None:
            return {}
        limits = {
            protocol.answer_tokens: self.answer_tokens,
            protocol.command_ms: 0 if self.command_s == USUAL_COMMAND_S else 1000 * self.command_s,
        }
        environment = {name: str(limit) for name, limit in limits.items() if name and limit}
        if protocol.temperature is not None and self.temperature is not None:
            environment |= protocol.temperature(self.temperature)
        return environment

    def _find_start(self, session: LiveSession, runtime: Runtime, cli: Cli | None) -> CliStart | None:
        """Return how a CLI begins that nobody but us says the environment of; None: it has that of its account.

        Raises AgentStateInvalid where its agent does not run, ProgramMissing, IsolationUnavailable.
        """
        agent = agents.find_of_session(self.store, session.session_id)
        worktree = self._find_worktree(session)
        isolation = session.opening.isolation
        if worktree is not None and not isolation:  # what its CLI had before may be gone on with there
            isolation = worktree.isolation
        if agent is None and not isolation:
            return None
        from oulipoly_engine.service.agents.logins import CliAccount  # noqa: PLC0415 - few sessions are in boxes

        chosen = CliAccount(runtime, cli, self.accounts.get(runtime.account))
        if agent is not None:
            return self._start_of_agent(agent, session, chosen)
        if worktree is None:
            raise IsolationUnavailable(f"the session was held at {isolation} in a worktree that is not known any more")
        return self._start_of_work(worktree, isolation, session, chosen)

    def _start_of_agent(self, agent: Agent, session: LiveSession, chosen: CliAccount) -> CliStart:
        from oulipoly_engine.service.agents import logins, start  # noqa: PLC0415 - as above
        from oulipoly_engine.service.agents.tokens import write_agent_token  # noqa: PLC0415 - the same

        start.require_ready(agent)
        start.check_isolation(agent.isolation, agent.plan.container)
        token = write_agent_token(self.store, self.paths.token_secret, agent, self.clock.now())
        reach = start.ALL_NETWORK
        if token and agent.isolation != CONTAINER:  # there the socket of its tools is not
            reach = start.Reach(url=f"unix://{self._tool_socket(session)}", token=token)
        return logins.start_cli(self.paths.running_agents / agent.agent_id, agent, chosen, self.clock, reach)

    def _start_of_work(self, worktree: Worktree, isolation: str, session: LiveSession, chosen: CliAccount) -> CliStart:
        from oulipoly_engine.service.agents.work_box import WorkPlace, start_in_worktree  # noqa: PLC0415 - as above

        artifacts = session_artifacts(self.paths, session.session_id)
        root = self.paths.worktree_files / worktree.session_id
        addresses = session.opening.addresses
        place = WorkPlace(isolation, worktree, root, artifacts, addresses)
        start = start_in_worktree(place, chosen, self.clock)
        environment = {**start.environment, variables.SESSION_ARTIFACTS: str(artifacts)}
        return replace(start, environment=environment | worktree_environment(worktree))

    def _find_worktree(self, session: LiveSession) -> Worktree | None:
        """Return the worktree that a session works in, which may be that of the session it is a fork of."""
        worktree = worktrees.find(self.store, session.session_id)
        return worktree or worktrees.find_at(self.store, session.workspace)

    def _tool_socket(self, session: LiveSession) -> str:
        return socket_path(self.paths.live_runtime, hosts.host_id(session.session_id))

    def _hand_tools(
        self, session: LiveSession, runtime: Runtime, cli: Cli | None, opening: Opening, env: dict[str, str]
    ) -> tuple[Opening, dict[str, str], ToolOrder | None]:
        """Return what an agent's CLI is started with so that it has the tools of the agent's capabilities."""
        if TOKEN_VARIABLE not in env or not wants_tools(session, cli):
            return opening, env, None
        from oulipoly_engine.service.extensions.handover import OURS, HandOver  # noqa: PLC0415 - as above

        path = self._tool_socket(session)
        hand_over = HandOver({OURS: bridge_server(path, 2 * PROMPT_S)}, self.paths.home, self.paths.linked_homes)
        mark = {variables.PARENT_INVOCATION: env[variables.PARENT_INVOCATION]}
        order = make_order(path, markers.without_channel(inherited_environment()) | mark)
        return *hand_over.give_session(opening, cli, runtime.kind, env, allows=True), order

    def _environment(self, session: LiveSession, runtime: Runtime, identity: str) -> dict[str, str]:
        account = self.accounts.get(runtime.account)
        env = markers.without_channel(launch_environment(runtime, account, inherited_environment()))
        if session.opening.log:
            folder = session_artifacts(self.paths, session.session_id)
            make_folder(folder)
            env[variables.SESSION_ARTIFACTS] = str(folder)
        worktree = worktrees.find(self.store, session.session_id)
        if worktree is not None:  # begun by a hook of git, its CLI would commit to the hook's repository
            env = without_repository(env) | worktree_environment(worktree)
        env |= markers.parent_env(runtime.account or runtime.id, identity)
        return env | {variables.ARTIFACT_STORE: str(self.paths.artifacts)}

    def _has_past(self, session: LiveSession, runtime: Runtime) -> bool:
        """Tell whether there is something to go on with.

        A thread without a turn is not kept by every CLI: it is begun anew under the same id of ours. A turn that was
        written down only, and never begun by the CLI, is none.
        """
        is_named = driver_of(runtime.kind).names_turns
        has_begun = live_sessions.has_begun(self.store, session.session_id, are_named=is_named)
        return has_begun or session.opening.is_recorded

    def _add_preface(self, session: LiveSession) -> None:
        """Have the next message tell a CLI that resumes nothing what was said before."""
        live_entries.enter(self.store, session.session_id)
        preface = make_preface(self.store, find_end(self.store, session))
        live_sessions.change_opening(self.store, session.session_id, self.clock.now(), preface=preface)

    def _opening(self, session: LiveSession, runtime: Runtime, *, has_past: bool) -> Opening:
        options = session.opening
        goes_on = has_past and not session.is_branching
        resume = session.native_id or "" if goes_on and driver_of(runtime.kind).resumes else ""
        fork = "" if goes_on else options.fork_of
        return Opening(
            cwd=session.workspace,
            # Claude takes no id twice, even if all that it knows under it is a message that we believe lost.
            new_id=session.session_id if not session.generation else str(uuid.uuid4()),
            resume=fork or resume,
            fork=bool(fork),
            fork_at=options.fork_at if fork else "",
            model=options.model or runtime.model,
            effort=options.effort or runtime.effort,
            custom_models=runtime.custom_models,
            profile=read_profile(options.profile),
            never_asks=options.never_asks,
            start_words=runtime.start_words,
            args=options.args or runtime.args,
            marker=runtime.marker,
            startup_s=runtime.startup_s,
            request_s=runtime.request_s,
        )


def session_artifacts(paths: Paths, session_id: str) -> Path:
    """Return the folder in which a session's agent leaves files for people; its environment names it."""
    return paths.session_artifacts / f"session-{session_id}"


def session_log(paths: Paths, session_id: str) -> Path:
    """Return the file of what a session's CLI writes, where it is kept."""
    return paths.session_logs / f"session-{session_id}.log"


def options_of(session: LiveSession, runtime: Runtime, extensions: ExtensionOrder = NO_EXTENSIONS) -> str:
    """Return what a session's process is started with, in short: where it has changed, another one is needed."""
    options = session.opening
    said: tuple[object, ...] = (runtime, options.profile, options.args)
    if extensions.installed:
        said = (*said, [(each.name, each.source, each.digest) for each in extensions.installed])
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:16]

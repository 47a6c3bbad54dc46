"""What agents do: prompts, which are messages to live sessions, and tools."""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any

from oulipoly_engine.core.agents.agents import JOB_OPEN, Agent, Job
from oulipoly_engine.core.agents.capabilities import MOST_WAITING
from oulipoly_engine.core.agents.tools import check_tool
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.launch.cli_options import CliOptions, check_system_prompt, find_refusal
from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS
from oulipoly_engine.core.live.sessions import LiveSession, SessionOptions
from oulipoly_engine.core.runs.markers import ParentRef
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import AgentStateInvalid, JobNotFound, LinkMissing, RunnerError, UsageInvalid
from oulipoly_engine.facade.agents.agents import Agents
from oulipoly_engine.facade.base.agent_rights import require_right
from oulipoly_engine.facade.base.home import find_only
from oulipoly_engine.facade.live.catalogue import catalogue_of
from oulipoly_engine.process.liveness import own_mark
from oulipoly_engine.service.agents.job_host import MOST_JOBS, WorkerOrder, start_worker
from oulipoly_engine.service.agents.start import require_ready
from oulipoly_engine.service.agents.tools import Stream, Tools, end_process, redact_words
from oulipoly_engine.service.agents.tools import ToolResult as ToolResult
from oulipoly_engine.service.agents.tree import agent_prompt
from oulipoly_engine.store.agents import agents, jobs

_LOOK_S = 0.1
_IDLE_S = 60.0  # of a session to which whoever prompts comes back, or does not: its next message starts its CLI again
_LONGEST_INPUT = 16 << 20  # bytes of a tool's stdin, which is kept while it runs


class AgentWork(Agents):
    """The agents of one user, and what they are asked to do."""

    # Prompts ---------------------------------------------------------------------------------------------------------
    def begin_session(
        self,
        identity: str,
        *,
        has_tools: bool = True,
        title: str = "",
        parent: ParentRef | None = None,
        idle_s: float = _IDLE_S,
    ) -> LiveSession:
        """Begin a live session of an agent on the best account that serves it.

        It has the agent's texts behind its CLI's system prompt, works in the agent's workspace, in its environment and
        in its isolation. has_tools: False: its CLI gets none, where it can be held to that. idle_s: after how long
        without work its CLI is ended; 0: as its runtime says. Raises RunnerError.
        """
        agent = self._require_running(identity)
        prompted_by = require_right(self._home, "agent prompt", agent)
        self._refuse_loop(prompted_by)
        return self._begin(
            agent, has_tools=has_tools, title=title, parent=parent, prompted_by=prompted_by, idle_s=idle_s
        )

    def _begin(
        self,
        agent: Agent,
        *,
        has_tools: bool,
        title: str,
        parent: ParentRef | None,
        prompted_by: str,
        idle_s: float = _IDLE_S,
    ) -> LiveSession:
        """Begin a session as `begin_session` does. prompted_by: the session of another agent that waits for it."""
        from oulipoly_engine.facade.live.beginning import NewSession  # noqa: PLC0415 - 40 ms, only prompts need it

        refusals = self._serving().find_refusals(agent)
        session_id = str(uuid.uuid4())
        now = self._home.now()
        with self._home.lend_store() as store:
            agents.add_session(store, agent.agent_id, session_id, now, prompted_by)
        try:
            wish = self._wish(agent, has_tools=has_tools)
            begun = self._live().begin(
                NewSession(
                    self.root(agent) / "workspace",
                    **wish,
                    refusals=refusals,
                    session_id=session_id,
                    title=title or f"agent {agent.name}",
                    profile=agent.plan.profile or OF_NEW_SESSIONS,
                    parent=parent,
                    options=SessionOptions(idle_s=idle_s),
                )
            )
        except BaseException:
            with self._home.lend_store() as store:
                agents.drop_session(store, session_id)
            raise
        left_out = "".join(f"; left out was {account}: {reason}" for account, reason in refusals.items())
        self._write_log(agent, f"session {session_id} on {begun.session.runtime_id}: {begun.why}{left_out}")
        return begun.session

    def _refuse_loop(self, session_id: str) -> None:
        """Refuse a prompt where too many agents wait for one another. session_id: whose process asks; empty: none's."""
        with self._home.lend_store_to_read() as store:
            waiting = agents.list_waiting(store, session_id)
            known = {each.agent_id: each.name for each in agents.list_agents(store, has_removed=True)}
        if len(waiting) >= MOST_WAITING:
            chain = " > ".join(known.get(each, each) for each in reversed(waiting))
            raise LinkMissing(f"{chain} wait for one another already, and {MOST_WAITING} are the most: answer instead")

    def find_session(self, identity: str, session: str) -> LiveSession:
        """Return a session of an agent, to go on with it, by the beginning of its id.

        Raises UsageInvalid where it is another's, RequestRefused to what an agent has started.
        """
        agent = self._require_running(identity)
        require_right(self._home, "agent chat", agent)
        live = self._live().find(session)
        with self._home.lend_store_to_read() as store:
            owner = agents.find_of_session(store, live.session_id)
        if owner is None or owner.agent_id != agent.agent_id:
            raise UsageInvalid(f"the session {session[:80]} is not one of the agent {agent.name}")
        return live

    def find_newest_session(self, identity: str) -> str | None:
        """Return the session of an agent that began last; None: it has none. Raises AgentNotFound."""
        agent = self._require_running(identity)
        with self._home.lend_store_to_read() as store:
            return next(iter(agents.list_sessions(store, agent.agent_id)), None)

    def close_session(self, session_id: str) -> None:
        """End the process of a session; its next message starts it again."""
        try:
            self._live().order(session_id, orders.Close(), starts=False)
        except RunnerError:  # it has ended by itself
            return

    def _require_running(self, identity: str) -> Agent:
        agent = self.find(identity)
        require_ready(agent)
        if agent.has_own_runtime:
            raise AgentStateInvalid(f"the agent {agent.name} runs {agent.plan.runtime}, which takes no prompts from us")
        return agent

    def _wish(self, agent: Agent, *, has_tools: bool) -> Mapping[str, Any]:
        """Return where a session of an agent begins, and what is asked of its CLI."""
        root = self.root(agent)
        text = check_system_prompt(agent_prompt(root, agent, self._bin_dirs(agent), self._pinned(agent)))
        has_tools = has_tools or not self._can_forbid_tools(agent)
        asks = CliOptions(system_prompt=text, tools=None if has_tools else ())
        model = agent.plan.model
        if model in self._home.files.model_names():
            return {"model": model, "asks": asks}
        if model:
            provider, _, name = model.partition("/")
            return {"provider": provider, "cli_model": name, "asks": asks}
        return {"asks": asks}

    def _can_forbid_tools(self, agent: Agent) -> bool:
        """Tell whether a CLI that serves an agent can be held to no tools."""
        clis = catalogue_of(self._home).clis
        asks = CliOptions(tools=())
        return any(not find_refusal(each, clis.get(each.id), asks) for each in self._find_runtimes(agent))

    # Tools -----------------------------------------------------------------------------------------------------------
    def exec(
        self,
        identity: str,
        tool: str,
        arguments: tuple[str, ...] = (),
        stdin: bytes = b"",
        *,
        stdout: Stream | None = None,
        stderr: Stream | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Run a declared tool of an agent to its end. stdout, stderr: get what it writes as it comes.

        Raises AgentNotFound, AgentStateInvalid, ToolUnknown, ToolMissing, SpawnFailed, Interrupted.
        """
        self._home.refuse_if_read_only("run a tool of an agent")
        agent = self.find(identity)
        require_right(self._home, "agent exec", agent)
        if len(stdin) > _LONGEST_INPUT:
            raise UsageInvalid(f"stdin has more than {_LONGEST_INPUT >> 20} MB: give the tool a file")
        now = self._home.now()
        job_id = f"exec_{uuid.uuid4()}"
        mark = own_mark()
        job = Job(job_id, agent.agent_id, "exec", tool, "running", now, arguments, owner=mark, begun_at=now)
        with self._home.lend_store() as store:
            jobs.insert(store, redact_words(job))
            self._settle(store)
            runner = Tools(store, self._home.paths.running_agents, self._home.now)
            result = runner.run(agent, job, stdin, stdout=stdout, stderr=stderr, timeout_s=timeout_s)
            if result.limit:
                self._write_log(agent, f"{tool}: {result.limit}")
            return result

    # Jobs ------------------------------------------------------------------------------------------------------------
    def run_job(
        self, identity: str, tool: str, arguments: tuple[str, ...], stdin: bytes, labels: Mapping[str, str]
    ) -> Job:
        """Have a tool of an agent run in the background, and return its job, which waits or runs.

        What it is given is kept until it has ended. Raises AgentNotFound, AgentStateInvalid, ToolUnknown, UsageInvalid.
        """
        self._home.refuse_if_read_only("run a tool of an agent")
        agent = self.find(identity)
        require_right(self._home, "job run", agent)
        require_ready(agent)
        check_tool(tool, [each.name for each in agent.plan.tools])
        text = stdin.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
        if any(redact(word) != word for word in (*arguments, text)):
            raise UsageInvalid("a job's words and stdin are kept, and these hold what looks like a secret: use exec")
        job_id = f"job_{uuid.uuid4()}"
        job = Job(job_id, agent.agent_id, "job", tool, "pending", self._home.now(), arguments, text, labels)
        with self._home.lend_store() as store:
            jobs.insert(store, job)
            self._settle(store)
        self._dispatch()
        return self.find_job(job_id)

    def list_jobs(self, identity: str = "", labels: Mapping[str, str] | None = None) -> tuple[Job, ...]:
        """Return the jobs, the newest first; of one agent, or those that have all these labels."""
        agent_id = self.find(identity).agent_id if identity else ""
        self.settle()
        with self._home.lend_store_to_read() as store:
            return jobs.list_jobs(store, agent_id, kind="job", labels=labels)

    def find_job(self, identity: str) -> Job:
        """Return the job or the exec whose id begins so. Raises JobNotFound, IdAmbiguous."""
        with self._home.lend_store_to_read() as store:
            matches = jobs.find(store, identity) if identity else ()
        none = JobNotFound(f"there is no job {identity[:80]!r}: `agents job ls` lists them")
        return find_only(matches, lambda job: job.job_id, identity, "jobs", none)

    def await_job(self, identity: str, timeout_s: float | None = None) -> Job:
        """Wait for the end of a job, and return it as it is then, or when the time is over."""
        job = self.find_job(identity)
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while job.status in JOB_OPEN and (deadline is None or time.monotonic() < deadline):
            time.sleep(_LOOK_S)
            self.settle()
            job = self.find_job(job.job_id)
        return job

    def cancel_job(self, identity: str) -> Job:
        """End a job that waits or runs. Raises JobNotFound, AgentStateInvalid where it has ended."""
        self._home.refuse_if_read_only("cancel a job")
        job = self.find_job(identity)
        with self._home.lend_store() as store:
            require_right(self._home, "job cancel", agents.read(store, job.agent_id))
            if not jobs.move(store, job.job_id, "cancel", self._home.now(), problem="it was cancelled", input=""):
                raise AgentStateInvalid(
                    f"the job {job.job_id} is not running: it is {self.find_job(job.job_id).status}"
                )
            end_process(self.find_job(job.job_id))
            self._settle(store)
        return self.find_job(job.job_id)

    def settle(self) -> None:
        """Note which agents work and which rest, and have jobs run that wait."""
        with self._home.lend_store_to_read() as store:
            self._home.write_along(store, lambda: self._settle(store), None)
        self._dispatch()

    def _dispatch(self) -> None:
        """Start a worker where jobs wait and fewer run than may."""
        if self._home.read_only:
            return
        with self._home.lend_store_to_read() as store:
            counts = Counter(job.status for job in jobs.list_open(store))
        if counts["pending"] and counts["running"] < MOST_JOBS:
            start_worker(WorkerOrder(str(self._home.paths.state_db), str(self._home.paths.running_agents)))


def ask_for_json(text: str, schema: Mapping[str, Any]) -> str:
    """Return a prompt that asks for an answer of a schema."""
    described = json.dumps(schema, ensure_ascii=False)
    return f"{text}\n\nAnswer with one JSON value and no other word. This JSON Schema says what it may be:\n{described}"

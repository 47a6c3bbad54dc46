"""A tool of an agent, run to its end or to the end of whoever wanted it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

from oulipoly_engine.core.agents.agents import Agent, Job
from oulipoly_engine.core.agents.containers import FAILED
from oulipoly_engine.core.agents.limits import box_limits, explain_time
from oulipoly_engine.core.agents.tools import check_tool
from oulipoly_engine.core.boxes.box import Network
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import Interrupted, RunnerError, SpawnFailed, ToolMissing
from oulipoly_engine.executors.container_process import take_outcome
from oulipoly_engine.process.command import Command, ProcessResult
from oulipoly_engine.process.liveness import has_ended, here, start_ticks
from oulipoly_engine.process.run import run
from oulipoly_engine.process.stop import GroupWatch, group_lives, stop_group
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.agents.limit_watch import LimitWatch
from oulipoly_engine.service.agents.start import (
    AgentStart,
    check_isolation,
    outcome_file,
    require_ready,
    tool_start,
)
from oulipoly_engine.store.agents import jobs
from oulipoly_engine.store.base.db import Store

_TAIL = 64 << 10  # bytes of each stream that are kept
TIMED_OUT = 124


class Stream(Protocol):
    """Where bytes of a tool go as they come."""

    def write(self, data: bytes, /) -> object:
        """Take them."""


class ToolResult(Record):
    """What came of a tool."""

    job: Job
    exit_code: int = 0
    stdout: bytes = b""  # its end
    stderr: bytes = b""
    timed_out: bool = False
    limit: str = ""  # which limit of its agent has ended it, in words


class Tail:
    """The end of a stream, as it is kept: without secrets that are known as such."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.size = 0  # bytes of the whole stream

    def add(self, data: bytes | memoryview) -> None:
        """Take what came."""
        self._data += data
        self.size += len(data)
        del self._data[:-_TAIL]

    def text(self) -> str:
        """Return it as text. The word at which it was cut off is left out: the rest of a secret is not known as one."""
        data = bytes(self._data)
        if self.size > len(data):
            data = data.split(None, 1)[-1]
        return redact(data.decode("utf-8", "replace"))


class _Sink:
    """Passes bytes on as they come; a receiver that fails is given no more, and hinders nothing."""

    def __init__(self, stdout: Stream | None, stderr: Stream | None) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self.stdout_tail = Tail()
        self.stderr_tail = Tail()

    def read(self, data: memoryview) -> None:
        """Look for nothing in it."""

    def stdout(self, data: memoryview) -> None:
        """Pass bytes of its stdout on."""
        self.stdout_tail.add(data)
        self._stdout = _write(self._stdout, data)

    def stderr(self, data: memoryview) -> None:
        """Pass bytes of its stderr on."""
        self.stderr_tail.add(data)
        self._stderr = _write(self._stderr, data)

    def tick(self, idle_s: float) -> None:
        """Do nothing."""


class Tools:
    """The tools of agents, with what they leave as evidence."""

    def __init__(self, store: Store, folder: Path, now: Callable[[], datetime]) -> None:
        """folder: of the trees of all agents."""
        self._store = store
        self._folder = folder
        self._now = now

    def run(
        self,
        agent: Agent,
        job: Job,
        stdin: bytes = b"",
        *,
        stdout: Stream | None = None,
        stderr: Stream | None = None,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Run the tool of a job that was written down, and return how it ended.

        stdout, stderr: get what it writes as it comes. Raises AgentStateInvalid, ToolUnknown, ToolMissing,
        SpawnFailed, and Interrupted once its whole group is gone.
        """
        sink = _Sink(stdout, stderr)
        try:
            root = self._folder / agent.agent_id
            start = self._start(agent, job)
            with (
                ExitStack() as stack,
                LimitWatch(start.box) as limits,
                _Watched(self._store, job, limits) as watched,
            ):
                if start.box is not None and start.box.network is Network.PROXY:
                    from oulipoly_engine.service.agents.logins import reach_addresses  # noqa: PLC0415 - 40 ms, few do

                    start = stack.enter_context(reach_addresses(start, agent, root))
                command = _make_command(start, root, agent, job, stdin, timeout_s)
                result = run(command, sink, watched.note)
            outcome = take_outcome(outcome_file(root, job.job_id))
            if result.exit_code == FAILED and outcome.problem:
                raise SpawnFailed(outcome.problem)
        except Interrupted:
            self._end(job, sink, None, "cancel", "it was interrupted")
            raise
        except RunnerError as error:
            self._end(job, sink, None, "fail", error.message)
            raise
        timed_out = result.stopped_for == "timeout"
        limit = outcome.problem or _explain_end(agent, result, timeout_s, limits)
        if result.stopped_for == "stopped":
            self._end(job, sink, result, "cancel", "it was stopped")
        else:
            self._end(job, sink, result, "end", limit or ("it took too long" if timed_out else ""))
        code = TIMED_OUT if timed_out else result.exit_code
        return ToolResult(job, code, result.stdout_tail, result.stderr_tail, timed_out, limit)

    def _start(self, agent: Agent, job: Job) -> AgentStart:
        require_ready(agent)
        check_tool(job.tool, [tool.name for tool in agent.plan.tools])
        root = self._folder / agent.agent_id
        program = root / "usr/bin" / job.tool
        if not program.is_file():
            raise ToolMissing(
                f"the tool {job.tool!r} is declared and its program is not in the agent: pull its image and "
                f"start the agent again, or run one with --tool {job.tool}=PROGRAM"
            )
        check_isolation(agent.isolation, agent.plan.container)
        return tool_start(root, agent, job.tool, job.job_id)

    def _end(self, job: Job, sink: _Sink, result: ProcessResult | None, event: str, problem: str) -> None:
        """Write down how a tool ended; without secrets that are known as such."""
        changes: dict[str, object] = {"input": "", "exit_code": None if result is None else result.exit_code}
        changes |= {"stdout": sink.stdout_tail.text(), "stdout_bytes": sink.stdout_tail.size}
        changes |= {"stderr": sink.stderr_tail.text(), "stderr_bytes": sink.stderr_tail.size}
        jobs.move(self._store, job.job_id, event, self._now(), problem=redact(problem), **changes)


def _make_command(
    start: AgentStart, root: Path, agent: Agent, job: Job, stdin: bytes, timeout_s: float | None
) -> Command:
    return Command(
        (*start.before, start.program, *job.arguments),
        start.environment,
        root / "workspace",
        stdin=stdin or None,
        timeout_s=_least(timeout_s, agent.plan.overrides.limits.time_s),
        is_configured=False,
        box=start.box,
    )


def _least(timeout_s: float | None, limit_s: int) -> float | None:
    return min((seconds for seconds in (timeout_s, limit_s) if seconds), default=None)


def _explain_end(agent: Agent, result: ProcessResult, timeout_s: float | None, watch: LimitWatch) -> str:
    limits = agent.plan.overrides.limits
    if result.stopped_for == "timeout":
        return "" if _least(timeout_s, limits.time_s) == timeout_s else explain_time(limits.time_s)
    return watch.explain(result.exit_code, result.stderr_tail, box_limits(limits))


def end_process(job: Job) -> None:
    """End the group of a tool whose job is over and that may still run."""
    if not job.handle:
        return
    pid, ticks, place = job.handle.split(" ", 2)
    if place != (here() or "") or has_ended(int(pid), int(ticks)):  # elsewhere its number means another process
        return
    group = int(pid)
    stop_group(group, lambda: not group_lives(group))


class _Watched:
    """Notes the group of a tool, and has it end if we are killed."""

    def __init__(self, store: Store, job: Job, limits: LimitWatch) -> None:
        self._store = store
        self._job = job
        self._limits = limits
        self._watch: GroupWatch | None = None

    def __enter__(self) -> _Watched:
        return self

    def __exit__(self, *_: object) -> None:
        if self._watch is not None:
            self._watch.close()

    def note(self, pid: int) -> None:
        with suppress(OSError):
            self._watch = GroupWatch(pid)
        self._limits.begin(pid)
        handle = f"{pid} {start_ticks(pid) or 0} {here() or ''}"
        if not jobs.note(self._store, self._job.job_id, handle=handle):  # cancelled before anybody knew its number
            stop_group(pid, lambda: not group_lives(pid))


def _write(stream: Stream | None, data: memoryview) -> Stream | None:
    if stream is None:
        return None
    try:
        stream.write(bytes(data))
    except (OSError, ValueError, RuntimeError):
        return None
    return stream


def redact_words(job: Job) -> Job:
    """Return a job as it is written down: its arguments without secrets that are known as such."""
    return replace(job, arguments=tuple(map(redact, job.arguments)))

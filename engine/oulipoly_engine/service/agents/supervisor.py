"""The process that owns an agent's own runtime: it starts that, asks whether it is ready, and starts it again.

    starting --answers--> ready --ends--> failed/crashed, or stopped where its exit code is 0
    starting --ends--> failed/init --pause--> starting; starting --60 s--> failed/readiness_timeout
    TERM: INT to the runtime, 10 s, KILL to its group; then stopped

A sealed runtime has a loopback of its own. It is reached by a Unix socket of ours (`InboundSocket`), and reaches what
its proxy lets through, which is served here.

Run as a module by `start_supervisor`. One that is killed takes its runtime with it (`GroupWatch`), and the next command
says that the agent has crashed.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.agents.containers import CONTAINER, CONTAINER_ROOT, PORT
from oulipoly_engine.core.agents.environment import runtime_words
from oulipoly_engine.core.agents.limits import box_limits, explain_time
from oulipoly_engine.core.agents.states import Event, Reason, Standing, backoff_s, is_retried
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.errors import AgentStateInvalid, RunnerError
from oulipoly_engine.executors.container_process import take_outcome
from oulipoly_engine.host import launcher, runtime_folder
from oulipoly_engine.host.loop import READ, Loop
from oulipoly_engine.process.boxes.inbound import InboundSocket
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.liveness import own_mark
from oulipoly_engine.process.spawn import DEVNULL, Child, spawn
from oulipoly_engine.process.stop import GroupWatch, find_boxed_group, group_lives, stop, stop_group, wait_for_end
from oulipoly_engine.records import Record, msgspec, prepare, replace
from oulipoly_engine.service.agents.limit_watch import LimitWatch
from oulipoly_engine.service.agents.log import write_line, write_log
from oulipoly_engine.service.agents.start import AgentStart, outcome_file, runtime_start
from oulipoly_engine.service.agents.tracker import StatusTracker
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.base.db import Store, open_store

_MODULE = "oulipoly_engine.service.agents.supervisor"
_CHUNK = 64 << 10
_CLOSE_S = 1.0  # after which a connection that Docker took is closed, if nothing listens behind it
_LOOK_GROWTH = 1.2  # a runtime that takes a second is waited for a fifth of one too long, not for another
_HOLDER_S = 5.0  # that the process which holds a container takes beside the grace of what runs in it, and to find it
_HOLDER_LOOK_S = 0.05
_BOX_END_S = 1.0
_KILL = (signal.SIGKILL, 5.0)
_UNIX = "unix:"  # before the address of a sealed runtime


class Pace(Record):
    """How patient a supervisor is, in seconds."""

    first_look_s: float = 0.01  # between two questions whether the runtime is ready; grows
    longest_look_s: float = 2.0
    ready_s: float = 60.0
    base_s: float = 1.0  # before the first new start; doubles
    cap_s: float = 30.0
    grace_s: float = 10.0  # that a runtime has to end after INT
    turn_s: float = 1.0  # the longest wait at a time; signals end it


class SupervisorOrder(Record):
    """What a supervisor needs to know."""

    state_db: str
    folder: str  # of the trees of all agents
    log: str
    agent_id: str


def start_supervisor(order: SupervisorOrder) -> None:
    """Start a supervisor, which owns the agent once this returns. Raises SpawnFailed."""
    launcher.launch(_MODULE, msgspec.json.encode(order))


def main() -> None:
    """Take the order and be the supervisor; never returns."""
    order = msgspec.json.decode(launcher.read_order(), type=prepare(SupervisorOrder))
    launcher.detach(lambda: _host(order))


def _host(order: SupervisorOrder) -> None:
    store = open_store(Path(order.state_db))
    agents.change_owner(store, order.agent_id, own_mark())
    launcher.answer(b"{}", None)
    with Loop() as loop:
        supervisor = Supervisor(store, loop, Path(order.folder), Path(order.log), order.agent_id)
        loop.take_signals(ignored=(signal.SIGHUP, signal.SIGINT), on_term=lambda *_: supervisor.ask_stop())
        supervisor.run()


class Supervisor:
    """One agent's runtime, from its first start to its end."""

    def __init__(
        self,
        store: Store,
        loop: Loop,
        folder: Path,
        log: Path,
        agent_id: str,
        pace: Pace = Pace(),  # noqa: B008
    ) -> None:
        self._store = store
        self._loop = loop
        self._folder = folder
        self._log = log
        self._agent_id = agent_id
        self._pace = pace
        self._now: Callable[[], datetime] = SystemClock().now
        self._is_asked = False
        self._process: Child | None = None
        self._written = b""  # by the runtime, its end
        self._inbound: InboundSocket | None = None  # of a sealed one
        self.tracker = StatusTracker(self._agent.standing)

    @property
    def _agent(self) -> Agent:
        agent = agents.read(self._store, self._agent_id)
        if agent is None:
            raise AgentStateInvalid("the agent is removed")
        return agent

    @property
    def _outcome(self) -> Path:
        """Return the file that says what came of its container, there from when a process holds that."""
        return outcome_file(self._folder / self._agent_id, f"otters-{self._agent_id}")

    def ask_stop(self) -> None:
        """Have it end; may be called from a signal handler."""
        self._is_asked = True

    def run(self) -> None:
        """Start the runtime until it has run, or until somebody stops it."""
        failures = 0
        while True:
            self._run_once()
            if not is_retried(self.tracker.standing) or self._is_asked:
                break
            pause_s = backoff_s(failures, self._pace.base_s, self._pace.cap_s)
            self._say(f"it is started again in {pause_s:g} s")
            if not self._wait_until(lambda: False, pause_s) or not (self._move("start") and self._move("image_ready")):
                break
            failures += 1
        agents.change_owner(self._store, self._agent_id, "")

    def _run_once(self) -> None:
        """Start the runtime once, and stay until it has ended."""
        agent = self._agent
        root = self._folder / agent.agent_id
        is_adopted = agent.is_ready  # whose supervisor was killed: its container runs on
        take_outcome(self._outcome)  # of one whose supervisor was killed
        start = runtime_start(root, agent, is_adopted=is_adopted, grace_s=self._pace.grace_s)
        with ExitStack() as stack, LimitWatch(start.box) as self._limits:
            try:
                process = self._start(agent, self._connect(agent, start, stack))
            except (RunnerError, OSError) as error:
                self._fail("init", str(error))
                return
            self._limits.begin(process.pid)
            self._process = process
            try:
                with GroupWatch(process.pid):
                    self._await_end(process, agent.plan.address)
            finally:
                self._end(process)

    def _connect(self, agent: Agent, start: AgentStart, stack: ExitStack) -> AgentStart:
        """Give a sealed runtime what it reaches and is reached by, until the stack ends."""
        self._inbound = None
        if start.box is None or not agent.plan.address.startswith(_UNIX):
            return start
        from oulipoly_engine.service.agents.logins import reach_addresses  # noqa: PLC0415 - 40 ms, only sealed ones

        reaching = stack.enter_context(reach_addresses(start, agent, self._folder / agent.agent_id))
        path = Path(agent.plan.address.removeprefix(_UNIX))
        runtime_folder.ensure(path.parent)
        inbound = self._inbound = stack.enter_context(InboundSocket(path, PORT))
        stack.callback(self._loop.forget, inbound.ready)
        self._loop.watch(inbound.ready, READ, self._look_at_inbound)
        return replace(reaching, box=reaching.box and replace(reaching.box, inbound=inbound.inbound))

    def _look_at_inbound(self) -> None:
        if self._inbound is not None and not self._inbound.look():
            self._loop.forget(self._inbound.ready)

    def _start(self, agent: Agent, start: AgentStart) -> Child:
        root = self._folder / agent.agent_id
        words = (*start.before, *self._runtime_words(root, agent, start.program))
        process = spawn(
            Command(words, start.environment, root / "workspace", is_configured=False, box=start.box), stdin=DEVNULL
        )
        if self._inbound is not None:
            self._inbound.hand_over()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._loop.watch(stream, READ, partial(self._copy, stream))
        return process

    def _runtime_words(self, root: Path, agent: Agent, program: str) -> tuple[str, ...]:
        plan = agent.plan
        if agent.isolation == CONTAINER:
            address = f"0.0.0.0:{PORT}"
            return runtime_words(CONTAINER_ROOT, plan.model, plan.exec_words, address, program=program)
        address = f"127.0.0.1:{PORT}" if plan.address.startswith(_UNIX) else plan.address
        return runtime_words(str(root), plan.model, plan.exec_words, address)

    def _explain_end(self, process: Child) -> str:
        """Say how a runtime has ended, and why where its container knows."""
        if problem := take_outcome(self._outcome).problem:
            return problem
        code = process.returncode
        what = f"its runtime has ended with exit code {code}"
        if code is None:
            code = -signal.SIGKILL
            what = "the relay that leads into its box was ended"
        limits = box_limits(self._agent.plan.overrides.limits)
        why = self._limits.explain(code if code >= 0 else 128 - code, self._written, limits)
        return what + (f": {why}" if why else "")

    def _await_end(self, process: Child, address: str) -> None:
        """Ask whether it is ready, and wait for its end."""
        deadline = time.monotonic() + self._pace.ready_s
        look_s = self._pace.first_look_s
        in_container = self._agent.isolation == CONTAINER
        # Docker takes connections before it starts the container.
        while (in_container and not self._outcome.exists()) or not self._is_answered(address):
            if not self._wait_until(lambda: self._has_ended(process) or self._is_reached(), look_s):
                self._stop(process)
                return
            if self._has_ended(process):
                self._fail("init", f"before it was ready: {self._explain_end(process)}")
                return
            if time.monotonic() >= deadline:
                self._fail("readiness_timeout", f"its runtime did not answer at {address} in {self._pace.ready_s:g} s")
                return
            look_s = min(_LOOK_GROWTH * look_s, self._pace.longest_look_s)
        if self._agent.is_ready:
            self._say("its container runs on")
        elif not self._move("answer", owner=own_mark()):
            self._stop(process)
            return
        else:
            self._say("ready")
        limits = self._agent.plan.overrides.limits
        if not self._wait_until(lambda: self._has_ended(process), limits.time_s or None):
            self._stop(process)
        elif not self._has_ended(process):
            self._fail("crashed", explain_time(limits.time_s))
        elif process.returncode == 0 and not self._limits.is_beyond:
            self._move("stop")
        else:
            self._fail("crashed", self._explain_end(process))

    def _is_reached(self) -> bool:
        return self._inbound is not None and self._inbound.is_ready

    def _has_ended(self, process: Child) -> bool:
        """Return whether a runtime has ended, or nothing leads to it any more."""
        if self._inbound is None or not self._inbound.is_lost:
            return process.poll() is not None
        wait_for_end(process, _BOX_END_S)  # as the rest of its box does, if that ends too
        return True

    def _is_answered(self, address: str) -> bool:
        if self._inbound is not None:
            return self._inbound.is_ready
        return _answers(address, in_container=self._agent.isolation == CONTAINER)

    def _wait_until(self, is_so: Callable[[], bool], patience_s: float | None) -> bool:
        """Wait until something is so, or so long; return False where somebody wants the runtime to end instead."""
        deadline = None if patience_s is None else time.monotonic() + patience_s
        while not self._is_asked:
            left = self._pace.turn_s if deadline is None else deadline - time.monotonic()
            if is_so() or left <= 0:
                return True
            self._loop.turn(min(left, self._pace.turn_s))
        return False

    def _stop(self, process: Child) -> None:
        more_s = 0.0
        if self._agent.isolation == CONTAINER:
            more_s = _HOLDER_S
            self._await_holder(process)
        grace = (signal.SIGINT, self._pace.grace_s + more_s)
        boxed = find_boxed_group(process.pid) if self._inbound is not None else None
        if boxed is None:
            stop(process, (grace, _KILL))
        else:  # what waits for it outside of the box would end of the signal at once, and the box with it
            stop_group(boxed, lambda: process.poll() is not None, (grace,))
            stop(process, (_KILL,))
        self._move("stop")
        self._say("stopped")

    def _await_holder(self, process: Child) -> None:
        """Wait until a process holds its container: one that only starts would end by a signal, and leave that."""
        deadline = time.monotonic() + _HOLDER_S
        while not self._outcome.exists() and process.poll() is None and time.monotonic() < deadline:
            self._loop.turn(_HOLDER_LOOK_S)

    def _end(self, process: Child) -> None:
        """Leave nothing of a runtime, and no pipe of it."""
        if group_lives(process.pid):
            stop(process, (_KILL,))
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                self._copy(stream)
                self._loop.forget(stream)
                stream.close()
        take_outcome(self._outcome)

    def _copy(self, stream: IO[bytes]) -> None:
        data = b""
        with suppress(BlockingIOError):
            data = os.read(stream.fileno(), _CHUNK)
        if data:
            self._written = (self._written + data)[-_CHUNK:]
            from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 6 ms, before it is ready few write

            write_log(self._log, redact(data.decode("utf-8", "replace")))
        else:
            self._loop.forget(stream)

    def _move(self, event: Event, *, owner: str | None = None) -> bool:
        """Move by the table, in the records and for who listens; return whether it could be."""
        try:
            agents.move(self._store, self._agent_id, event, self._now(), owner=own_mark() if owner is None else owner)
        except AgentStateInvalid:  # somebody was first: what they wrote holds
            self.tracker.force(self._agent.standing)
            return False
        self.tracker.force(self._agent.standing)
        return True

    def _fail(self, reason: Reason, detail: str) -> None:
        from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - the same

        events: dict[Reason, Event] = {"crashed": "crash", "readiness_timeout": "time_out"}
        with suppress(AgentStateInvalid):
            agents.move(
                self._store,
                self._agent_id,
                events.get(reason, "fail"),
                self._now(),
                reason=reason,
                detail=redact(detail),
                owner=own_mark(),
            )
        self.tracker.force(self._agent.standing)
        self._say(f"{self._describe(self.tracker.standing)}: {detail}")

    def _describe(self, standing: Standing) -> str:
        return f"{standing.status} ({standing.reason})" if standing.reason else standing.status

    def _say(self, text: str) -> None:
        write_line(self._log, text, self._now())


def choose_address(agent: Agent, sockets: Path) -> str:
    """Return where an agent's own runtime is reached: `unix:PATH` of a sealed one, else `127.0.0.1:PORT`, as before.

    sockets: the folder of those.
    """
    if agent.isolation == Level.SEALED:
        return f"{_UNIX}{sockets}/{agent.agent_id.replace('-', '')[:12]}.sock"
    if agent.plan.address and not agent.plan.address.startswith(_UNIX):
        return agent.plan.address
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"


def _answers(address: str, *, in_container: bool = False) -> bool:
    """Tell whether something takes connections.

    in_container: Docker takes them itself, and closes those that nothing listens to inside.
    """
    host, _, port = address.rpartition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), timeout=1.0) as connection:
        if not in_container:
            return True
        connection.settimeout(_CLOSE_S)
        try:
            return connection.recv(1) != b""
        except TimeoutError:
            return True
    return False


if __name__ == "__main__":
    main()

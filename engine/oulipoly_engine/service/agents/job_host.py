"""A process that runs jobs of agents, one after the other, until none waits; several share them.

Run as a module by `start_worker`. What it ran when it was killed is orphaned by the next command; what waits stays.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.agents.agents import Job
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.host import launcher
from oulipoly_engine.process.liveness import own_mark
from oulipoly_engine.records import Record, msgspec, prepare
from oulipoly_engine.service.agents.tools import Tail, Tools
from oulipoly_engine.store.agents import agents, jobs
from oulipoly_engine.store.base.db import Store, open_store

MOST_JOBS = 10  # that run at once
_MODULE = "oulipoly_engine.service.agents.job_host"
_FLUSH_S = 0.2


class WorkerOrder(Record):
    """What a worker needs to know."""

    state_db: str
    folder: str  # of the trees of all agents


def start_worker(order: WorkerOrder) -> None:
    """Start a worker, which looks for itself what waits. Raises SpawnFailed."""
    launcher.launch(_MODULE, msgspec.json.encode(order))


def main() -> None:
    """Take the order and work; never returns."""
    order = msgspec.json.decode(launcher.read_order(), type=prepare(WorkerOrder))
    launcher.detach(lambda: _work(order))


def _work(order: WorkerOrder) -> None:
    launcher.answer(b"{}", None)
    store = open_store(Path(order.state_db))
    now = SystemClock().now
    while (job := jobs.claim(store, own_mark(), MOST_JOBS, now())) is not None:
        run_job(store, Tools(store, Path(order.folder), now), job)


def run_job(store: Store, tools: Tools, job: Job) -> None:
    """Run a job that was claimed; whatever comes of it is written down."""
    agent = agents.read(store, job.agent_id)
    if agent is None:
        return
    stdout = _Flusher(store, job, "stdout")
    stderr = _Flusher(store, job, "stderr")
    with suppress(RunnerError):
        tools.run(agent, job, job.input.encode("utf-8", "surrogateescape"), stdout=stdout, stderr=stderr)


class _Flusher:
    """Writes the end of a stream down while it comes."""

    def __init__(self, store: Store, job: Job, column: str) -> None:
        self._store = store
        self._job_id = job.job_id
        self._column = column
        self._tail = Tail()
        self._flushed_at = 0.0

    def write(self, data: bytes) -> None:
        self._tail.add(data)
        if time.monotonic() - self._flushed_at < _FLUSH_S:
            return
        self._flushed_at = time.monotonic()
        changes = {self._column: self._tail.text(), f"{self._column}_bytes": self._tail.size}
        jobs.note(self._store, self._job_id, **changes)


if __name__ == "__main__":
    os.umask(0o077)
    main()

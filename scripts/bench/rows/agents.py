"""Agents: built, started, listed, and many at once."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from measure import BenchBroken, Command, Pairs, isolated, pairs, run
from report import Limit, Result, Series
from world import World

_RUNTIME = """#!{python} -IS
import socket, sys
host, port = sys.argv[sys.argv.index("--addr") + 1].split(":")
server = socket.create_server((host, int(port)))
while True:
    server.accept()[0].close()
"""

_MANY = 20
_LIFE = "pulling starting ready working ready stopped"


def build(world: World) -> Result:
    """Build an agent of twenty files, beside the least command of ours."""
    folder = world.folder / "agent-20"
    folder.mkdir(exist_ok=True)
    names = [f"file-{number}.txt" for number in range(20)]
    for name in names:
        (folder / name).write_text(name * 100)
    (folder / "Agentfile").write_text("\n".join(["FROM scratch", "NAME twenty", *(f"ADD {name}" for name in names)]))
    taken = _beside_start(world, world.agents("image", "build", str(folder), "-t", "twenty:v1", state="agent-build"))
    return Result("the whole build of 20 files, the fastest", taken.subject.least, "ms", Limit(150), *_series(taken))


def start(world: World) -> Result:
    """Start a stopped agent with a runtime of its own until it is ready, beside the least command of ours."""
    state = "agent-start"
    run(_run_agent(world, "one", state))
    run(world.agents("agent", "stop", "one", state=state))

    def started() -> float:
        spent = run(world.agents("agent", "start", "one", state=state))
        run(world.agents("agent", "stop", "one", state=state))
        return spent.seconds * 1000

    least = world.agents("--version", state=state)
    taken = pairs(started, lambda: run(least).seconds * 1000, world.rounds(12), warm_ups=1)
    figure = taken.subject.least - taken.beside.least
    return Result("a start until ready, over our own start, the fastest", figure, "ms", Limit(300), *_series(taken))


def listed(world: World) -> Result:
    """List fifty stopped agents, beside the least command of ours."""
    state = "agent-ps"
    run(_run_agent(world, "one", state))
    run(world.agents("agent", "stop", "one", state=state))
    isolated(lambda: _insert_agents(_database(world, state), 49, "x", "stopped"))
    return _measure_list(world, state, "the whole `ps` of 50 stopped agents, the fastest")


def listed_ready(world: World) -> Result:
    """List fifty agents that are up on an account, with what is told of its login, beside the least command of ours."""
    state = "agent-ps-ready"
    world.serve("claude", "claude")
    run(world.agents("agent", "ps", state=state))  # which makes the state file
    isolated(lambda: _insert_agents(_database(world, state), 50, "claude", "ready"))
    return _measure_list(world, state, "the whole `ps` of 50 agents that are up, the fastest")


def _measure_list(world: World, state: str, meaning: str) -> Result:
    """Time `agent ps`, and the processor time that it takes, which other users of the machine disturb less."""
    command = world.agents("agent", "ps", state=state)
    least = world.agents("--version")
    cpu_ms: list[float] = []

    def list_agents() -> float:
        spent = run(command)
        cpu_ms.append(spent.cpu_s * 1000)
        return spent.seconds * 1000

    taken = pairs(list_agents, lambda: run(least).seconds * 1000, world.rounds(20))
    return Result(meaning, taken.subject.least, "ms", Limit(100), *_series(taken), facts={"cpu_min_ms": min(cpu_ms)})


def many(world: World) -> Result:
    """Run twenty agents at once, a tool in each at once, and stop them at once: no change of any may be missing.

    Each agent has a process that owns it and a runtime of its own: sixty processes with those that were asked.
    """
    state = "agent-many"
    names = [f"many-{number}" for number in range(_MANY)]
    program = world.folder / "greet"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    more = ("--tool", f"greet={program}")
    run(world.agents("agent", "ps", state=state))  # the state file is made once, not by twenty
    try:
        ready_s = _together([_run_agent(world, name, state, *more, tool="greet") for name in names])
        worked_s = _together([world.agents("agent", "exec", name, "greet", state=state) for name in names])
    finally:  # they would live on
        stopped_s = _together([world.agents("agent", "stop", name, state=state) for name in names])
    lives = _read_lives(_database(world, state))
    wrong = {name: lives.get(name) for name in names if lives.get(name) != _LIFE}
    if wrong:
        raise BenchBroken(f"{len(wrong)} of {_MANY} agents have another history than {_LIFE!r}: {wrong}")
    facts = {"tool_s": worked_s, "stop_s": stopped_s, "changes": _MANY * len(_LIFE.split()), "missed": 0}
    return Result(f"{_MANY} agents at once until all are ready", ready_s, "s", None, facts=facts)


def _together(commands: Sequence[Command]) -> float:
    """Run commands at once; return the wall time until the last has ended, in seconds."""
    failures: list[BenchBroken] = []

    def run_one(command: Command) -> None:
        try:
            run(command)
        except BenchBroken as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run_one, args=(command,)) for command in commands]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise BenchBroken(f"{len(failures)} of {len(commands)} commands failed: {failures[0]}")
    return time.perf_counter() - begun


def _database(world: World, state: str) -> Path:
    return next(Path(world.env(state)["OULIPOLY_DATA_DIR"]).glob("*.db"))


def _read_lives(path: Path) -> dict[str, str]:
    """Return by name the statuses that an agent has had, past our own code."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        rows = database.execute(
            "SELECT name, h.status FROM agents JOIN agent_history AS h USING (agent_id) ORDER BY h.id"
        ).fetchall()
    lives: dict[str, list[str]] = {}
    for name, status in rows:
        lives.setdefault(name, []).append(status)
    return {name: " ".join(statuses) for name, statuses in lives.items()}


def _run_agent(world: World, name: str, state: str, *more: str, tool: str = "") -> Command:
    """Return the command that runs an agent with a runtime of its own, which answers at once."""
    folder = world.folder / f"agent-own{tool}"
    folder.mkdir(exist_ok=True)
    declared = f"BIN {tool} example.com/{tool}\n" if tool else ""
    (folder / "Agentfile").write_text(f"FROM scratch\nNAME own\n{declared}")
    program = folder / "runtime.py"
    program.write_text(_RUNTIME.format(python=sys.executable))
    program.chmod(0o755)
    words = ("--runtime", str(program), "--isolation", "none", "--name", name, *more)
    return world.agents("agent", "run", str(folder), *words, state=state)


def _insert_agents(database: Path, count: int, model: str, status: str) -> int:
    from datetime import UTC, datetime  # noqa: PLC0415 - the harness must stay small (measure.py)

    from oulipoly_engine.core.agents.agents import Agent, AgentPlan  # noqa: PLC0415 - the same
    from oulipoly_engine.store.agents import agents  # noqa: PLC0415 - the same
    from oulipoly_engine.store.base.db import open_store  # noqa: PLC0415 - the same

    now = datetime.now(UTC)
    store = open_store(database)
    for number in range(count):
        plan = AgentPlan(model)
        agents.insert(store, Agent(f"id-{number}", f"agent-{number}", "x", "guarded", status, now, now, plan=plan))
    store.close()
    return count


def _beside_start(world: World, command: Command) -> Pairs:
    """Time a command of ours beside the least that it can do."""
    least = world.agents("--version")
    return pairs(lambda: run(command).seconds * 1000, lambda: run(least).seconds * 1000, world.rounds(20))


def _series(taken: Pairs) -> tuple[Series, Series, Series]:
    return taken.subject, taken.beside, taken.ratios

"""Agents: built, started and listed."""

from __future__ import annotations

import sys
from pathlib import Path

from measure import Command, Pairs, isolated, pairs, run
from report import Limit, Result, Series
from world import World

_RUNTIME = """#!{python} -IS
import socket, sys
host, port = sys.argv[sys.argv.index("--addr") + 1].split(":")
server = socket.create_server((host, int(port)))
while True:
    server.accept()[0].close()
"""


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
    """List fifty agents, beside the least command of ours."""
    state = "agent-ps"
    run(_run_agent(world, "one", state))
    run(world.agents("agent", "stop", "one", state=state))
    database = next(Path(world.env(state)["OULIPOLY_DATA_DIR"]).glob("*.db"))
    isolated(lambda: _insert_agents(database, 49))
    taken = _beside_start(world, world.agents("agent", "ps", state=state))
    figure = taken.subject.least
    return Result("the whole `ps` of 50 agents, the fastest", figure, "ms", Limit(100), *_series(taken))


def _run_agent(world: World, name: str, state: str) -> Command:
    """Return the command that runs an agent with a runtime of its own, which answers at once."""
    folder = world.folder / "agent-own"
    folder.mkdir(exist_ok=True)
    (folder / "Agentfile").write_text("FROM scratch\nNAME own")
    program = folder / "runtime.py"
    program.write_text(_RUNTIME.format(python=sys.executable))
    program.chmod(0o755)
    words = ("--runtime", str(program), "--isolation", "none", "--name", name)
    return world.agents("agent", "run", str(folder), *words, state=state)


def _insert_agents(database: Path, count: int) -> int:
    from datetime import UTC, datetime  # noqa: PLC0415 - the harness must stay small (measure.py)

    from oulipoly_engine.core.agents.agents import Agent  # noqa: PLC0415 - the same
    from oulipoly_engine.store.agents import agents  # noqa: PLC0415 - the same
    from oulipoly_engine.store.base.db import open_store  # noqa: PLC0415 - the same

    now = datetime.now(UTC)
    store = open_store(database)
    for number in range(count):
        agents.insert(store, Agent(f"id-{number}", f"agent-{number}", "x", "none", "stopped", now, now))
    store.close()
    return count


def _beside_start(world: World, command: Command) -> Pairs:
    """Time a command of ours beside the least that it can do."""
    least = world.agents("--version")
    return pairs(lambda: run(command).seconds * 1000, lambda: run(least).seconds * 1000, world.rounds(20))


def _series(taken: Pairs) -> tuple[Series, Series, Series]:
    return taken.subject, taken.beside, taken.ratios

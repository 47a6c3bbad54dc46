"""What a container of an agent holds: said, and measured from inside by our probe."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.agents.containers import Bind
from oulipoly_engine.core.boxes.box import Access, Box, Level, Mount, Network, list_system
from oulipoly_engine.core.boxes.report import IsolationReport
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.executors.docker_api import connect, find_gateway
from oulipoly_engine.process.script import EXEC, ScriptResult, run_script
from oulipoly_engine.records import replace
from oulipoly_engine.service.agents.start import cli_order, container_order, find_cli, start_in_container
from oulipoly_engine.service.isolation import list_probe_paths, measure_probe

UNHELD_IN_CONTAINERS = (
    "it reaches the network through this machine's, with all servers that do not listen on loopback alone",
    "whoever may use the Docker API sees its words and its variables, and may enter it",
)
_PATIENCE_S = 60.0


def measure_container(root: Path, agent: Agent, runtime: Runtime | None, home: Path) -> IsolationReport:
    """Return what a program in a container of an agent can really do: as its CLI on a runtime's account, else a tool.

    The probe's container has the system's programs of this machine besides, over those of the image, whatever that is.
    home: the user's. Raises IsolationUnavailable, ProgramMissing, SpawnFailed.
    """
    if runtime is None:
        order = container_order(root, agent)
    else:
        order = cli_order(root, agent, find_cli(runtime), (runtime.home, runtime.shadow_home))
    with closing(connect(order.plan.host)) as client:
        address = find_gateway(client)
    system = [mount.path for mount in list_system(Network.NONE)]
    own = [Bind(path, path, is_read_only=True) for path in (*system, *list_probe_paths()) if Path(path).exists()]
    binds = {bind.target: bind for bind in (*own, *order.binds)}
    start = start_in_container(root, agent, replace(order, binds=tuple(binds.values())))

    def run_probe(words: tuple[str, ...]) -> ScriptResult:
        words = (*start.before, *words)
        return run_script(EXEC, start.environment, arguments=words, cwd=Path("/"), timeout_s=_PATIENCE_S)

    mounts = tuple(Mount(bind.target, Access.READ if bind.is_read_only else Access.WRITE) for bind in order.binds)
    box = Box(Level.SEALED, mounts, Network.BRIDGE)  # which it should hold as much as
    return measure_probe(box, home, root.parent, run_probe, scratch=start.environment["HOME"], address=address)

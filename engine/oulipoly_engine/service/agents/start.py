"""What a process of an agent is started with: its environment, and its box or its container."""

from __future__ import annotations

import contextlib
import os
import posixpath
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.agents.boxes import agent_box, agent_network, list_program_folders
from oulipoly_engine.core.agents.containers import (
    CONTAINER,
    RUNTIME_PROGRAM,
    Bind,
    ContainerOrder,
    ContainerPlan,
    container_root,
    list_binds,
    tool_program,
)
from oulipoly_engine.core.agents.environment import (
    RUNTIME_BINARY,
    EnvironmentPlan,
    add_user_variables,
    config_environment,
    locked_environment,
    with_product_names,
)
from oulipoly_engine.core.agents.limits import box_limits
from oulipoly_engine.core.boxes.box import Access, Box, Level, Network
from oulipoly_engine.core.boxes.box import Mount as BoxMount
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.errors import AgentStateInvalid, IsolationUnavailable, ProgramMissing
from oulipoly_engine.executors.docker_api import connect, find_host, find_user
from oulipoly_engine.records import Record, replace
from oulipoly_engine.regular_files import read_regular

_SYSTEM_BINS = ("/usr/local/bin", "/usr/bin", "/bin")
_LONGEST_SHEBANG = 256
_VERSION_S = 20.0
_LONGEST_WRAPPER = 64 << 10
_SHELLS = ("sh", "bash", "dash")


class AgentStart(Record):
    """How a process of an agent begins."""

    environment: Mapping[str, str]
    box: Box | None
    before: tuple[str, ...] = ()  # words before those of its program, which start it elsewhere than here
    program: str = ""  # the path of its program
    skipped: tuple[str, ...] = ()  # variables of the image or the user that are not theirs to set
    time_s: int = 0  # that a turn of a CLI may take; 0: any


class Reach(Record):
    """What an agent reaches outside: by sockets, and what its capabilities give."""

    network: Network = Network.SHARED
    url: str = ""  # of its tools; empty: it has none
    token: str = ""


ALL_NETWORK = Reach()


def find_skipped(root: Path, agent: Agent) -> tuple[str, ...]:
    """Return which variables of an agent's image and user are not theirs to set."""
    return _environment(agent, str(root), ())[1]


def require_ready(agent: Agent) -> None:
    """Refuse what only a running agent does. Raises AgentStateInvalid, which says how it is started."""
    if not agent.is_ready:
        raise AgentStateInvalid(
            f"the agent {agent.name} is {agent.status}: `agents agent start {agent.name}` starts it again"
        )


def try_cli(start: AgentStart, runtime: Runtime, level: str) -> None:
    """Have a CLI say its version in its box. Raises IsolationUnavailable where it does not."""
    from oulipoly_engine.process.script import EXEC, run_script  # noqa: PLC0415 - 2 ms, only a start asks

    environment = {**start.environment, **runtime.environment}
    workspace = Path(start.environment["HOME"]).parent / "workspace"
    box = start.box and replace(start.box, network=Network.NONE)  # nothing is asked
    ended = run_script(
        EXEC,
        environment,
        arguments=(*start.before, start.program, "--version"),
        cwd=workspace,
        timeout_s=_VERSION_S,
        box=box,
    )
    if not ended.succeeded:
        raise IsolationUnavailable(explain_failure(runtime.program, level, ended.stderr))


def explain_failure(program: str, level: str, stderr: bytes) -> str:
    """Say why a CLI does not start in an isolation, and what to do. stderr: what was written where it was tried."""
    if level != CONTAINER:
        return f"{program} does not start in a box of the level {level}: -v gives it what it reads besides"
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 3 ms, nearly all do start

    line = redact(stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])[:300]
    return (
        f"{program} does not start in a container{f' ({line})' if line else ''}: --base-image names an image with the "
        "libraries and the interpreter that it needs"
    )


def find_cli(runtime: Runtime) -> str:
    """Return the path of a runtime's program. Raises ProgramMissing."""
    import shutil  # noqa: PLC0415 - 2 ms, who only looks starts nothing

    program = shutil.which(runtime.program) if runtime.program else None
    if program is None:
        raise ProgramMissing(f"there is no program {runtime.program!r}: install it, or correct {runtime.named_in}")
    return program


def tool_start(root: Path, agent: Agent, tool: str = "", job_id: str = "") -> AgentStart:
    """Return how a tool of an agent is started: nothing but the agent's own programs is on its PATH."""
    if agent.isolation != CONTAINER:
        start = _start(root, agent, bin_dirs(root), (), (), Reach(agent_network(agent.isolation)))
        return replace(start, program=f"{root}/usr/bin/{tool}")
    start = start_in_container(root, agent, container_order(root, agent, job_id=job_id))
    return replace(start, program=tool_program(tool))


def runtime_start(root: Path, agent: Agent, *, is_adopted: bool = False, grace_s: float = 0.0) -> AgentStart:
    """Return how an agent's own runtime is started: its program is in the tree, its interpreter is read besides.

    is_adopted: its container runs already, whose process that held it is gone.
    """
    if agent.isolation == CONTAINER:
        name = f"otters-{agent.agent_id}"
        order = replace(
            container_order(root, agent),
            name=name,
            address=agent.plan.address,
            is_adopted=is_adopted,
            grace_s=grace_s,
            outcome=str(outcome_file(root, name)),
        )
        return replace(start_in_container(root, agent, order), program=RUNTIME_PROGRAM)
    paths = _list_programs(str(root / RUNTIME_BINARY))
    reads = (*list_program_folders(paths), *_find_environment(paths))
    return _start(root, agent, bin_dirs(root), reads, (), Reach(agent_network(agent.isolation)))


def cli_start(root: Path, agent: Agent, program: str, homes: tuple[str, ...], reach: Reach = ALL_NETWORK) -> AgentStart:
    """Return how a CLI of the user's accounts is started for an agent.

    program: its path. homes: where it has its login, which it reads and writes; empty ones are none.
    The system's programs are on its PATH, and the folder of its own: without these no CLI works.
    """
    time_s = agent.plan.overrides.limits.time_s
    if agent.isolation == CONTAINER:
        order = cli_order(root, agent, program, homes)
        folders = system_bin_dirs(program)
        return replace(start_in_container(root, agent, order, folders), program=program, time_s=time_s)
    folders = cli_bin_dirs(root, program)
    start = _start(root, agent, folders, list_cli_reads(program), list_logins(homes), reach)
    return replace(start, program=program, time_s=time_s)


def list_cli_reads(program: str) -> tuple[str, ...]:
    """Return what is read to start a CLI. program: its path."""
    paths = _list_programs(program)
    return (*list_program_folders(paths), *_find_environment(paths))


def system_bin_dirs(program: str) -> tuple[str, ...]:
    """Return where the programs of a CLI lie that is in a box: its own, and the system's."""
    return tuple(dict.fromkeys((posixpath.dirname(program), *_SYSTEM_BINS)))


def container_order(root: Path, agent: Agent, binds: tuple[Bind, ...] = (), *, job_id: str = "") -> ContainerOrder:
    """Return what a container of an agent is. binds: what it is given besides.

    job_id: of the tool that it runs, whose outcome is wanted. Raises UsageInvalid for a mount over what is ours.
    """
    plan = agent.plan
    tools = [tool.name for tool in plan.tools if (root / "usr/bin" / tool.name).is_file()]
    own = list_binds(str(root), has_own_runtime=agent.has_own_runtime, tools=tools, mounts=plan.mounts)
    return ContainerOrder(
        plan.container,
        agent.agent_id,
        find_user(plan.container.host, os.getuid(), os.getgid()),
        "/workspace" if agent.has_own_runtime else f"{root}/workspace",
        (*own, *binds),
        job_id=job_id,
        outcome=str(outcome_file(root, job_id)) if job_id else "",
    )


def outcome_file(root: Path, name: str) -> Path:
    """Return where is written what came of a container. name: of its tool's job, or its own."""
    return root.parent / f".{name}.json"


def container_bin_dirs(agent: Agent) -> tuple[str, ...]:
    """Return where the tools of an agent lie in its containers: a folder each."""
    return tuple(posixpath.dirname(tool_program(tool.name)) for tool in agent.plan.tools)


def start_in_container(root: Path, agent: Agent, order: ContainerOrder, folders: tuple[str, ...] = ()) -> AgentStart:
    """Return how a program is started in a container. folders: on its PATH behind those of the agent's tools."""
    from oulipoly_engine.executors.container_process import holder_words  # noqa: PLC0415 - 3 ms, few have containers

    place = container_root(str(root), has_own_runtime=agent.has_own_runtime)
    environment, skipped = _environment(agent, place, (*container_bin_dirs(agent), *folders))
    return AgentStart(environment, None, before=holder_words(order), skipped=skipped)


def cli_order(root: Path, agent: Agent, program: str, homes: tuple[str, ...]) -> ContainerOrder:
    """Return the container of a CLI: what it is read from lies there as here, read-only, and its login too, written.

    Raises UsageInvalid for a mount over what is ours.
    """
    paths = _list_programs(program)
    reads = dict.fromkeys((*list_program_folders(paths), *_find_environment(paths), *paths[:2]))
    binds = {path: Bind(path, path, is_read_only=True) for path in reads if Path(path).exists()}
    binds |= {home: Bind(home, home) for home in list_logins(homes)}
    return container_order(root, agent, tuple(binds.values()))


def list_logins(homes: tuple[str, ...]) -> tuple[str, ...]:
    """Return those homes of a CLI that are there."""
    return tuple(home for home in homes if home and Path(home).is_dir())


def bin_dirs(root: Path) -> tuple[str, ...]:
    """Return where the tools of an agent lie."""
    return (f"{root}/usr/bin",)


def cli_bin_dirs(root: Path, program: str) -> tuple[str, ...]:
    """Return where the programs of an agent's CLI lie: the agent's tools come first."""
    own = str(Path(program).parent) if program else ""
    return tuple(dict.fromkeys(folder for folder in (*bin_dirs(root), own, *_SYSTEM_BINS) if folder))


def check_isolation(level: str, container: ContainerPlan | None = None) -> None:
    """Refuse a level that this machine cannot give. Raises IsolationUnavailable, which names the fix.

    container: where the containers of an agent run that was brought up before; that is looked for by who starts them.
    """
    from oulipoly_engine.process.boxes.machine import find_level  # noqa: PLC0415 - only a start asks

    if level == CONTAINER:
        if container is None:
            connect(find_host()).close()
        return
    if obstacle := find_level(Level(level)).obstacle:
        raise IsolationUnavailable(f"{obstacle}; or choose another level with --isolation")


def _start(
    root: Path,
    agent: Agent,
    folders: tuple[str, ...],
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    reach: Reach = ALL_NETWORK,
) -> AgentStart:
    environment, skipped = _environment(agent, str(root), folders, reach)
    box = agent_box(
        agent.isolation,
        str(root),
        agent.plan.mounts,
        reads=reads,
        writes=writes,
        trees=_list_trees(agent),
        network=reach.network,
        limits=box_limits(agent.plan.overrides.limits),
        group=agent.plan.group,
    )
    return AgentStart(environment, box, skipped=skipped)


def _environment(
    agent: Agent, root: str, folders: tuple[str, ...], reach: Reach = ALL_NETWORK
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the environment of an agent's processes, and which of its variables are not theirs to set."""
    pairs = with_product_names(locked_environment(EnvironmentPlan(root, folders, reach.url, reach.token)))
    pairs += config_environment(agent.plan.configs)
    return add_user_variables(pairs, [(each.name, each.value) for each in agent.plan.variables])


def _list_trees(agent: Agent) -> Mapping[str, Sequence[BoxMount]]:
    """Return what is mounted of each folder that is written, with the work trees of git in it."""
    if agent.isolation not in (Level.GUARDED, Level.SEALED):
        return {}
    from oulipoly_engine.service.worktrees.base.box_mounts import mount_trees  # noqa: PLC0415 - few agents are given folders

    written = [each.host for each in agent.plan.mounts if not each.is_read_only and Path(each.host).is_dir()]
    trees = {folder: mount_trees(Path(folder)) for folder in written}
    # A linked work tree reads its repository; one that is given itself stays written.
    around = {folder: [other for other in written if other != folder] for folder in written}
    return {
        folder: tuple(mount for mount in mounts if not _is_git_of(mount, around[folder]))
        for folder, mounts in trees.items()
    }


def _is_git_of(mount: BoxMount, folders: Sequence[str]) -> bool:
    """Tell whether a mount reads the folder of git of a repository that lies in one of some folders."""
    path = Path(mount.path)
    is_git = mount.access is Access.READ and path.name == ".git" and path.is_dir()
    return is_git and any(path.is_relative_to(folder) for folder in folders)


def _list_programs(program: str) -> tuple[str, ...]:
    """Return the paths that are read to start a program: it, what it is a link to, and their interpreter."""
    paths = [program, os.path.realpath(program)]
    interpreter = _find_interpreter(program)
    if interpreter:
        paths += [interpreter, os.path.realpath(interpreter)]
    if Path(interpreter).name in _SHELLS:
        paths += _list_of_wrapper(program)
    return tuple(dict.fromkeys(paths))


def list_homes_of_wrapper(program: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the folders that a script of a shell sets variables to: `CODEX_HOME=/home/x`. names: ends of the names."""
    if Path(_find_interpreter(program)).name not in _SHELLS:
        return ()
    pairs = (word.partition("=")[::2] for word in _read_words(program))
    return tuple(path for name, path in pairs if name.endswith(tuple(names)) and path.startswith("/"))


def _read_words(script: str) -> list[str]:
    """Return the words of a script of a shell, line by line; those of a quotation over several lines are left out."""
    try:
        lines = read_regular(script, _LONGEST_WRAPPER).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    words: list[str] = []
    for line in lines:
        with contextlib.suppress(ValueError):
            words += shlex.split(line, comments=True)
    return words


def _list_of_wrapper(script: str) -> list[str]:
    """Return the paths that a script of a shell names where it becomes another program: `exec /usr/bin/x /opt/y`."""
    words = _read_words(script)
    words = words[words.index("exec") + 1 :] if "exec" in words else []
    files = [word for word in words if word.startswith("/") and Path(word).is_file()]
    home = str(Path.home())
    folders = (word for word in words if word.startswith("/") and Path(word).is_dir())
    own = [f"{folder}/" for folder in folders if not f"{home}/".startswith(f"{folder.rstrip('/')}/")]
    return [*files, *map(os.path.realpath, files), *own]


def _find_interpreter(program: str) -> str:
    try:
        with Path(program).open("rb") as file:
            first = file.read(_LONGEST_SHEBANG).partition(b"\n")[0]
    except OSError:
        return ""
    import shutil  # noqa: PLC0415 - the same

    words = os.fsdecode(first.removeprefix(b"#!")).split() if first.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        return next((path for word in words[1:] if (path := shutil.which(word))), "")
    return words[0] if words else ""


def _find_environment(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the virtual environments of Python that programs are of."""
    folders = dict.fromkeys(Path(path).parent.parent for path in paths)
    return tuple(str(folder) for folder in folders if (folder / "pyvenv.cfg").is_file())

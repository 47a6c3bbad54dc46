"""What a process of an agent is started with: its environment and its box."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.agents.boxes import agent_box, agent_network, list_program_folders
from oulipoly_engine.core.agents.environment import (
    RUNTIME_BINARY,
    EnvironmentPlan,
    add_user_variables,
    config_environment,
    locked_environment,
    with_product_names,
)
from oulipoly_engine.core.agents.limits import box_limits
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.core.boxes.box import Box, Level, Network
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.errors import AgentStateInvalid, IsolationUnavailable, ProgramMissing
from oulipoly_engine.process.script import EXEC, run_script
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
    program: str = ""  # the path of its program
    skipped: tuple[str, ...] = ()  # variables of the image or the user that are not theirs to set


class Reach(Record):
    """What an agent reaches outside: by sockets, and what its capabilities give."""

    network: Network = Network.SHARED
    url: str = ""  # of its tools; empty: it has none
    token: str = ""


ALL_NETWORK = Reach()


def require_ready(agent: Agent) -> None:
    """Refuse what only a running agent does. Raises AgentStateInvalid, which says how it is started."""
    if agent.status not in ("ready", "working"):
        raise AgentStateInvalid(
            f"the agent {agent.name} is {agent.status}: `agents agent start {agent.name}` starts it again"
        )


def try_cli(start: AgentStart, runtime: Runtime, level: str) -> None:
    """Have a CLI say its version in its box. Raises IsolationUnavailable where it does not."""
    environment = {**start.environment, **runtime.environment}
    workspace = Path(start.environment["HOME"]).parent / "workspace"
    box = start.box and replace(start.box, network=Network.NONE)  # nothing is asked
    ended = run_script(
        EXEC, environment, arguments=(start.program, "--version"), cwd=workspace, timeout_s=_VERSION_S, box=box
    )
    if not ended.succeeded:
        raise IsolationUnavailable(
            f"{runtime.program} does not start in a box of the level {level}: -v gives it what it reads besides"
        )


def find_cli(runtime: Runtime) -> str:
    """Return the path of a runtime's program. Raises ProgramMissing."""
    program = shutil.which(runtime.program) if runtime.program else None
    if program is None:
        raise ProgramMissing(f"there is no program {runtime.program!r}: install it, or correct {runtime.named_in}")
    return program


def tool_start(root: Path, agent: Agent) -> AgentStart:
    """Return how a tool of an agent is started: nothing but the agent's own programs is on its PATH."""
    return _start(root, agent, bin_dirs(root), (), (), Reach(agent_network(agent.isolation, agent.plan.runtime)))


def runtime_start(root: Path, agent: Agent) -> AgentStart:
    """Return how an agent's own runtime is started: its program is in the tree, its interpreter is read besides."""
    paths = _list_programs(str(root / RUNTIME_BINARY))
    reads = (*list_program_folders(paths), *_find_environment(paths))
    return _start(root, agent, bin_dirs(root), reads, ())


def cli_start(root: Path, agent: Agent, program: str, homes: tuple[str, ...], reach: Reach = ALL_NETWORK) -> AgentStart:
    """Return how a CLI of the user's accounts is started for an agent.

    program: its path. homes: where it has its login, which it reads and writes; empty ones are none.
    The system's programs are on its PATH, and the folder of its own: without these no CLI works.
    """
    paths = _list_programs(program)
    folders = cli_bin_dirs(root, program)
    environment_folder = _find_environment(paths)
    reads = (*list_program_folders(paths), *environment_folder)
    writes = tuple(home for home in homes if home and Path(home).is_dir())
    start = _start(root, agent, folders, reads, writes, reach)
    return replace(start, program=program)


def bin_dirs(root: Path) -> tuple[str, ...]:
    """Return where the tools of an agent lie."""
    return (f"{root}/usr/bin",)


def cli_bin_dirs(root: Path, program: str) -> tuple[str, ...]:
    """Return where the programs of an agent's CLI lie: the agent's tools come first."""
    own = str(Path(program).parent) if program else ""
    return tuple(dict.fromkeys(folder for folder in (*bin_dirs(root), own, *_SYSTEM_BINS) if folder))


def check_isolation(level: str) -> None:
    """Refuse a level that this machine cannot give. Raises IsolationUnavailable, which names the fix."""
    from oulipoly_engine.process.boxes.machine import find_level  # noqa: PLC0415 - only a start asks

    if level == "container":
        raise IsolationUnavailable("containers are not there yet: use sealed, guarded or none")
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
    plan = EnvironmentPlan(str(root), folders, reach.url, reach.token)
    pairs = with_product_names(locked_environment(plan))
    pairs += config_environment(agent.plan.configs)
    variables = [(each.name, each.value) for each in agent.plan.variables]
    environment, skipped = add_user_variables(pairs, variables)
    box = agent_box(
        agent.isolation,
        str(root),
        agent.plan.mounts,
        reads=reads,
        writes=writes,
        trees=_list_trees(agent.plan.mounts),
        network=reach.network,
        limits=box_limits(agent.plan.overrides.limits),
    )
    return AgentStart(environment, box, skipped=skipped)


def _list_trees(mounts: Sequence[Mount]) -> list[str]:
    """Return the work trees of git among what is written. A linked one has its hooks elsewhere, out of reach."""
    return [each.host for each in mounts if not each.is_read_only and Path(each.host, ".git").is_dir()]


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
    words = os.fsdecode(first.removeprefix(b"#!")).split() if first.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        return next((path for word in words[1:] if (path := shutil.which(word))), "")
    return words[0] if words else ""


def _find_environment(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the virtual environments of Python that programs are of."""
    folders = dict.fromkeys(Path(path).parent.parent for path in paths)
    return tuple(str(folder) for folder in folders if (folder / "pyvenv.cfg").is_file())

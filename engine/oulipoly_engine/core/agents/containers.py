"""Containers of agents: what one is made with, and what it writes. Pure.

| agent runs                  | its root in the container         | its programs                                    |
|-----------------------------|-----------------------------------|-------------------------------------------------|
| a runtime of its own        | /agent; /workspace is its own too | /opt/runtime/runtime, /opt/bins/NAME/NAME       |
| a CLI of the user's accounts| as on this machine                | where they lie on this machine, /opt/bins       |

A CLI names its sessions by the folder that it works in, so that is the same inside and outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oulipoly_engine.core.agents.limits import AgentLimits
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record

CONTAINER = "container"  # the isolation
BASE_IMAGE = "gcr.io/distroless/static-debian12:nonroot"
CONTAINER_ROOT = "/agent"
RUNTIME_PROGRAM = "/opt/runtime/runtime"
PORT = 9999  # that a runtime listens at, inside
LABEL = "io.openotters.agent"
AGENT_LABEL = "io.openotters.agent-id"
JOB_LABEL = "io.openotters.async-job-id"
WRITABLE = ("workspace", "tmp", "home", "var")  # of an agent's tree, in boxes too
FAILED = 125  # exit code of the process that holds a container where there was none
_OURS = (CONTAINER_ROOT, "/opt/bins", "/opt/runtime", "/proc", "/sys", "/dev")
_HEADER = 8  # bytes before each frame: its stream, three zeros, its length as a big-endian number


class ContainerPlan(Record):
    """Where the containers of an agent run, and what of."""

    host: str = ""  # of the Docker API, `unix://PATH`
    image: str = BASE_IMAGE
    limits: AgentLimits = AgentLimits()


class Bind(Record):
    """One path of this machine in a container."""

    source: str
    target: str
    is_read_only: bool = False


class ContainerOrder(Record):
    """One container. What it is started with are the words and the environment of the process that holds it."""

    plan: ContainerPlan
    agent_id: str
    user: str  # `uid:gid`
    folder: str  # in which its program starts
    binds: tuple[Bind, ...]
    name: str = ""
    job_id: str = ""
    address: str = ""  # `host:port` of this machine that leads to PORT
    is_adopted: bool = False  # the container of that name runs already
    grace_s: float = 0.0  # that its program has to end after INT
    outcome: str = ""  # the file that says how it ended; empty: nobody asks


class ContainerOutcome(Record):
    """What came of a container, as the process that held it writes it down."""

    container_id: str = ""
    problem: str = ""  # why there was none, or why it was killed


class Frames:
    """Takes what a container writes apart into its two streams; bytes may come in any pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return the streams (1: stdout, 2: stderr) and contents of the frames that are whole now, and no others."""
        frames = []
        self._rest += data
        while len(self._rest) >= _HEADER:
            end = _HEADER + int.from_bytes(self._rest[4:_HEADER], "big")
            if len(self._rest) < end:
                break
            frames.append((self._rest[0], self._rest[_HEADER:end]))
            self._rest = self._rest[end:]
        return [(stream, content) for stream, content in frames if stream in (1, 2)]


def container_root(root: str, *, has_own_runtime: bool) -> str:
    """Return where an agent's tree lies in its containers. root: where it lies on this machine."""
    return CONTAINER_ROOT if has_own_runtime else root


def tool_program(name: str) -> str:
    """Return where a tool lies in a container."""
    return f"/opt/bins/{name}/{name}"


def list_binds(root: str, *, has_own_runtime: bool, tools: Sequence[str], mounts: Sequence[Mount]) -> tuple[Bind, ...]:
    """Return what a container of an agent is given. root: of its tree. tools: those that have a program.

    Raises UsageInvalid for a mount that would lie over what is ours.
    """
    place = container_root(root, has_own_runtime=has_own_runtime)
    binds = [Bind(f"{root}/etc", f"{place}/etc", is_read_only=True)]
    binds += [Bind(f"{root}/{name}", f"{place}/{name}") for name in WRITABLE]
    if has_own_runtime:
        binds.append(Bind(f"{root}/workspace", "/workspace"))
        binds.append(Bind(f"{root}/usr/local/bin/runtime", RUNTIME_PROGRAM, is_read_only=True))
    binds += [Bind(f"{root}/usr/bin/{name}", tool_program(name), is_read_only=True) for name in tools]
    for mount in mounts:
        if any(mount.target == path or mount.target.startswith(f"{path}/") for path in _OURS):
            raise UsageInvalid(f"in a container a mount cannot lie at {mount.target}: choose a folder such as /data")
        binds.append(Bind(mount.host, mount.target, mount.is_read_only))
    return tuple(binds)


def describe_container(order: ContainerOrder, words: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Return what the Docker API makes a container of (`POST /containers/create`)."""
    limits = order.plan.limits
    labels = {LABEL: "true", AGENT_LABEL: order.agent_id}
    if order.job_id:
        labels[JOB_LABEL] = order.job_id
    host: dict[str, Any] = {
        "NetworkMode": "bridge",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "LogConfig": {"Type": "none"},  # its output comes to us
        "Mounts": [
            {"Type": "bind", "Source": bind.source, "Target": bind.target, "ReadOnly": bind.is_read_only}
            for bind in order.binds
        ],
    }
    if limits.memory_bytes:
        host |= {"Memory": limits.memory_bytes, "MemorySwap": limits.memory_bytes}  # no swap on top
    if limits.processes:
        host["PidsLimit"] = limits.processes
    if limits.cpus:
        host["NanoCpus"] = int(limits.cpus * 1e9)
    document = {
        "Image": order.plan.image,
        "Entrypoint": [words[0]],
        "Cmd": list(words[1:]),
        "Env": [f"{name}={value}" for name, value in env.items()],
        "WorkingDir": order.folder,
        "User": order.user,
        "Labels": labels,
        "StopSignal": "SIGINT",
        "AttachStdin": not order.name,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": not order.name,
        "StdinOnce": not order.name,
        "HostConfig": host,
    }
    if order.address:
        address, _, port = order.address.rpartition(":")
        document["ExposedPorts"] = {f"{PORT}/tcp": {}}
        host["PortBindings"] = {f"{PORT}/tcp": [{"HostIp": address, "HostPort": port}]}
    return document


def explain_end(state: Mapping[str, Any], limits: AgentLimits) -> str:
    """Say why a container was killed, of its `State`; empty: it was not, by what it took."""
    if not state.get("OOMKilled"):
        return ""
    limit = f" of {limits.memory_bytes >> 20} MB" if limits.memory_bytes else ""
    return f"it was killed: it took more memory than its limit{limit}"

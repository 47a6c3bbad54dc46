"""The Docker API, of Docker or of podman: found, asked for images, and cleared of what is an agent's.

The only importer of `docker`, which the extra `containers` of our distribution brings. Its errors are OSErrors.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from oulipoly_engine.core.agents.containers import AGENT_LABEL, JOB_LABEL, LABEL
from oulipoly_engine.core.images.refusals import ImageNotFound
from oulipoly_engine.errors import IsolationUnavailable
from oulipoly_engine.process.command import inherited_environment

_PATIENCE_S = 60
_NOT_FOUND = 404
_SOCKETS = ("docker.sock", "podman/podman.sock")
_FIX = "start Docker or `podman system service`, or name its socket as DOCKER_HOST=unix://PATH"


def find_host() -> str:
    """Return the address of the Docker API of this machine. Raises IsolationUnavailable, which says what to do."""
    environment = inherited_environment()
    host = environment.get("DOCKER_HOST", "")
    if host.startswith("unix://"):
        return host
    if host:
        raise IsolationUnavailable(
            f"DOCKER_HOST is {host[:80]}: containers are given folders of this machine, so its Docker API has to be a "
            "Unix socket (unix://PATH)"
        )
    folders = ("/var/run", environment.get("XDG_RUNTIME_DIR", ""), "/run")
    for path in (Path(folder, name) for folder in folders if folder for name in _SOCKETS):
        with suppress(OSError):
            if stat.S_ISSOCK(path.stat().st_mode):
                return f"unix://{path}"
    raise IsolationUnavailable(f"there is no Docker API on this machine: {_FIX}")


def find_user(host: str, uid: int, gid: int) -> str:
    """Return as whom a container's program runs, so that an agent's files are its own: `uid:gid`.

    Behind a socket of a user's own, who is not root, root is that user outside the container.
    """
    if uid:
        with suppress(OSError):
            if Path(host.removeprefix("unix://")).stat().st_uid == uid:
                return "0:0"
    return f"{uid}:{gid}"


def connect(host: str) -> Any:  # noqa: ANN401 - docker has no types
    """Return a client of a Docker API that answers. Raises IsolationUnavailable."""
    try:
        import docker  # noqa: PLC0415 - 0.2 s, only containers need it
        from docker.errors import DockerException  # noqa: PLC0415 - the same
    except ImportError as error:
        raise IsolationUnavailable(
            "containers need the package docker: pip install 'oulipoly-agent-runner[containers]'"
        ) from error
    try:
        return docker.APIClient(base_url=host, version="auto", timeout=_PATIENCE_S)
    except (DockerException, OSError) as error:
        raise IsolationUnavailable(f"no Docker API answers at {host}: {_FIX}") from error


def ensure_image(client: Any, image: str) -> None:  # noqa: ANN401 - see connect
    """Pull an image that is not there; one that is stays as it is. Raises ImageNotFound."""
    try:
        if find(client.inspect_image, image) is None:
            _pull(client, image)
    except OSError as error:
        raise ImageNotFound(
            f"the base image {image} is not there and cannot be pulled: {explain(error)}; --base-image names another"
        ) from error


def _pull(client: Any, image: str) -> None:  # noqa: ANN401 - see connect
    tag = None if _has_tag(image) else "latest"
    for step in client.pull(image, tag=tag, stream=True, decode=True):
        if problem := step.get("error"):  # podman says so even that there is no image
            raise OSError(problem)


def find_gateway(client: Any) -> str:  # noqa: ANN401 - see connect
    """Return the address of this machine in the network of containers, 127.0.0.1 where that is not known."""
    for name in ("bridge", "podman"):
        with suppress(OSError, KeyError, IndexError, TypeError, ValueError):
            network = client.inspect_network(name)["IPAM"]["Config"][0]
            return str(network.get("Gateway") or ip_network(network["Subnet"])[1])
    return "127.0.0.1"


def remove_left(client: Any, agent_id: str, job_id: str = "") -> int:  # noqa: ANN401 - see connect
    """Remove all containers of an agent, or of one of its tools, by their labels; return how many there were.

    Raises IsolationUnavailable where the Docker API does not tell.
    """
    count = 0
    try:
        containers = tuple(list_containers(client, agent_id, job_id))
    except OSError as error:
        raise IsolationUnavailable(f"the Docker API refuses: {explain(error)}") from error
    for container in containers:
        with suppress(OSError):  # it goes already
            client.remove_container(container, force=True, v=True)
            count += 1
    return count


def list_containers(client: Any, agent_id: str, job_id: str = "") -> Iterator[str]:  # noqa: ANN401 - see connect
    """Yield the ids of the containers of an agent, or of one of its tools, running or not."""
    labels = [f"{LABEL}=true", f"{AGENT_LABEL}={agent_id}", *([f"{JOB_LABEL}={job_id}"] if job_id else ())]
    for container in client.containers(all=True, filters={"label": labels}):
        yield container["Id"]


def find(inspect: Callable[[str], Any], name: str) -> Any:  # noqa: ANN401 - see connect
    """Return what the Docker API says of something; None: there is no such thing. Raises OSError."""
    try:
        return inspect(name)
    except OSError as error:
        if getattr(error, "status_code", 0) != _NOT_FOUND:
            raise
        return None


def explain(error: Exception) -> str:
    """Return what the Docker API says of an error, on one line."""
    text = getattr(error, "explanation", None) or str(error)
    return " ".join(str(text).split())[:400]


def _has_tag(image: str) -> bool:
    return "@" in image or ":" in image.rpartition("/")[2]

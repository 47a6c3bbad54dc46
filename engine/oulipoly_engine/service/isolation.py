"""Measure a box from inside: a program of ours tries what it should hold, against sockets and files of ours."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oulipoly_engine.core.boxes.box import SCRATCH, Access, Box, Level, Mount
from oulipoly_engine.core.boxes.report import IsolationReport, judge_report
from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.private_files import write_private
from oulipoly_engine.process.boxes import inside
from oulipoly_engine.process.boxes.groups import end_group
from oulipoly_engine.process.script import EXEC, ScriptResult, run_script
from oulipoly_engine.records import replace

_PATIENCE_S = 30.0
_MOST_PROCESSES = 1024  # of a limit that is tried out
_LONGEST_SOCKET = 107  # bytes of the path of a Unix socket: `sun_path` of Linux, with a zero behind
_IP_FREEBIND = 15  # of Linux; Python has no name for it
RunProbe = Callable[[tuple[str, ...]], ScriptResult]


def measure_box(box: Box, env: Mapping[str, str], home: Path, folder: Path) -> IsolationReport:
    """Return what a program in a box can really do. Takes a tenth of a second and more; nothing declared is changed.

    env: as the program would have it. home: the user's. folder: beside the box, for a file that it must not reach.
    Our Python is declared besides. Raises SpawnFailed where the box cannot be had, or its program could not tell.
    """
    own = (Mount(path, Access.READ, is_optional=True) for path in list_probe_paths())
    group = tuple(f"{folder}-probe-{os.getpid()}" for folder in box.group)  # else what runs would lack what it takes
    probed = replace(box, mounts=(*box.mounts, *own), folder=box.folder or "/", group=group)

    def run_probe(words: tuple[str, ...]) -> ScriptResult:
        return run_script(EXEC, env, arguments=words, cwd=Path("/"), timeout_s=_PATIENCE_S, box=probed)

    try:
        return measure_probe(box, home, folder, run_probe)
    finally:
        end_group(group)


def measure_probe(
    box: Box, home: Path, folder: Path, run_probe: RunProbe, *, scratch: str = "", address: str = "127.0.0.1"
) -> IsolationReport:
    """Return what a program in a box, or in what holds it as one would, can really do.

    run_probe: is given the words of a program and runs it inside, with `list_probe_paths` there. scratch: a folder that
    may be written inside, if the box does not say. address: of this machine, as it is reached from inside. Raises
    SpawnFailed where the probe could not tell.
    """
    with (
        TemporaryDirectory(prefix="probe-", dir=folder) as outside,
        _serve_sockets(Path(outside), address) as sockets,
        _open_terminal() as terminal,
    ):
        secret = Path(outside, "secret")
        write_private(secret, b"secret")
        order = _describe(box) | sockets | {"outside": str(secret), "home": str(home), "pid": os.getpid()}
        order |= {"address": address, "terminal": terminal, **({"folder": scratch} if scratch else {})}
        program = str(Path(inside.__file__))
        ended = run_probe((str(Path(sys.executable).resolve()), "-I", "-S", program, json.dumps(order)))
    if not ended.succeeded:
        lines = ended.stderr.decode("utf-8", "replace").strip()
        raise SpawnFailed(ended.problem or lines or f"the probe {ended.outcome}")
    return judge_report(box, json.loads(ended.stdout), is_root=os.getuid() == 0)


def list_probe_paths() -> tuple[str, ...]:
    """Return what of this machine the probe is read from, besides the system's programs."""
    return (sys.base_prefix, str(Path(inside.__file__)))


def _describe(box: Box) -> dict[str, Any]:
    """Return what the probe is to know of its box."""
    paths = {access: [mount.path for mount in box.mounts if mount.access is access] for access in Access}
    writable = paths[Access.WRITE]
    later = [path for path in paths[Access.READ] if any(path.startswith(f"{around}/") for around in writable)]
    folder = next((path for path in writable if Path(path).is_dir()), "")
    processes = box.limits.processes or 0
    return {
        "read": [path for path in paths[Access.READ] if path not in later],
        "write": writable,
        "later": later,
        "folder": SCRATCH if box.level is Level.SEALED else folder,
        "processes": processes if processes <= _MOST_PROCESSES else 0,
        "memory_bytes": box.limits.memory_bytes or box.limits.data_bytes or 0,
        "file_bytes": box.limits.file_bytes or 0,
    }


@contextlib.contextmanager
def _open_terminal() -> Iterator[str]:
    """Yield the path of a terminal beside the box."""
    ends = os.openpty()
    try:
        yield os.ttyname(ends[1])
    finally:
        for end in ends:
            os.close(end)


@contextlib.contextmanager
def _serve_sockets(folder: Path, address: str) -> Iterator[dict[str, Any]]:
    """Yield the addresses of one socket of each kind, which the probe tries to reach."""
    name = f"probe-{uuid.uuid4()}"
    path = str(folder / "socket")
    with contextlib.ExitStack() as stack:
        if len(os.fsencode(path)) > _LONGEST_SOCKET:
            path = stack.enter_context(TemporaryDirectory(prefix="probe-")) + "/socket"
        yield from _serve_at(path, name, address)


def _serve_at(path: str, name: str, address: str) -> Iterator[dict[str, Any]]:
    near, far = socket.socketpair()
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
        near,
        far,
    ):
        for inet in (tcp, udp):
            if address != "127.0.0.1":  # of a network that may not be up yet
                inet.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
            inet.bind((address, 0))
        tcp.listen()
        for server, place in ((unix, path), (abstract, f"\0{name}")):
            server.bind(place)
            server.listen()
        echo = threading.Thread(target=_answer_datagrams, args=(udp, near))
        echo.start()
        try:
            ports = {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1]}
            yield {**ports, "unix": path, "abstract": name}
        finally:
            far.close()
            echo.join()


def _answer_datagrams(udp: socket.socket, end: socket.socket) -> None:
    while end not in select.select((udp, end), (), ())[0]:
        _, address = udp.recvfrom(16)
        with contextlib.suppress(OSError):  # podman's network is gone with its last container
            udp.sendto(b"reached", address)

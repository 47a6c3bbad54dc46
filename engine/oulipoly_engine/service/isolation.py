"""Measure a box from inside: a program of ours tries what it should hold, against sockets and files of ours."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oulipoly_engine.core.boxes.box import SCRATCH, Access, Box, Level, Mount
from oulipoly_engine.core.boxes.report import IsolationReport, judge_report
from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.private_files import write_private
from oulipoly_engine.process.boxes import inside
from oulipoly_engine.process.script import EXEC, run_script
from oulipoly_engine.records import replace

_PATIENCE_S = 30.0
_LONGEST_SOCKET = 107  # bytes of the path of a Unix socket: `sun_path` of Linux, with a zero behind


def measure_box(box: Box, env: Mapping[str, str], home: Path, folder: Path) -> IsolationReport:
    """Return what a program in a box can really do. Takes a tenth of a second and more; nothing declared is changed.

    env: as the program would have it. home: the user's. folder: beside the box, for a file that it must not reach.
    Our Python is declared besides. Raises SpawnFailed where the box cannot be had, or its program could not tell.
    """
    program = str(Path(inside.__file__))
    own = (Mount(path, Access.READ, is_optional=True) for path in (sys.base_prefix, program))
    probed = replace(box, mounts=(*box.mounts, *own), folder=box.folder or "/")
    with TemporaryDirectory(prefix="probe-", dir=folder) as outside, _serve_sockets(Path(outside)) as sockets:
        secret = Path(outside, "secret")
        write_private(secret, b"secret")
        order = _describe(box) | sockets | {"outside": str(secret), "home": str(home), "pid": os.getpid()}
        arguments = (str(Path(sys.executable).resolve()), "-I", "-S", program, json.dumps(order))
        ended = run_script(EXEC, env, arguments=arguments, cwd=Path("/"), timeout_s=_PATIENCE_S, box=probed)
    if not ended.succeeded:
        lines = ended.stderr.decode("utf-8", "replace").strip()
        raise SpawnFailed(ended.problem or lines or f"the probe {ended.outcome}")
    return judge_report(box, json.loads(ended.stdout), is_root=os.getuid() == 0)


def _describe(box: Box) -> dict[str, Any]:
    """Return what the probe is to know of its box."""
    paths = {access: [mount.path for mount in box.mounts if mount.access is access] for access in Access}
    writable = paths[Access.WRITE]
    later = [path for path in paths[Access.READ] if any(path.startswith(f"{around}/") for around in writable)]
    folder = next((path for path in writable if Path(path).is_dir()), "")
    return {
        "read": [path for path in paths[Access.READ] if path not in later],
        "write": writable,
        "later": later,
        "folder": SCRATCH if box.level is Level.SEALED else folder,
        "processes": box.limits.processes or 0,
        "memory_bytes": box.limits.memory_bytes or box.limits.data_bytes or 0,
        "file_bytes": box.limits.file_bytes or 0,
    }


@contextlib.contextmanager
def _serve_sockets(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the addresses of one socket of each kind, which the probe tries to reach."""
    name = f"probe-{uuid.uuid4()}"
    path = str(folder / "socket")
    with contextlib.ExitStack() as stack:
        if len(os.fsencode(path)) > _LONGEST_SOCKET:
            path = stack.enter_context(TemporaryDirectory(prefix="probe-")) + "/socket"
        yield from _serve_at(path, name)


def _serve_at(path: str, name: str) -> Iterator[dict[str, Any]]:
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        udp.bind(("127.0.0.1", 0))
        for server, address in ((unix, path), (abstract, f"\0{name}")):
            server.bind(address)
            server.listen()
        echo = threading.Thread(target=_answer_datagrams, args=(udp,))
        echo.start()
        try:
            ports = {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1]}
            yield {**ports, "unix": path, "abstract": name}
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", udp.getsockname())
            echo.join()


def _answer_datagrams(udp: socket.socket) -> None:
    while True:
        data, address = udp.recvfrom(16)
        if not data:
            return
        udp.sendto(b"reached", address)

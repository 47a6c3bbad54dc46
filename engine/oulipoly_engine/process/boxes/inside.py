"""Try from inside a box what it should hold, and write what succeeded. A program of its own, of Python's library alone.

Its one argument is a JSON object: `outside` a file beside the box, `folder` one that may be written, if any; `read`,
`write` and `later` the declared paths; `home`; `pid` of who started it; `tcp` and `udp` ports at `address`; `unix` and
`abstract` names of sockets; `terminal` one beside the box; `processes`, `memory_bytes` and `file_bytes` limits, 0 for
none. It writes a JSON object: of each attempt whether it succeeded; `readable`, `writable` and `variables` lists.

No packet leaves this machine, nothing that is declared is changed, and what it makes is removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import socket
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Order = dict[str, Any]
_PATIENCE_S = 1.0
_METADATA = ("169.254.169.254", 80)  # of clouds, which hands out logins of the machine
_TIOCSTI = 0x5412
_NEW_NAMESPACES = 0x10000000 | 0x00020000  # of users and of mounts
_MARGIN = 32


def _read(path: str) -> bool:
    return bool(Path(path).read_bytes())


def _open_to_write(path: str) -> bool:
    """Tell whether a path could be changed, and change nothing."""
    if Path(path).is_dir():
        probe = Path(path) / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
        return True
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
    return True


def _read_by_link(order: Order) -> bool:
    """Tell whether a file outside is read by a link to it, by a second name of it, or by the root of its process."""
    link = Path(order["folder"]) / f".probe-link-{os.getpid()}"

    def read_by(make: Callable[[str], None]) -> bool:
        make(order["outside"])
        try:
            return _read(str(link))
        finally:
            link.unlink()

    is_read = any(_succeeds(read_by, make) for make in (link.symlink_to, link.hardlink_to))
    return is_read or _read(f"/proc/{order['pid']}/root{order['outside']}")


def _read_home(order: Order) -> bool:
    """Tell whether a file right in the home is read that is not declared."""
    declared = (*order["read"], *order["write"])
    for entry in sorted(Path(order["home"]).iterdir()):
        if entry.is_file() and not any(entry.is_relative_to(path) for path in declared):
            with contextlib.suppress(OSError):
                entry.open("rb").close()
                return True
    return False


def _reach(family: int, kind: int, address: object) -> bool:
    with socket.socket(family, kind) as client:
        client.settimeout(_PATIENCE_S)
        client.connect(address)  # type: ignore[arg-type]
        if kind == socket.SOCK_DGRAM:
            client.send(b"probe")
            return client.recv(16) == b"reached"
    return True


def _is_metadata_reached(_order: Order) -> bool:
    """Tell whether there is a way to the metadata address, or the proxy of the box makes one."""
    proxy = os.environ.get("http_proxy", "").rpartition("/")[2].partition(":")
    if proxy[2]:
        with socket.create_connection((proxy[0], int(proxy[2])), _PATIENCE_S) as client:
            client.sendall(b"CONNECT %s:%d HTTP/1.1\r\n\r\n" % (_METADATA[0].encode(), _METADATA[1]))
            if not client.recv(64).startswith(b"HTTP/1.1 403 "):
                return True
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(_METADATA)  # of a datagram socket: asks for a way there, and sends nothing
    return True


def _make_machine_socket(_order: Order) -> bool:
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    return True


def _see_process(order: Order) -> bool:
    return _read(f"/proc/{order['pid']}/cmdline")


def _open_terminal(order: Order) -> int:
    return os.open(order["terminal"], os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)


def _type_into_terminal(order: Order) -> bool:
    terminal = _open_terminal(order)
    try:
        fcntl.ioctl(terminal, _TIOCSTI, b"\n")
    finally:
        os.close(terminal)
    return True


def _use_terminal(order: Order) -> bool:
    os.close(_open_terminal(order))
    return True


def _make_namespaces(_order: Order) -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).unshare(_NEW_NAMESPACES) == 0 else 1)
    return os.waitpid(child, 0)[1] == 0


def _become_another(_order: Order) -> bool:
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            os.setuid(os.getuid() + 1)
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _fork_past_limit(order: Order) -> bool:
    """Tell whether more processes than the limit live at once; they wait for the end of a pipe."""
    reading, writing = os.pipe()
    children = []
    try:
        for _ in range(order["processes"] + _MARGIN):
            child = os.fork()
            if child == 0:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            children.append(child)
    finally:
        os.close(writing)
        for child in children:
            os.waitpid(child, 0)
    return True


def _take_memory(order: Order) -> bool:
    mmap.mmap(-1, order["memory_bytes"], flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    return True


def _write_long_file(order: Order) -> bool:
    path = Path(order["folder"]) / f".probe-file-{os.getpid()}"
    try:
        with path.open("wb") as file:
            file.truncate(order["file_bytes"] + 1)
    finally:
        path.unlink(missing_ok=True)
    return True


_ATTEMPTS: dict[str, Callable[[Order], object]] = {
    "read_undeclared": lambda order: _read(order["outside"]),
    "write_undeclared": lambda order: _open_to_write(order["outside"]),
    "read_home": _read_home,
    "read_by_link": _read_by_link,
    "write_read_only": lambda order: bool(_filter(_open_to_write, order["read"])),
    "write_runs_later": lambda order: bool(_filter(_open_to_write, order["later"])),
    "see_process": _see_process,
    "read_process": lambda order: _read(f"/proc/{order['pid']}/environ"),
    "signal_process": lambda order: os.kill(order["pid"], 0),
    "tcp": lambda order: _reach(socket.AF_INET, socket.SOCK_STREAM, (order["address"], order["tcp"])),
    "udp": lambda order: _reach(socket.AF_INET, socket.SOCK_DGRAM, (order["address"], order["udp"])),
    "metadata": _is_metadata_reached,
    "machine_socket": _make_machine_socket,
    "unix_socket": lambda order: _reach(socket.AF_UNIX, socket.SOCK_STREAM, order["unix"]),
    "abstract_socket": lambda order: _reach(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{order['abstract']}"),
    "use_terminal": _use_terminal,
    "type_into_terminal": _type_into_terminal,
    "make_namespaces": _make_namespaces,
    "become_another": _become_another,
}
_OF_LIMITS = {"processes": _fork_past_limit, "memory_bytes": _take_memory, "file_bytes": _write_long_file}

_IN_FOLDER = frozenset({"read_by_link", "file_bytes"})


def _succeeds(attempt: Callable[[Any], object], subject: object) -> bool:
    try:
        return attempt(subject) is not False
    except (OSError, MemoryError, ValueError):
        return False


def _filter(attempt: Callable[[Any], object], paths: Iterable[str]) -> list[str]:
    return [path for path in paths if _succeeds(attempt, path)]


def try_all(order: Order) -> dict[str, object]:
    """Return what succeeded, as this module says."""
    attempts = _ATTEMPTS | {name: attempt for name, attempt in _OF_LIMITS.items() if order[name]}
    if not order["later"]:  # nothing that could be tried
        del attempts["write_runs_later"]
    if not order["folder"]:
        attempts = {name: attempt for name, attempt in attempts.items() if name not in _IN_FOLDER}
    outcome: dict[str, object] = {name: _succeeds(attempt, order) for name, attempt in attempts.items()}
    declared = (*order["read"], *order["write"])
    outcome["readable"] = _filter(os.stat, declared)
    outcome["writable"] = _filter(_open_to_write, declared)
    outcome["variables"] = sorted(os.environ)
    return outcome


if __name__ == "__main__":
    os.write(1, json.dumps(try_all(json.loads(sys.argv[1]))).encode())

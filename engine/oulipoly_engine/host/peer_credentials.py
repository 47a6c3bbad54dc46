"""Check that the process at the other end of a Unix socket runs as the same user."""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path

_UCRED = struct.Struct("iII")  # pid, uid, gid: Linux, unix(7)
_XUCRED = struct.Struct("=IIh2x16I")  # version, uid, groups: macOS, sys/ucred.h
_LOCAL_PEERCRED = 1
_SOL_LOCAL = 0


def is_same_user(connection: socket.socket) -> bool:
    """Tell whether the process at the other end runs as our own user, as the kernel knows it."""
    try:
        return _uid(connection) == os.getuid()
    except (OSError, struct.error):
        return False


def has_mark(connection: socket.socket, name: str) -> bool:
    """Tell whether the process at the other end was started with a variable of that name; where nobody says: no."""
    try:
        pid = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0]
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (OSError, struct.error, AttributeError):  # it has ended, or the system is not Linux
        return False
    return any(word.startswith(f"{name}=".encode()) for word in words)


def _uid(connection: socket.socket) -> int:
    if sys.platform == "darwin":
        data = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size)
        return int(_XUCRED.unpack(data)[1])
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    return int(_UCRED.unpack(data)[1])

"""Whether a connection over this computer's own address comes from a process of the same user, as the system tells.

Such a process could run `agents` itself, so it needs no token: scripts begin without one. Others who work at this
computer need one, as everybody elsewhere does. Only Linux tells whose a connection is; elsewhere the answer is no.

What is not known is never our own: the system lists a socket that its process has closed under user 0 and without an
inode, whoever that process was, and users that our namespace does not know under one number for all of them.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

_TABLES = {4: Path("/proc/net/tcp"), 6: Path("/proc/net/tcp6")}
_LOCAL, _REMOTE, _STATE, _USER, _INODE = 1, 2, 3, 7, 9  # columns
_ESTABLISHED = "01"
_UNKNOWN_USER = Path("/proc/sys/kernel/overflowuid")
_WORD = struct.Struct("=I")


def is_own_user(client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Return whether the process at the other end is ours. client, server: addresses and ports of one connection."""
    try:
        ours, theirs = ipaddress.ip_address(server[0]), ipaddress.ip_address(client[0])
    except ValueError:
        return False
    if not (ours.is_loopback and theirs.is_loopback) or ours.version != theirs.version:
        return False
    try:
        with _TABLES[ours.version].open(encoding="ascii") as table:
            owner = find_owner(table, client, server)
        return owner == os.getuid() != int(_UNKNOWN_USER.read_text("ascii"))
    except (OSError, ValueError):
        return False


def find_owner(table: Iterable[str], client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the user whose process holds the client's end of an established connection; None: nobody can tell.

    table: lines of /proc/net/tcp. Raises ValueError for one that is not of its form.
    """
    ends = [_spell(client), _spell(server)]
    for line in table:
        columns = line.split()
        if columns[_LOCAL : _REMOTE + 1] == ends:
            is_held = columns[_STATE] == _ESTABLISHED and columns[_INODE] != "0"
            return int(columns[_USER]) if is_held else None
    return None


def _spell(place: tuple[str, int]) -> str:
    """Return an address and a port as the system's table has them: words of the machine's own order, in hexadecimal."""
    family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
    packed = socket.inet_pton(family, place[0])
    words = struct.unpack(f"!{len(packed) // 4}I", packed)
    return "".join(f"{_WORD.unpack(struct.pack('!I', word))[0]:08X}" for word in words) + f":{place[1]:04X}"

"""A guarded box as rules of Landlock and of seccomp. Pure.

Landlock grants and never takes back: what lies below a path that may be written may be written too. What it does not
know of (UDP, and other sockets of the network) a filter of system calls refuses.
Source: linux/landlock.h and linux/filter.h of Linux 6.12; ABI numbers as in Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from oulipoly_engine.core.boxes.box import Access, Box, Network, list_system
from oulipoly_engine.records import Record

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_FOLDER = 1 << 3
MAKE_CHARACTER_DEVICE = 1 << 6
MAKE_BLOCK_DEVICE = 1 << 11
TRUNCATE = 1 << 14
IOCTL_DEVICE = 1 << 15
_RIGHTS_OF_ABI = (0, (1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1)
_READ = EXECUTE | READ_FILE | READ_FOLDER
_WRITE = ((1 << 15) - 1) & ~(MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE)
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
LEAST_ABI = 3  # before it, files that may only be read could be cut off
_NETWORK_ABI = 4
_SCOPE_ABI = 6
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract Unix sockets, signals

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts")
_TERMINALS = ("/dev/tty", "/dev/ptmx", "/dev/pts")


class Rule(Record):
    """One path with all that lies below it."""

    path: str
    rights: int
    is_optional: bool = False


def list_rules(box: Box) -> tuple[Rule, ...]:
    """Return the rules of a guarded box. Scratch folders and links are the caller's to make."""
    return tuple(_list_rules(box))


def _list_rules(box: Box) -> Iterator[Rule]:
    for mount in (*list_system(box.network), *box.mounts):
        if mount.access is Access.READ:
            yield Rule(mount.source or mount.path, _READ, mount.is_optional)
        elif mount.access is Access.WRITE:
            yield Rule(mount.source or mount.path, _WRITE, mount.is_optional)
    yield Rule("/proc", READ_FILE | READ_FOLDER, is_optional=True)
    for path in _DEVICES:
        rights = READ_FILE | WRITE_FILE | READ_FOLDER
        yield Rule(path, rights | IOCTL_DEVICE if path in _TERMINALS else rights, is_optional=True)


def pack_ruleset(abi: int, network: Network) -> bytes:
    """Return `struct landlock_ruleset_attr`: what is refused unless a rule grants it."""
    files = _RIGHTS_OF_ABI[min(abi, len(_RIGHTS_OF_ABI) - 1)]
    ports = _TCP if network is not Network.SHARED else 0
    if abi >= _SCOPE_ABI:
        return struct.pack("=QQQ", files, ports, _SCOPES)
    if abi >= _NETWORK_ABI:
        return struct.pack("=QQ", files, ports)
    return struct.pack("=Q", files)


def pack_rule(rule: Rule, descriptor: int, abi: int, *, is_folder: bool) -> bytes:
    """Return `struct landlock_path_beneath_attr` of a rule. descriptor: of its open path."""
    rights = rule.rights & _RIGHTS_OF_ABI[min(abi, len(_RIGHTS_OF_ABI) - 1)]
    return struct.pack("=Qi", rights if is_folder else rights & OF_FILES, descriptor)


# Architecture, and the numbers of socket, connect and io_uring_setup, which would do both past the filter.
_CALLS = {"x86_64": (0xC000003E, 41, 42, 425), "aarch64": (0xC00000B7, 198, 203, 425)}
_LOAD = 0x20
_EQUAL = 0x15  # jump if equal, else
_AT_LEAST = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x0005000D  # EACCES
_UNIX = 1
# The families of sockets that a namespace of the network holds, and Unix ones; not those to a machine around this one.
OF_NAMESPACE = (_UNIX, 2, 10, 16)  # IPv4, IPv6, netlink
_X32 = 0x40000000  # the other numbers of the same calls


def socket_filter(machine: str, network: Network, families: tuple[int, ...] = (_UNIX,)) -> bytes | None:
    """Return a filter as instructions of BPF that refuses what a network does not give; None: for no such machine.

    Without the network a program has Unix sockets alone, and without a proxy it connects to none of them.
    families: of sockets that it may make. machine: as `uname -m` says it. Fields of `struct seccomp_data`: the call at
    0, the architecture at 4, its first argument at 16.
    """
    if machine not in _CALLS:
        return None
    architecture, socket, connect, io_uring = _CALLS[machine]
    unused = connect if network is Network.NONE else io_uring
    count = len(families)
    steps = (
        (_LOAD, 0, 0, 4),
        (_EQUAL, 0, 6 + count, architecture),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 4 + count, 0, _X32),
        (_EQUAL, 3 + count, 0, io_uring),
        (_EQUAL, 2 + count, 0, unused),
        (_EQUAL, 0, 2 + count, socket),
        (_LOAD, 0, 0, 16),
        *((_EQUAL, count - number, 0, family) for number, family in enumerate(families)),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    )
    return b"".join(struct.pack("=HBBI", *step) for step in steps)

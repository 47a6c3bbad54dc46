"""What a box should hold, and what a probe from inside has measured. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oulipoly_engine.core.boxes.box import Box, Level, Network, list_unheld
from oulipoly_engine.records import Record

# What a program in a box tries, and the weakest level that holds it.
ATTEMPTS = {
    "read_undeclared": ("read a file that was not declared", Level.GUARDED),
    "write_undeclared": ("write a file that was not declared", Level.GUARDED),
    "read_home": ("read files of your home that were not declared", Level.GUARDED),
    "read_by_link": ("read a file outside by a link", Level.GUARDED),
    "write_read_only": ("write where only reading was declared", Level.GUARDED),
    "write_runs_later": ("change what runs later outside the box: hooks, settings of shells and editors", Level.SEALED),
    "see_process": ("see other processes", Level.SEALED),
    "read_process": ("read the memory and environment of other processes", Level.GUARDED),
    "signal_process": ("signal other processes", Level.GUARDED),
    "tcp": ("connect to servers", Level.GUARDED),
    "udp": ("send datagrams", Level.GUARDED),
    "metadata": ("reach the metadata address of a cloud", Level.GUARDED),
    "unix_socket": ("connect to Unix sockets by path", Level.SEALED),
    "abstract_socket": ("connect to abstract Unix sockets", Level.GUARDED),
    "machine_socket": ("make sockets to a machine around this one (vsock)", Level.GUARDED),
    "use_terminal": ("read and write terminals of yours", Level.SEALED),
    "type_into_terminal": ("type into a terminal of yours", Level.NONE),
    "make_namespaces": ("make namespaces of its own", Level.SEALED),
    "become_another": ("become another user", Level.GUARDED),
    "processes": ("start more processes than its limit", Level.NONE),
    "memory_bytes": ("take more memory than its limit", Level.NONE),
    "file_bytes": ("write a longer file than its limit", Level.NONE),
}
_OF_NETWORK = frozenset({"tcp", "udp", "metadata", "abstract_socket", "machine_socket"})
_ORDER = tuple(Level)


class IsolationReport(Record):
    """What a probe from inside a box has measured."""

    level: Level
    network: Network
    reached: tuple[str, ...]  # attempts that succeeded, of ATTEMPTS
    held: tuple[str, ...]  # those that did not
    unexpected: tuple[str, ...]  # of `reached`, what the level should have held
    readable: tuple[str, ...]  # declared paths
    writable: tuple[str, ...]
    variables: tuple[str, ...]  # names in its environment
    unheld: tuple[str, ...]  # what was asked for and the level does not hold, a line each


def should_hold(box: Box, attempt: str, *, is_root: bool) -> bool:
    """Return whether a box should keep a program from what it tries. is_root: whether root runs it."""
    if box.network is Network.BRIDGE:
        if attempt in ("tcp", "udp", "metadata", "machine_socket"):
            return False
        if attempt == "processes":  # the container's limit counts for root as well
            return True
    if attempt in _OF_NETWORK and box.network is Network.SHARED:
        # What is shared of the network holds the abstract sockets of that network too, unless Landlock does.
        return attempt == "abstract_socket" and box.level is Level.GUARDED
    if attempt == "unix_socket" and box.network is Network.NONE and box.level is not Level.NONE:
        return True  # guarded, nothing is connected to
    if attempt == "processes" and (box.group or is_root):
        return bool(box.group)  # Linux limits root's processes nowhere else
    if is_root and attempt == "type_into_terminal":
        return box.level is not Level.NONE  # root types into any
    if not is_root and attempt == "become_another":
        return True
    return _ORDER.index(box.level) >= _ORDER.index(ATTEMPTS[attempt][1])


def explain_leaks(box: Box, reached: Iterable[str], *, is_root: bool) -> str:
    """Say what a box should hold and does not, and what to do; empty: it holds all. reached: of ATTEMPTS."""
    leaks = [ATTEMPTS[name][0] for name in reached if should_hold(box, name, is_root=is_root)]
    if not leaks:
        return ""
    fix = "give it less with -v, update the kernel and bubblewrap, or choose another level with --isolation"
    return f"the level {box.level} does not hold here: a program in its box can {', '.join(leaks)}; {fix}"


def judge_report(box: Box, outcome: Mapping[str, Any], *, is_root: bool) -> IsolationReport:
    """Return a report of what a probe wrote (`process.boxes.inside`)."""
    tried = [name for name in ATTEMPTS if name in outcome]
    reached = tuple(name for name in tried if outcome[name])
    return IsolationReport(
        box.level,
        box.network,
        reached,
        tuple(name for name in tried if not outcome[name]),
        tuple(name for name in reached if should_hold(box, name, is_root=is_root)),
        tuple(outcome["readable"]),
        tuple(outcome["writable"]),
        tuple(outcome["variables"]),
        list_unheld(box, is_root=is_root),
    )

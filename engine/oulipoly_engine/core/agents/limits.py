"""What an agent's processes may take: as `--limit` says, as its boxes hold, and how an end by a limit reads. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from oulipoly_engine.core.boxes.box import Limits
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record

_XCPU = 24  # signals of Linux: the soft limit of processor time is met, that of a file's length is
_XFSZ = 25
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_LEAST_MEMORY = 6 << 20  # bytes; Docker refuses less
_LEAST_DISK = 1 << 20
_LEAST_CPUS = 0.01
_TAKES = "memory=512m, processes=64, processor=60s, files=1g, disk=5g, time=10m or cpus=0.5"
# What a program writes that got no more memory, no more processes, or no longer file.
_NO_MEMORY = re.compile(
    rb"(cannot allocate memory|memory exhausted|memoryerror|out of space|out of memory|bad_alloc)", re.IGNORECASE
)
_NO_LONGER_FILE = re.compile(rb"file too large", re.IGNORECASE)
_NO_PROCESS = re.compile(rb"(cannot fork|can't start new thread|resource temporarily unavailable)", re.IGNORECASE)


class AgentLimits(Record):
    """What an agent's processes may take; 0: as much as there is."""

    memory_bytes: int = 0  # of a process's own, and of all together where a control group can be had
    processes: int = 0  # of all at once, with their threads
    processor_s: int = 0  # of a process
    file_bytes: int = 0  # the longest file that is written
    disk_bytes: int = 0  # of its tree
    time_s: int = 0  # of a tool, of a turn of its CLI, or of its own runtime
    cpus: float = 0.0  # of a container: how many processors' time


def parse_limits(pairs: Sequence[tuple[str, str]]) -> AgentLimits:
    """Read what `--limit` says, as `memory=512m`, `time=10m`; of two of a name the last. Raises UsageInvalid."""
    limits: dict[str, Any] = {}
    for name, text in pairs:
        match name:
            case "memory":
                limits["memory_bytes"] = _parse_bytes(name, text, _LEAST_MEMORY)
            case "processes" if re.fullmatch(r"[1-9]\d{0,5}", text):
                limits["processes"] = int(text)
            case "processor":
                limits["processor_s"] = _parse_seconds(name, text)
            case "files":
                limits["file_bytes"] = _parse_bytes(name, text, 1 << 10)
            case "disk":
                limits["disk_bytes"] = _parse_bytes(name, text, _LEAST_DISK)
            case "time":
                limits["time_s"] = _parse_seconds(name, text)
            case "cpus" if re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", text) and float(text) >= _LEAST_CPUS:
                limits["cpus"] = float(text)
            case _:
                raise UsageInvalid(f"--limit takes {_TAKES}, not {name[:40]}={text[:40]}")
    return AgentLimits(**limits)


def _parse_bytes(name: str, text: str, least: int) -> int:
    parts = re.fullmatch(r"([0-9]{1,12})([kmg]?)b?", text.lower())
    size = int(parts[1]) * _UNITS[parts[2]] if parts else 0
    if not least <= size < 1 << 50:
        raise UsageInvalid(
            f"--limit {name}= takes a size such as 512m, {_say_bytes(least)} at least, not {text[:40]!r}"
        )
    return size


def _parse_seconds(name: str, text: str) -> int:
    parts = re.fullmatch(r"([1-9][0-9]{0,6})([smh]?)", text.lower())
    if parts is None:
        raise UsageInvalid(f"--limit {name}= takes a time such as 30s, 10m or 2h, not {text[:40]!r}")
    return int(parts[1]) * _SECONDS[parts[2]]


def check_limits(limits: AgentLimits, isolation: str) -> None:
    """Refuse a limit that an isolation cannot hold. Raises UsageInvalid, which says what to take instead."""
    if isolation == "container" and (limits.processor_s or limits.file_bytes or limits.disk_bytes):
        raise UsageInvalid(
            "--limit processor, files and disk hold in boxes: of a container cpus, memory, processes and time"
        )
    if isolation != "container" and limits.cpus:
        raise UsageInvalid("--limit cpus holds in containers: elsewhere processor=60s ends what took more")


def box_limits(limits: AgentLimits) -> Limits:
    """Return what the box of each process holds. Time is not among it: that ends a tool from outside."""
    return Limits(
        data_bytes=limits.memory_bytes or None,
        processes=limits.processes or None,
        processor_s=limits.processor_s or None,
        file_bytes=min((size for size in (limits.file_bytes, limits.disk_bytes) if size), default=None),
        tree_bytes=limits.disk_bytes or None,
    )


class Refusals(Record):
    """How often a control group has refused something so far."""

    memory: int = 0  # processes that it has killed
    processes: int = 0


def explain_end(limits: Limits, exit_code: int, stderr: bytes, refusals: Refusals | None = None) -> str:
    """Say which limit of its box has ended a program; empty: none, as far as is known.

    exit_code: 128 plus the signal that killed it. stderr: its end. refusals: of its control group while it ran. Without
    such a group the system refuses memory and processes, and kills nobody; a program that fails then, or ignores XFSZ
    as Python does, is known by what it writes.
    """
    if exit_code and refusals is not None and refusals.memory and limits.data_bytes:
        return f"it took more memory than its limit: {_say_bytes(limits.data_bytes)} for all its processes"
    if exit_code and refusals is not None and refusals.processes and limits.processes:
        return f"it got no more processes: its limit is {limits.processes}"
    if limits.processor_s and exit_code == 128 + _XCPU:
        return f"it took more processor time than its limit of {limits.processor_s} s"
    is_too_long = exit_code == 128 + _XFSZ or (exit_code and _NO_LONGER_FILE.search(stderr))
    if limits.file_bytes and is_too_long:
        return f"it wrote a longer file than its limit of {_say_bytes(limits.file_bytes)}"
    if limits.data_bytes and exit_code and _NO_MEMORY.search(stderr):
        return f"it got no more memory: its limit is {_say_bytes(limits.data_bytes)} a process"
    if limits.processes and exit_code and _NO_PROCESS.search(stderr):
        return f"it got no more processes: its limit is {limits.processes}"
    return ""


def explain_time(limit_s: float) -> str:
    """Say that the limit of time has ended a program or a turn."""
    return f"it took longer than its limit of {limit_s:g} s"


def explain_disk(limit_bytes: int, tree: str) -> str:
    """Say that the files of an agent take more than their limit, and what to do."""
    return f"its files take more disk than their limit of {_say_bytes(limit_bytes)}: remove some of {tree}"


def _say_bytes(size: int) -> str:
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} kB"

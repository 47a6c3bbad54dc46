"""A gigabyte into the artifact store and out of it: whole commands, start, hash and disk included.

Beside each stands what the disk alone takes: the same bytes written by the same interpreter and flushed, or read.
"""

from __future__ import annotations

import sys

from measure import Command, drain, pairs, run
from report import Limit, Result
from world import World

_MEGABYTES = 1024
_LEAST_MB_PER_S = 300
_MOST_MEMORY_MIB = 64
_WRITE = """
import os, sys
with open(sys.argv[1], "rb", buffering=0) as source, open(sys.argv[2], "wb", buffering=0) as target:
    while block := source.read(1 << 20):
        target.write(block)
    os.fsync(target.fileno())
os.unlink(sys.argv[2])
"""


def put(world: World) -> Result:
    """Measure `artifact put` of a file; the store is emptied after each."""
    source = str(world.file(_MEGABYTES))
    command = world.agents("artifact", "put", "bench/large", source, state="artifacts")
    plain = world.bare(sys.executable, "-c", _WRITE, source, str(world.folder / "copy"))

    def stored() -> float:
        spent = run(command)
        peaks.append(spent.peak_bytes / 2**20)
        run(world.agents("artifact", "remove", "bench/large", state="artifacts"))
        run(world.agents("artifact", "gc", state="artifacts"))
        return spent.seconds * 1000

    peaks: list[float] = []
    taken = pairs(stored, lambda: run(plain).seconds * 1000, world.rounds(6), warm_ups=1)
    return Result(
        f"{_MEGABYTES} MB put, the fastest",
        1000 * _MEGABYTES / taken.subject.least,
        "MB/s",
        Limit(_LEAST_MB_PER_S, is_least=True),
        taken.subject,
        taken.beside,
        taken.ratios,
        facts={"peak_memory_mib": max(peaks), "plain_mb_per_s": 1000 * _MEGABYTES / taken.beside.least},
    )


def get(world: World) -> Result:
    """Measure `artifact get` into a pipe, beside `cat` of the same bytes."""
    source = str(world.file(_MEGABYTES))
    run(world.agents("artifact", "put", "bench/large", source, state="artifacts-got"))
    command = world.agents("artifact", "get", "bench/large", state="artifacts-got")
    size = _MEGABYTES << 20

    def got(of: Command) -> float:
        return drain(of, size).seconds * 1000

    taken = pairs(lambda: got(command), lambda: got(world.bare("cat", source)), world.rounds(6), warm_ups=1)
    return Result(
        f"{_MEGABYTES} MB got, the fastest",
        1000 * _MEGABYTES / taken.subject.least,
        "MB/s",
        Limit(_LEAST_MB_PER_S, is_least=True),
        taken.subject,
        taken.beside,
        taken.ratios,
    )


def memory(world: World) -> Result:
    """Take the greatest memory of a put and a get of a gigabyte."""
    source = str(world.file(_MEGABYTES))
    into = run(world.agents("artifact", "put", "bench/large", source, state="artifacts-memory"))
    out = drain(world.agents("artifact", "get", "bench/large", state="artifacts-memory"), _MEGABYTES << 20)
    return Result(
        f"peak memory of a put and a get of {_MEGABYTES} MB",
        max(into.peak_bytes, out.peak_bytes) / 2**20,
        "MiB",
        Limit(_MOST_MEMORY_MIB),
    )

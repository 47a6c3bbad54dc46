"""Bytes through us: throughput against the plain program, and memory that does not grow with them.

Throughput is of the flow alone: a start of 100 ms against a `cat` that is done in 30 ms would be a figure of start-up,
which has rows of its own. The whole runs are among the facts.
"""

from __future__ import annotations

import os
from statistics import median

from measure import BenchBroken, Command, Pairs, Series, drain, pairs, signalled
from report import Limit, Result
from world import World

_MEGABYTES = 100
_LEAST_THROUGHPUT = 0.7  # of the plain program's
_SMALL_MB, _LARGE_MB = 10, 200
_GROWTH_LIMIT_MIB = 2.0  # what page sizes and the allocator's whims make of equal work
_ROUNDS = 20


def into_pipe(world: World) -> Result:
    """Measure the flow into a pipe that is read as fast as we write, from its first bytes to its last."""
    (ours, size), bare = _through_us(world, _MEGABYTES), _plain(world, _MEGABYTES)
    whole: dict[Command, list[float]] = {ours: [], bare: []}

    def timed(command: Command) -> float:
        spent = drain(command, size)
        whole[command].append(spent.seconds)
        return spent.flow_s * 1000

    flow = pairs(lambda: timed(ours), lambda: timed(bare), world.rounds(_ROUNDS))
    return _answer(flow, min(whole[ours]), min(whole[bare]))


def into_file(world: World) -> Result:
    """Measure the flow into a file: from when the CLI begins until all is over, less the same of an empty file."""
    fifo, target = world.folder / "cat-begins", world.folder / "copy"
    os.mkfifo(fifo)
    script = f"echo >'{fifo}'; exec cat \"$0\""
    full, empty = str(world.file(_MEGABYTES)), str(world.file(0))
    world.serve("begin-and-cat", "sh", "-c", script, full)
    world.serve("begin-and-end", "sh", "-c", script, empty)
    ours, ours_empty = (world.one_shot(model, state="cat") for model in ("begin-and-cat", "begin-and-end"))
    bare, bare_empty = (world.bare("sh", "-c", script, file) for file in (full, empty))
    whole: dict[Command, list[float]] = {ours: [], ours_empty: [], bare: [], bare_empty: []}

    def timed(command: Command, size: int) -> float:
        target.unlink(missing_ok=True)  # giving a file's pages back is not a part of writing the next
        spent = signalled(command, fifo, target)
        if target.stat().st_size < size:
            raise BenchBroken(f"only {target.stat().st_size} of {size} bytes came through")
        whole[command].append(spent.seconds)
        return (spent.seconds - spent.signal_s) * 1000

    size, rounds = _MEGABYTES << 20, world.rounds(_ROUNDS)
    ends = pairs(lambda: timed(ours_empty, 0), lambda: timed(bare_empty, 0), rounds)
    taken = pairs(lambda: timed(ours, size), lambda: timed(bare, size), rounds)
    target.unlink(missing_ok=True)
    flow = Pairs(_less(taken.subject, ends.subject.least), _less(taken.beside, ends.beside.least))
    return _answer(flow, min(whole[ours]), min(whole[bare]))


def memory(world: World) -> Result:
    """Compare the peak of our process, or of its CLI if that were larger, over two sizes."""
    small, large = (
        [drain(command, size).peak_bytes / 2**20 for _ in range(world.rounds(5))]
        for command, size in (_through_us(world, megabytes) for megabytes in (_SMALL_MB, _LARGE_MB))
    )
    return Result(
        f"growth of peak memory from {_SMALL_MB} to {_LARGE_MB} MB, of the medians",
        median(large) - median(small),
        "MiB",
        Limit(_GROWTH_LIMIT_MIB),
        Series(tuple(large)),
        Series(tuple(small)),
        series_unit="MiB",
    )


def _answer(flow: Pairs, whole_ours_s: float, whole_plain_s: float) -> Result:
    """Judge by the minimums, which other users of the machine disturb least; the pairs' median is a fact."""
    return Result(
        f"our share of plain cat's throughput over {_MEGABYTES} MB, of the minimums",
        flow.beside.least / flow.subject.least,
        "x",
        Limit(_LEAST_THROUGHPUT, is_least=True),
        flow.subject,
        flow.beside,
        flow.ratios,
        facts={
            "share_median_of_pairs": 1 / flow.ratios.median,
            "ours_mb_per_s": 1000 * _MEGABYTES / flow.subject.least,
            "plain_mb_per_s": 1000 * _MEGABYTES / flow.beside.least,
            "whole_run_ours_ms": 1000 * whole_ours_s,
            "whole_run_plain_ms": 1000 * whole_plain_s,
        },
    )


def _less(series: Series, end: float) -> Series:
    return Series(tuple(max(value - end, 0.001) for value in series.values))


def _plain(world: World, megabytes: int) -> Command:
    return world.bare("cat", str(world.file(megabytes)))


def _through_us(world: World, megabytes: int) -> tuple[Command, int]:
    """Return our command around `cat` of a file, and the file's size in bytes."""
    model = f"cat-{megabytes}"
    if not (world.config / "models" / f"{model}.toml").exists():
        world.serve(model, "cat", str(world.file(megabytes)))
    return world.one_shot(model, state="cat"), megabytes << 20

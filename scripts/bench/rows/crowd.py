"""Many one-shots at once on one state file: all recorded, none lost, and what that costs each."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from measure import BenchBroken, Command, Series, isolated, pairs, run
from report import Result
from world import World

_PROCESSES = 8
_EACH, _EACH_QUICK = 25, 5
_ROUNDS = 3


def one_state_file(world: World) -> Result:
    """Let 8 processes run 25 one-shots each, beside the same number of bare runs by as many processes."""
    world.serve("crowd", "true")
    each = _EACH_QUICK if world.quick else _EACH
    count = _PROCESSES * each
    ours_s: list[float] = []
    bare_s: list[float] = []
    states = iter(range(1000))

    def crowd() -> float:
        state = f"crowd-{next(states)}"
        seconds = _together(world.one_shot("crowd", state=state), each, ours_s)
        _all_recorded(Path(world.env(state)["OULIPOLY_DATA_DIR"]) / "state.db", count)
        return seconds * 1000 / count

    def bare() -> float:
        return _together(world.bare("true"), each, bare_s) * 1000 / count

    taken = pairs(crowd, bare, 1 if world.quick else _ROUNDS, warm_ups=0)
    waits = Series(tuple(1000 * value for value in ours_s))
    return Result(
        f"wall time by invocation, {count} from {_PROCESSES} processes, all of them recorded",
        taken.subject.least,
        "ms",
        subject=taken.subject,
        beside=taken.beside,
        ratios=taken.ratios,
        facts={
            "total_s": taken.subject.least * count / 1000,
            "one_invocation_min_ms": waits.least,
            "one_invocation_median_ms": waits.median,
            "one_invocation_max_ms": max(waits.values),
            "bare_median_ms": 1000 * Series(tuple(bare_s)).median,
            "lost": 0,  # a lost one breaks the row
        },
    )


def _together(command: Command, each: int, taken: list[float]) -> float:
    """Run a command from several processes, each time after time; return the wall time, and each run's in `taken`."""
    begun = time.perf_counter()
    taken += isolated(lambda: _from_forks(command, each))
    return time.perf_counter() - begun


def _from_forks(command: Command, each: int) -> list[float]:
    """Fork the processes; each answers through a pipe that is much larger than its answer."""
    pipes = [os.pipe() for _ in range(_PROCESSES)]
    pids = [_worker(command, each, writer) for _, writer in pipes]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    if any(codes):
        raise BenchBroken(f"{sum(map(bool, codes))} of {_PROCESSES} processes had a one-shot that failed")
    answers: list[float] = []
    for reader, writer in pipes:
        os.close(writer)
        with os.fdopen(reader) as file:
            answers += [float(word) for word in file.read().split()]
    return answers


def _worker(command: Command, each: int, writer: int) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            text = " ".join(f"{run(command).seconds:.6f}" for _ in range(each))
            os.write(writer, text.encode())
            code = 0
        except BenchBroken as error:
            os.write(2, f"{error}\n".encode())
        finally:
            os._exit(code)
    return pid


def _all_recorded(path: Path, count: int) -> None:
    """Count the rows past our own code, since it is our own code that may have lost some."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        found = {
            "final rows": "SELECT COUNT(*) FROM invocations WHERE status = 'succeeded' AND finished_at IS NOT NULL",
            "rows": "SELECT COUNT(DISTINCT invocation_uuid) FROM invocations",
            "decisions": "SELECT COUNT(*) FROM decisions",
            "counted": "SELECT SUM(invocation_count) FROM account_counters",
        }
        wrong = {name: got for name, sql in found.items() if (got := database.execute(sql).fetchone()[0]) != count}
    if wrong:
        raise BenchBroken(f"{count} one-shots ran, but the state file has {wrong}")

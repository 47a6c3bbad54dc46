"""How right expectations of runs have been: turns, and shares of windows, against what happened. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.balance.replay import Replay, replay_text, replay_to_json
from oulipoly_engine.core.text.columns import table
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.core.text.quantities import percent
from oulipoly_engine.records import Record

_FAR_OFF = 2.0  # times
_HEADINGS = ("pool", "what", "runs", "expected a run", "happened a run", "error", "more than twice off")


class WindowShare(Record):
    """What a run was expected to take of a window, and what it took by the readings around it."""

    window: str
    expected: float  # 0..
    happened: float  # 0..


class CountedRun(Record):
    """A run that did well and whose turns were counted."""

    model: str
    expected_turns: float
    turns: int  # 1..
    shares: tuple[WindowShare, ...] = ()


class WindowRecord(Record):
    """A window's part in the record of a pool."""

    window: str
    runs: int
    expected: float  # mean share a run
    happened: float

    @property
    def error(self) -> float | None:
        """Return by how many times the sums differ, 1 or more; readings are whole percents, too coarse for a run."""
        if not self.expected > 0 or not self.happened > 0:
            return None
        return _times(self.expected, self.happened)


class PoolRecord(Record):
    """How right the expectations of a pool's runs have been."""

    model: str
    runs: int
    expected_turns: float  # mean
    turns: float  # mean
    median_error: float  # times, 1 or more: as far above as below
    far_off: int  # runs that took more than twice as many turns, or less than half
    windows: tuple[WindowRecord, ...]


class DecisionRecord(Record):
    """How right decisions have been since an instant."""

    since: datetime
    pools: tuple[PoolRecord, ...]
    replay: Replay | None  # None: too little was recorded


def make_pool_records(runs: Sequence[CountedRun]) -> tuple[PoolRecord, ...]:
    """Return the record of each pool, by name."""
    models = sorted({run.model for run in runs})
    return tuple(_make_pool_record(model, [run for run in runs if run.model == model]) for model in models)


def record_to_json(record: DecisionRecord) -> dict[str, object]:
    """Render a record as JSON values: turns and shares (0..1) a run are means, errors are factors of 1 or more."""
    return {
        "since": to_text(record.since),
        "pools": [_pool_to_json(pool) for pool in record.pools],
        "replay": None if record.replay is None else replay_to_json(record.replay),
    }


def record_text(record: DecisionRecord) -> str:
    """Draw a record: a sentence, what the replay says, and a row for the turns and each window of a pool."""
    since = to_text(record.since)[:10]
    lines = [_sentence(record.pools, since)]
    if record.replay is not None:
        lines.append(replay_text(record.replay, since))
    rows = [row for pool in record.pools for row in _rows(pool)]
    if rows:
        lines += ["", *table([_HEADINGS, *rows])]
    return "\n".join(map(visible_line, lines)) + "\n"


def _sentence(pools: Sequence[PoolRecord], since: str) -> str:
    runs = sum(pool.runs for pool in pools)
    if not runs:
        return f"No run since {since} was counted: that comes when one has ended well and its transcript was read."
    far_off = sum(pool.far_off for pool in pools)
    errors = "; ".join(f"{pool.median_error:.1f} times in {pool.model}" for pool in pools)
    return (
        f"Of {runs} runs since {since}, {far_off} ({percent(far_off / runs)}) took more than twice the turns expected, "
        f"or less than half; half of the runs were within {errors}."
    )


def _rows(pool: PoolRecord) -> Iterator[tuple[str, ...]]:
    far_off = f"{pool.far_off} ({percent(pool.far_off / pool.runs)})"
    turns = (f"{pool.expected_turns:.1f} turns", f"{pool.turns:.1f} turns")
    yield pool.model, "turns", str(pool.runs), *turns, f"{pool.median_error:.1f} times", far_off
    for window in pool.windows:
        error = "?" if window.error is None else f"{window.error:.1f} times in sum"
        shares = (percent(window.expected), percent(window.happened))
        yield pool.model, window.window, str(window.runs), *shares, error, "-"


def _make_pool_record(model: str, runs: Sequence[CountedRun]) -> PoolRecord:
    errors = sorted(_times(run.expected_turns, run.turns) for run in runs)
    shares = [share for run in runs for share in run.shares]
    windows = sorted({share.window for share in shares})
    return PoolRecord(
        model,
        len(runs),
        sum(run.expected_turns for run in runs) / len(runs),
        sum(run.turns for run in runs) / len(runs),
        errors[len(errors) // 2],
        sum(error > _FAR_OFF for error in errors),
        tuple(_make_window_record(name, [share for share in shares if share.window == name]) for name in windows),
    )


def _make_window_record(name: str, shares: Sequence[WindowShare]) -> WindowRecord:
    expected = sum(share.expected for share in shares) / len(shares)
    return WindowRecord(name, len(shares), expected, sum(share.happened for share in shares) / len(shares))


def _times(expected: float, happened: float) -> float:
    return max(expected, happened) / min(expected, happened)


def _pool_to_json(pool: PoolRecord) -> dict[str, object]:
    return {
        "model": pool.model,
        "runs": pool.runs,
        "expected_turns": pool.expected_turns,
        "turns": pool.turns,
        "median_error": pool.median_error,
        "more_than_twice_off": pool.far_off,
        "windows": [_window_to_json(window) for window in pool.windows],
    }


def _window_to_json(window: WindowRecord) -> dict[str, object]:
    return {
        "window": window.window,
        "runs": window.runs,
        "expected": window.expected,
        "happened": window.happened,
        "error": window.error,
    }

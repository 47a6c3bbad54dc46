"""The table of rows: a name, a line for `--list`, and the function that measures it.

A new row is a function `(World) -> Result` and one entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from report import Result
from world import World

from rows import choosing, crowd, one_shot, passing, quota, start_up


class Row(NamedTuple):
    """One entry."""

    name: str
    summary: str
    measure: Callable[[World], Result]


ROWS = (
    Row("start-version", "`--version`", start_up.version),
    Row("start-help", "`--help`", start_up.help_text),
    Row("start-usage-error", "an unknown option", start_up.usage_error),
    Row("start-schema-probe", "`session schema-probe` on a state file", start_up.schema_probe),
    Row("start-trace", "`trace` of a recorded invocation", start_up.trace),
    Row("start-to-spawn", "a one-shot until its CLI runs", start_up.to_spawn),
    Row("one-shot-true", "what a whole one-shot adds to `true`", one_shot.added_to_true),
    Row("cat-pipe", "100 MB of `cat` through us into a pipe", passing.into_pipe),
    Row("cat-file", "100 MB of `cat` through us into a file", passing.into_file),
    Row("cat-memory", "peak memory with 200 MB against 10 MB", passing.memory),
    Row("crowd", "200 one-shots from 8 processes on one state file", crowd.one_state_file),
    Row("choose-100", "choosing among 100 accounts with 4 windows each", choosing.in_memory),
    Row("choose-store-50", "choosing among 50 accounts, everything read from the store", choosing.from_store),
    Row("refresh-20", "reading 20 accounts whose scripts take 1 s each", quota.refresh),
    Row("chart-1m", "a chart over a history of a million readings", quota.chart),
)

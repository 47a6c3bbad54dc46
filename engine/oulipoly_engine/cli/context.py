"""What every command gets: the folders, the clock, the name we were called by."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.clock import Clock, SystemClock
from oulipoly_engine.paths import Paths, from_environment
from oulipoly_engine.records import Record, field


class Context(Record):
    """The surroundings of one command."""

    program: str = "agents"
    paths: Paths = field(default_factory=from_environment)
    clock: Clock = field(default_factory=SystemClock)
    models_dir: Path | None = None
    agents_dir: Path | None = None

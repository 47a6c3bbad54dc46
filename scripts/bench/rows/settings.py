"""Settings from all five layers, as a run reads them first."""

from __future__ import annotations

import os
import time
from pathlib import Path

from measure import BenchBroken, Series, isolated
from report import Limit, Result
from world import World

# ruff: noqa: PLC0415 - the harness itself must stay small (measure.py)

_LIMIT_MS = 5.0
_AGED = (1_700_000_000, 1_700_000_000)  # the times of files that nobody has just written


def resolved(world: World) -> Result:
    """Time the first reading in a process, while no file has changed since another process read them."""
    root = Path(world.env("settings")["HOME"])
    isolated(lambda: _resolve(root))
    series = Series(tuple(isolated(lambda: _resolve(root)) for _ in range(world.rounds(40))))
    return Result("settings of five layers, first reading, median", series.median, "ms", Limit(_LIMIT_MS), series)


def _resolve(root: Path) -> float:
    from oulipoly_engine.config import load
    from oulipoly_engine.paths import Above, Paths

    project, config = root / "project" / ".agent-runner", root / "config"
    if not project.exists():
        project.mkdir(parents=True)
        config.mkdir()
        for path, text in (
            (config / "config.toml", "routing_ttl_seconds = 60\n"),
            (project / "settings.toml", 'tie_rule = "lowest-use"\nauto_compaction = false\n'),
        ):
            path.write_text(text)
            os.utime(path, _AGED)
    above = Above(project, {"OXI_AUTO_COMPACTION": "off"}, {"work_max_running": "3"})
    paths = Paths(config=config, data=root / "data", home=root, cache=root / "cache", above=above)
    begun = time.perf_counter()
    settings = load.load_settings(paths).value
    took = (time.perf_counter() - begun) * 1000
    if (settings.tie_rule, settings.work_max_running, settings.routing_ttl_s) != ("lowest-use", 3, 60):
        raise BenchBroken(f"the settings are not those of the layers: {settings}")
    return took

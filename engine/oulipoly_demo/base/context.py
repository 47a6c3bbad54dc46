"""What one run of a demo CLI is given: account, home, working directory, clock, pace; read from the environment."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from oulipoly_demo.quota.meter import Meter
from oulipoly_engine import __version__

HOME_VARIABLES = {"claude": "DEMO_CLAUDE_HOME", "codex": "DEMO_CODEX_HOME"}
VERSION = f"{__version__}-demo"
_DEFAULT_THINKING_S = 0.4


class CliContext(NamedTuple):
    """What one run is given."""

    vendor: str  # "claude" or "codex"
    account: str  # the wrapper's name, also how the user starts it again
    home: Path
    cwd: Path  # real path
    now: Callable[[], float]  # Unix seconds
    pace_s: float  # between two pieces of a streamed answer
    thinking_s: float  # before the first piece, when somebody is watching
    colour: bool
    drifts: bool = False  # speak as a version of tomorrow would
    quirks: tuple[str, ...] = ()  # of an ACP agent, as `live.acp_agent` lists them

    @property
    def meter(self) -> Meter:
        """Return the account's quota."""
        return Meter(self.home, self.vendor)


def from_environment(vendor: str, environ: Mapping[str, str]) -> CliContext:
    """Read it from the variables that the demo's wrappers set.

    DEMO_CLAUDE_HOME or DEMO_CODEX_HOME: the account's home. DEMO_ACCOUNT: its name. DEMO_PACE: seconds between the
    pieces of an answer. DEMO_NOW: an RFC 3339 instant at which the clock stands still, for tests.
    DEMO_DRIFT: speak in the modes for programs as a version would that no client knows yet. DEMO_QUIRKS: what an ACP
    agent is to do differently, by blanks.
    """
    named = environ.get(HOME_VARIABLES[vendor])
    home = Path(named) if named else Path(environ.get("HOME") or Path.home()) / f".demo-{vendor}"
    pace = environ.get("DEMO_PACE")
    return CliContext(
        vendor=vendor,
        account=environ.get("DEMO_ACCOUNT") or f"demo-{vendor}",
        home=home.absolute(),
        cwd=Path.cwd(),
        now=clock(environ),
        pace_s=float(pace) if pace else 0.0,
        thinking_s=_DEFAULT_THINKING_S if pace is None or float(pace or 0) > 0 else 0.0,
        colour=not environ.get("NO_COLOR"),
        drifts=bool(environ.get("DEMO_DRIFT")),
        quirks=tuple(environ.get("DEMO_QUIRKS", "").split()),
    )


def clock(environ: Mapping[str, str]) -> Callable[[], float]:
    """Return what tells the time in Unix seconds: the machine, or DEMO_NOW."""
    fixed = environ.get("DEMO_NOW")
    if not fixed:
        return time.time
    instant = datetime.fromisoformat(fixed).timestamp()
    return lambda: instant

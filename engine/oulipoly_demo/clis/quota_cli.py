"""The accounts' quota script: prints the windows of an account home in the form that the runner's contract asks for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from oulipoly_demo.base import streams
from oulipoly_demo.base.options import OptionWrong, Syntax, parse
from oulipoly_demo.quota import levels
from oulipoly_demo.quota.meter import Meter, MeterBroken

_SYNTAX = Syntax(vendor="codex", valued=frozenset({"--set", "--kind", "--windows"}), flags=frozenset())
_USAGE = "usage: demo-quota HOME [--set PERCENT [--kind short|long]] [--windows short|real]"
_UNREADABLE_EXIT = 2  # as the bundled usage adapters leave when a credential file cannot be read


def run(argv: Sequence[str], now: Callable[[], float] = time.time) -> int:
    """Print an account's windows, after changing them if asked to; returns the exit code."""
    try:
        options = parse(argv, _SYNTAX)
        (home,) = (Path(word) for word in options.positionals)
        percent = options.last("--set")
        share = None if percent is None else float(percent)
    except (OptionWrong, ValueError):
        streams.complain(_USAGE)
        return _UNREADABLE_EXIT
    kind, windows = options.last("--kind") or "short", options.last("--windows")
    if kind not in ("short", "long") or windows not in (None, "short", "real") or not 0 <= (share or 0) <= 100:
        streams.complain(_USAGE)
        return _UNREADABLE_EXIT
    if not home.is_dir():
        streams.complain(f"no demo account lives in {home}")
        return _UNREADABLE_EXIT
    meter = Meter(home, _vendor(home))
    try:
        if windows is not None:
            meter.set_lengths(now(), short=windows == "short")
        if share is not None:
            meter.set_used(share, kind, now())
        streams.say(json.dumps(levels.report(meter.read(now()), now())))
    except MeterBroken as error:
        streams.complain(str(error))
        return 1
    return 0


def _vendor(home: Path) -> str:
    try:
        vendor = json.loads((home / "quota.json").read_bytes())["vendor"]
    except (OSError, ValueError, KeyError, TypeError):
        return "codex" if "codex" in home.name else "claude"
    return vendor if vendor in ("claude", "codex") else "claude"

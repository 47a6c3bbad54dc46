"""What levels of boxes this machine can really give, tried out once a process."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.boxes.bubblewrap import NAMESPACES
from oulipoly_engine.core.boxes.levels import SETTINGS, Availability, judge_guarded, judge_sealed
from oulipoly_engine.process.boxes.guard import find_abi, has_filter

_PATIENCE_S = 10.0


def available_levels() -> tuple[Availability, ...]:
    """Return all levels of processes, weakest first, each with why it cannot be had and what to do."""
    return tuple(find_level(level) for level in Level)


def find_level(level: Level) -> Availability:
    """Return whether a level can be had here."""
    match level:
        case Level.NONE:
            return Availability(level)
        case Level.GUARDED:
            return judge_guarded(find_abi(), has_filter=has_filter())
        case Level.SEALED:
            return _try_bubblewrap(shutil.which("bwrap"))


@cache
def _try_bubblewrap(program: str | None) -> Availability:
    failure = "" if program is None else _find_failure(program)
    return judge_sealed(program, failure, _read_settings() if failure else {})


def _find_failure(program: str) -> str:
    """Return what bubblewrap writes where it makes no box; empty: it does."""
    words = (program, *NAMESPACES, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true")
    try:
        ended = subprocess.run(  # noqa: S603 - constant words
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ended.returncode == 0:
        return ""
    return ended.stderr.decode("utf-8", "replace") or f"it ended with {ended.returncode}"


def _read_settings() -> dict[str, str]:
    paths = {name: Path("/proc/sys", *name.split(".")) for name in SETTINGS}
    return {name: path.read_text().strip() for name, path in paths.items() if path.is_file()}

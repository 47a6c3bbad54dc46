"""What Codex itself noted of an account's quota: for the history, and to stand in where no script answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from string import Template

from oulipoly_engine.adapters.codex_rate_limits import CodexReading, readings
from oulipoly_engine.records import replace

SOURCE = "codex-rollout"  # of these readings in the history

_FIRST_LOOK = timedelta(days=60)
_MOST = 5_000  # readings taken in one look: a quarter of a second of inserting, with the state file locked
_OVERLAP = timedelta(minutes=1)  # Codex may write an event a little after the instant that it bears


def notes(root: Path, looked_at: datetime | None, now: datetime, most: int = _MOST) -> tuple[CodexReading, ...]:
    """Return what was noted below a sessions folder since the last look, newest first.

    looked_at: None at the first look, which goes back two months at most. Later ones only list the folder unless
    a rollout has changed.
    """
    since = now - _FIRST_LOOK if looked_at is None else min(looked_at, now) - _OVERLAP
    return tuple(islice((note for note in readings(root, since) if note.at <= now), most))


def choose_note(found: Sequence[CodexReading], known_at: datetime | None, now: datetime) -> CodexReading | None:
    """Return the newest note, if it is newer than what is known and any of its windows still runs."""
    if not found or (known_at is not None and found[0].at <= known_at):
        return None
    live = tuple(window for window in found[0].windows if window.resets_at > now)
    return replace(found[0], windows=live) if live else None


def folder_of(root: str, home: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder that a script's `~/` and variables stand for."""
    path = Template(root).safe_substitute(environ)
    below_home = path == "~" or path.startswith("~/")
    return home / path[2:] if below_home else Path(path)

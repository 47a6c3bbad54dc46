"""Read the quota that Codex itself noted: the rate-limit events in its rollouts, so that a first run has a history.

Source: `event_msg` records of type `token_count` written by Codex 0.60 to 0.169; older ones give the seconds left.
"""

from __future__ import annotations

import heapq
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from oulipoly_engine.adapters.transcript_file import open_transcript, status_of
from oulipoly_engine.clock import from_text
from oulipoly_engine.core.quota.readings import duration_label
from oulipoly_engine.core.quota.windows import ParsedWindow
from oulipoly_engine.records import Record, replace
from oulipoly_engine.regular_files import walk_folders

_MARK = b'"rate_limits"'  # quotes inside JSON strings are escaped, so text that speaks of it does not match
_MAIN_LIMIT = "codex"  # other ids are limits of single models
_BURST = timedelta(seconds=1)  # a fork replays its parent's events within one instant; the last of them is the newest
_REPEAT = timedelta(seconds=60)  # Codex emits each reading again and again while nothing changes


class ScanLimits(Record):
    """How much is read at most."""

    tail_bytes: int = 4 << 20  # of each rollout: some thousand events; the largest seen in the wild had 87 MB
    total_bytes: int = 256 << 20  # of all rollouts together, newest first: half a second
    line_bytes: int = 1 << 20  # an event has under 2 kB; what is longer is a transcript that happens to match


class CodexReading(Record):
    """What Codex knew of its account's quota at one moment."""

    at: datetime  # aware, UTC
    windows: tuple[ParsedWindow, ...]  # longest first, labelled as chatgpt-usage does, `window_s` given
    source: Path  # the rollout
    plan: str | None = None


class _Rollout(Record):
    path: Path
    changed_at: datetime
    size: int


def readings(root: Path, since: datetime | None, limits: ScanLimits | None = None) -> Iterator[CodexReading]:
    """Yield the readings noted below a sessions folder, newest first.

    root: `<CODEX_HOME>/sessions`; a folder that is missing or cannot be read gives nothing.
    since: only what is newer. Lazy: whoever wants the newest reading alone has one rollout read, or a few.
    Damaged lines and values that cannot be true (a percentage out of range, a reset before the event) are skipped.
    """
    bounds = limits or ScanLimits()
    budget = bounds.total_bytes
    waiting: list[tuple[float, int, CodexReading]] = []  # a heap, newest first; the number keeps equals in order
    order = 0
    for rollout in sorted(_rollouts(root, since), key=lambda found: (found.changed_at, found.path), reverse=True):
        # No event of this rollout or of the older ones can be newer than its last change.
        while waiting and waiting[0][2].at >= rollout.changed_at:
            yield heapq.heappop(waiting)[2]
        if budget <= 0:
            break
        budget -= min(rollout.size, bounds.tail_bytes)
        for reading in _of_rollout(rollout.path, since, bounds):
            heapq.heappush(waiting, (-reading.at.timestamp(), order, reading))
            order += 1
    while waiting:
        yield heapq.heappop(waiting)[2]


def _rollouts(root: Path, since: datetime | None) -> Iterator[_Rollout]:
    for folder, _, names in walk_folders(root):  # ignores what it cannot list
        for name in names:
            if name.startswith("rollout-") and name.endswith(".jsonl"):
                path = Path(folder, name)
                try:
                    status = status_of(path)
                    changed_at = datetime.fromtimestamp(status.st_mtime, UTC)
                except (OSError, ValueError, OverflowError):
                    continue  # gone meanwhile, no file, or a time beyond all calendars
                if since is None or changed_at >= since:
                    yield _Rollout(path, changed_at, status.st_size)


def _of_rollout(path: Path, since: datetime | None, limits: ScanLimits) -> Iterator[CodexReading]:
    """Yield one rollout's readings from its end backwards, without repeats."""
    last: CodexReading | None = None
    for line in _find_marked_lines(_tail(path, limits.tail_bytes), limits.line_bytes):
        reading = _parse(line, path)
        if reading is None or (since is not None and reading.at <= since):
            continue
        if last is None or not _repeats(reading, last):
            last = reading
            yield reading


def _repeats(earlier: CodexReading, later: CodexReading) -> bool:
    gap = abs(later.at - earlier.at)
    return gap < _BURST or (gap < _REPEAT and earlier.windows == later.windows)


def _tail(path: Path, limit: int) -> bytes:
    """Return the end of a file, from the beginning of a line; nothing if it cannot be read."""
    try:
        with open_transcript(path) as file:
            end = file.seek(0, os.SEEK_END)
            start = max(0, end - limit)
            file.seek(start)
            content = file.read(end - start)  # memory is taken for as much as it is told to read
    except OSError:
        return b""
    return content if start == 0 else content.partition(b"\n")[2]


def _find_marked_lines(content: bytes, longest: int) -> Iterator[bytes]:
    """Yield the lines that hold the mark, last first; found forwards, because searching backwards is slower."""
    spans = []
    mark = content.find(_MARK)
    while mark >= 0:
        stop = content.find(b"\n", mark)
        stop = len(content) if stop < 0 else stop
        spans.append((content.rfind(b"\n", 0, mark) + 1, stop))
        mark = content.find(_MARK, stop)
    yield from (content[begin:stop] for begin, stop in reversed(spans) if stop - begin <= longest)


def _parse(line: bytes, path: Path) -> CodexReading | None:
    """Read one line; None for anything but a rate-limit event of the account that says something."""
    try:
        record = json.loads(line)
        payload = record["payload"]
        limits = payload["rate_limits"]
        if record["type"] != "event_msg" or payload["type"] != "token_count" or not isinstance(limits, dict):
            return None
        at = from_text(record["timestamp"])
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
    if limits.get("limit_id") not in (None, _MAIN_LIMIT):
        return None
    windows = _windows(limits, at)
    plan = limits.get("plan_type")
    return CodexReading(at, windows, path, plan if isinstance(plan, str) else None) if windows else None


def _windows(limits: Mapping[str, object], at: datetime) -> tuple[ParsedWindow, ...]:
    found = [_window(limits.get("primary"), at, 300), _window(limits.get("secondary"), at, 10_080)]
    known = sorted((window for window in found if window is not None), key=lambda window: -(window.window_s or 0))
    return tuple(replace(window, position=position) for position, window in enumerate(known))


def _window(value: object, at: datetime, usual_minutes: int) -> ParsedWindow | None:
    if not isinstance(value, dict):
        return None
    percent, resets_at = _number(value.get("used_percent")), _reset(value, at)
    minutes = _number(value.get("window_minutes") or usual_minutes)
    if percent is None or minutes is None or resets_at is None:
        return None
    # A reset that has passed voids the percentage: such an event was copied from an older session.
    if not 0 <= percent <= 100 or not 0 < minutes < 10_000_000 or resets_at <= at:
        return None
    seconds = int(minutes * 60)
    return ParsedWindow(0, percent / 100, resets_at, label=duration_label(seconds), window_s=seconds)


def _reset(value: Mapping[str, object], at: datetime) -> datetime | None:
    resets_at, left_s = value.get("resets_at"), value.get("resets_in_seconds")
    try:
        if isinstance(resets_at, int | float):
            return datetime.fromtimestamp(resets_at, UTC)
        return at + timedelta(seconds=left_s) if isinstance(left_s, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None

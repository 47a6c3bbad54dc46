"""When a quota reading is too old to trust, and when a window seems to hide. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from oulipoly_engine.core.quota.windows import QuotaState, Window, count_live

# The contract's times (sections 1.1 and 1.10).
MIN_TTL_S = 300
MAX_TTL_S = 86_400
TTL_DIVISOR = 5  # a reading lasts a fifth of the time to the nearest reset
ROUTING_TTL_S = 30.0
TOPOLOGY_COOLDOWN_S = 3600.0

# Who shows quota reads an account again after so long: (with nothing left, with everything left). Vendors punish
# polling (contract, section 3.4), so nothing that is shown is read more often than once in the floor.
READING_FLOOR_S = 60.0
_IDLE_S = (300.0, 1200.0)
_BUSY_S = (READING_FLOOR_S, 300.0)
_BEFORE_STALE = 0.8  # of a reading's time: it is read again before it would be shown as too old
SHOWN_AS_PRESENT_S = 3600.0  # whatever its windows, an older reading is shown as old

# A refresh "in the future" means that the clock went back; less than this is two processes' ordinary disagreement.
CLOCK_TOLERANCE = timedelta(seconds=60)


def dynamic_ttl_s(windows: Sequence[Window], now: datetime) -> int:
    """Return how many seconds a reading stays good for displays: 300..86400, a day without windows."""
    if not windows:
        return MAX_TTL_S
    nearest_s = min(max(0.0, (window.resets_at - now).total_seconds()) for window in windows)
    return min(MAX_TTL_S, max(MIN_TTL_S, int(nearest_s // TTL_DIVISOR)))


def is_stale(quota: QuotaState | None, now: datetime) -> bool:
    """Tell whether displays should refresh the account; None stands for an account never read."""
    if quota is None or quota.refreshed_at is None or not quota.windows:
        return True
    age = now - quota.refreshed_at
    return age < -CLOCK_TOLERANCE or age.total_seconds() >= dynamic_ttl_s(quota.windows, now)


def is_shown_as_old(quota: QuotaState, now: datetime) -> bool:
    """Tell whether displays should show the reading as old: too old by its windows, or more than an hour old."""
    if is_stale(quota, now) or quota.refreshed_at is None:
        return True
    return (now - quota.refreshed_at).total_seconds() > SHOWN_AS_PRESENT_S


def reading_interval_s(windows: Sequence[Window], now: datetime, *, is_busy: bool) -> float:
    """Return after how many seconds a display that is open reads an account again: the sooner, the less is left.

    is_busy: work runs on it. A spent window ends by its reset alone, so that a spent account counts as idle.
    """
    left = 1 - max((min(1.0, max(0.0, window.used)) for window in windows if window.resets_at > now), default=0.0)
    at_limit, unused = _BUSY_S if is_busy and left > 0 else _IDLE_S
    return min(at_limit + left * (unused - at_limit), _BEFORE_STALE * dynamic_ttl_s(windows, now))


def is_reading_due(  # noqa: PLR0913, RUF100 - what is known of one account
    quota: QuotaState,
    now: datetime,
    *,
    attempted_at: datetime | None = None,
    is_failing: bool = False,
    is_busy: bool = False,
    used_at: datetime | None = None,
) -> bool:
    """Tell whether a display that is open should read the account again now.

    attempted_at: when anybody last tried, for better or worse. is_failing: that try failed; how long such an account
    is left alone is the back-off's to say. used_at: when something last ended that may have used quota.
    """
    looks = [at for at in (quota.refreshed_at, attempted_at) if at is not None and at <= now + CLOCK_TOLERANCE]
    if not looks:
        return True
    age_s = (now - max(looks)).total_seconds()
    if age_s < READING_FLOOR_S:
        return False
    if is_failing or (used_at is not None and used_at > max(looks)):
        return True
    has_reset = any(max(looks) < window.resets_at <= now for window in quota.windows)
    return has_reset or age_s >= reading_interval_s(quota.windows, now, is_busy=is_busy)


def is_routing_stale(quota: QuotaState | None, now: datetime, ttl_s: float = ROUTING_TTL_S) -> bool:
    """Tell whether a choice of account should refresh it first; None stands for an account never read."""
    if quota is None or quota.refreshed_at is None or not quota.windows:
        return True
    age = now - quota.refreshed_at
    return age < -CLOCK_TOLERANCE or age.total_seconds() > ttl_s


def count_expected_windows(pool: Iterable[QuotaState], now: datetime) -> int:
    """Return the most live windows that any account of a pool has or ever had."""
    return max((max(count_live(quota.windows, now), quota.peak_live_windows) for quota in pool), default=0)


def topology_probe_due(quota: QuotaState, expected: int, now: datetime, *, has_source: bool) -> bool:
    """Tell whether an account that shows fewer live windows than `expected` should be read again now.

    No live window at all is ordinary staleness; an account without a quota source has nothing to ask.
    """
    live = count_live(quota.windows, now)
    return has_source and 0 < live < expected and _is_rested(quota.last_topology_probe_at, now)


def _is_rested(last_probe_at: datetime | None, now: datetime) -> bool:
    if last_probe_at is None:
        return True
    age = now - last_probe_at
    return age < -CLOCK_TOLERANCE or age.total_seconds() >= TOPOLOGY_COOLDOWN_S

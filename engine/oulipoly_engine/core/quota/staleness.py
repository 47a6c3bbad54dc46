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

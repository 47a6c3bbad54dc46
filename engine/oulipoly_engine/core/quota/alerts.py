"""What is worth a word about an account's windows. Pure.

An alert begins where it is sure, and ends where it is plainly over: a reading that goes up and down by a point, or a
forecast that does, neither raises it again nor takes it away.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota.forecast import Forecast, State
from oulipoly_engine.core.quota.windows import DEFAULT_THRESHOLD, LEAST_USED_TO_WARN, QuotaState, Window
from oulipoly_engine.core.text.quantities import percent
from oulipoly_engine.records import Record

_LEAST_CHANCE = 0.8
_SLACK = 0.02  # below the threshold at which an alert that was raised still holds: vendors round and correct themselves
THRESHOLD, FORECAST = "threshold", "forecast"


class WindowAlert(Record):
    """A window that is almost used up, or will be; said once in its cycle."""

    kind: str  # THRESHOLD: used so far; FORECAST: runs out before its reset
    account: str
    window: str
    used: float  # 0..1
    resets_at: datetime
    dry_at: datetime | None = None  # None: it lasts at the present pace, or nobody can tell

    @property
    def text(self) -> str:
        """Return the alert as one sentence."""
        return f"{self.head}, {self.rest}"

    @property
    def head(self) -> str:
        """Return what is used up."""
        return f"{self.account} {self.window} is {percent(self.used)} used"

    @property
    def rest(self) -> str:
        """Return what is ahead."""
        reset = f"resets {to_text(self.resets_at)[:16]}Z"
        if self.dry_at is None:
            return reset
        return f"runs out about {to_text(self.dry_at)[:16]}Z at this pace, {reset}"

    def to_json(self) -> dict[str, object]:
        """Return the alert as JSON values; uses are fractions, instants RFC 3339."""
        return {
            "kind": self.kind,
            "account": self.account,
            "window": self.window,
            "used": self.used,
            "resets_at": to_text(self.resets_at),
            "dry_at": None if self.dry_at is None else to_text(self.dry_at),
            "text": self.text,
        }


def alerts(
    state: QuotaState,
    forecasts: Mapping[str, Forecast],
    now: datetime,
    threshold: float = DEFAULT_THRESHOLD,
    raised: Collection[tuple[str, str]] = (),
) -> tuple[WindowAlert, ...]:
    """Return what one account's live windows give rise to, one alert a window.

    forecasts: by window name; a window without one is judged by what is used alone. raised: (window, kind) of what has
    been raised in the present cycle.
    """
    live = [window for window in state.windows if window.resets_at > now]
    found = [_of(state.account, window, forecasts.get(window.name), threshold, raised) for window in live]
    return tuple(alert for alert in found if alert is not None)


def needs_forecast(window: Window, raised: Collection[tuple[str, str]]) -> bool:
    """Tell whether a forecast can change what is said of a window: three quarters are used, or it has been told.

    Below that level work most often ends before its window does, however sure the forecast is of the pace.
    """
    return window.used >= LEAST_USED_TO_WARN or (window.name, FORECAST) in raised


def _of(
    account: str, window: Window, forecast: Forecast | None, threshold: float, raised: Collection[tuple[str, str]]
) -> WindowAlert | None:
    dry_at = None
    if forecast is not None and needs_forecast(window, raised):
        dry_at = _find_end(forecast, is_told=(window.name, FORECAST) in raised)
    slack = _SLACK if (window.name, THRESHOLD) in raised else 0.0
    if window.used >= threshold - slack:
        return WindowAlert(THRESHOLD, account, window.name, window.used, window.resets_at, dry_at)
    if dry_at is not None:
        return WindowAlert(FORECAST, account, window.name, window.used, window.resets_at, dry_at)
    return None


def _find_end(forecast: Forecast, *, is_told: bool) -> datetime | None:
    """Return when a window runs out, where that is worth an alert: it is likely by the forecast's own error too.

    Few readings make the error wide. Once told, it holds until the middle of the forecast says otherwise.
    """
    is_likely = is_told or (forecast.chance is not None and forecast.chance >= _LEAST_CHANCE)
    return forecast.at if forecast.state is State.RUNS_DRY and is_likely else None

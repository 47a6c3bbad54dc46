"""What is worth a word about an account's windows. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota.forecast import Forecast, State
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import Record

DEFAULT_THRESHOLD = 0.9


class Alert(Record):
    """One thing to say, once in a window's cycle."""

    kind: str  # "threshold": used so far; "forecast": runs dry before its reset
    account: str
    window: str
    used: float  # 0..1
    resets_at: datetime
    dry_at: datetime | None = None  # None: it lasts at the present pace, or nobody can tell

    @property
    def text(self) -> str:
        """Return the alert as one sentence."""
        head = f"{self.account} {self.window} is {100 * self.used:.0f} % used"
        reset = f"resets {to_text(self.resets_at)[:16]}Z"
        if self.dry_at is None:
            return f"{head}, {reset}"
        return f"{head} and runs dry about {to_text(self.dry_at)[:16]}Z at the present pace; it {reset}"

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
    state: QuotaState, forecasts: Mapping[str, Forecast], now: datetime, threshold: float = DEFAULT_THRESHOLD
) -> tuple[Alert, ...]:
    """Return what one account's live windows give rise to.

    forecasts: by window name; a window without one is judged by what is used alone.
    """
    live = [window for window in state.windows if window.resets_at > now]
    found = [_of(state.account, window, forecasts.get(window.name), threshold) for window in live]
    return tuple(alert for alert in found if alert is not None)


def _of(account: str, window: Window, forecast: Forecast | None, threshold: float) -> Alert | None:
    dry_at = forecast.at if forecast is not None and forecast.state is State.RUNS_DRY else None
    if window.used >= threshold:
        return Alert("threshold", account, window.name, window.used, window.resets_at, dry_at)
    if forecast is not None and forecast.state is State.RUNS_DRY:
        return Alert("forecast", account, window.name, window.used, window.resets_at, dry_at)
    return None

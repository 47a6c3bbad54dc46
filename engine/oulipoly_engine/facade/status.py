"""What a status line can say, by the names of its placeholders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.checks.alerts import Severity
from oulipoly_engine.core.text.columns import fit
from oulipoly_engine.core.text.quantities import clock, duration, percent

if TYPE_CHECKING:
    from oulipoly_engine.core.checks.alerts import Alert
    from oulipoly_engine.core.quota.windows import Window
    from oulipoly_engine.facade.snapshot import Snapshot

UNKNOWN = "?"
UNKNOWN_WORST = "quota ?"
LONGEST_TEXT = 120  # cells of what wants the user


def values(snapshot: Snapshot, requests: Sequence[Alert] = ()) -> dict[str, str]:
    """Return every placeholder with its text; what is not known is `?`, never 0. requests: that wait for an answer.

    Beside the fixed names there are `next:MODEL`, `used:ACCOUNT`, `used:ACCOUNT/WINDOW`, `reset:ACCOUNT` and
    `reset:ACCOUNT/WINDOW`; without a window they mean the one that is spent furthest.
    """
    return dict(_all(snapshot, requests))


def known_values(values: Mapping[str, str]) -> dict[str, str | None]:
    """Return the same values for programs: null for what is not known."""
    return {name: None if text in (UNKNOWN, UNKNOWN_WORST) else text for name, text in values.items()}


def _all(snapshot: Snapshot, requests: Sequence[Alert]) -> Iterator[tuple[str, str]]:
    now = snapshot.at
    yield from _worst(snapshot)
    pool = next(iter(snapshot.pools), None)
    yield "model", UNKNOWN if pool is None else pool.model.name
    yield "next", UNKNOWN if pool is None else pool.next_account or "nobody"
    for one in snapshot.pools:
        yield f"next:{one.model.name}", one.next_account or "nobody"
    for view in snapshot.accounts:
        living = [window for window in view.quota.windows if window.resets_at > now]
        yield from _of_window(view.name, max(living, key=lambda one: one.used, default=None), now)
        for window in living:
            yield from _of_window(f"{view.name}/{window.name}", window, now)
    wants = [*requests, *(alert for alert in snapshot.alerts if alert.severity is not Severity.NOTE)]
    yield "running", str(len(snapshot.running))
    yield "alerts", str(len(snapshot.alerts_of("window")))
    yield "problems", str(sum(alert.is_error for alert in wants))
    yield "at_risk", str(sum(alert.count for alert in snapshot.alerts_of("at-risk")))
    yield "attention", str(len(wants))
    yield "attention_mark", f"! {len(wants)}" if wants else ""
    yield "attention_text", _brief(wants[0]) if wants else ""
    shown = [view.quota.refreshed_at for view in snapshot.accounts if not view.wishes.disabled]
    read = [at for at in shown if at is not None]
    yield "age", duration(now - min(read)) if read else UNKNOWN


def _brief(alert: Alert) -> str:
    """Return what wants the user as one short line."""
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, mostly nothing is wrong

    return fit(" ".join(redact(alert.head).split()), LONGEST_TEXT)


def _worst(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    found = [
        (view.name, window)
        for view in snapshot.accounts
        if not view.wishes.disabled
        for window in view.quota.windows
        if window.resets_at > snapshot.at
    ]
    name, window = max(found, key=lambda one: one[1].used, default=(UNKNOWN, None))
    used = UNKNOWN if window is None else percent(window.used)
    yield "worst_account", name
    yield "worst_window", UNKNOWN if window is None else window.name
    yield "worst_used", used
    yield "worst_reset", UNKNOWN if window is None else clock(window.resets_at, snapshot.at)
    yield "worst_left", UNKNOWN if window is None else duration(window.resets_at - snapshot.at)
    yield "worst", UNKNOWN_WORST if window is None else f"{name} {window.name} {used}"
    yield "reset_mark", "" if window is None else f"→ {clock(window.resets_at, snapshot.at)} ·"


def _of_window(name: str, window: Window | None, now: datetime) -> Iterator[tuple[str, str]]:
    yield f"used:{name}", UNKNOWN if window is None else percent(window.used)
    yield f"reset:{name}", UNKNOWN if window is None else clock(window.resets_at, now)

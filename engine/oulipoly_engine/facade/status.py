"""What a status line can say, by the names of its placeholders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.text.columns import fit
from oulipoly_engine.core.text.quantities import clock, duration, percent

if TYPE_CHECKING:
    from oulipoly_engine.core.quota.windows import Window
    from oulipoly_engine.facade.snapshot import Snapshot

UNKNOWN = "?"
UNKNOWN_WORST = "quota ?"
LONGEST_TEXT = 120  # cells of what wants the user


def values(snapshot: Snapshot) -> dict[str, str]:
    """Return every placeholder with its text; what is not known is `?`, never 0.

    Beside the fixed names there are `next:MODEL`, `used:ACCOUNT`, `used:ACCOUNT/WINDOW`, `reset:ACCOUNT` and
    `reset:ACCOUNT/WINDOW`; without a window they mean the one that is spent furthest.
    """
    return dict(_all(snapshot))


def known_values(values: Mapping[str, str]) -> dict[str, str | None]:
    """Return the same values for programs: null for what is not known."""
    return {name: None if text in (UNKNOWN, UNKNOWN_WORST) else text for name, text in values.items()}


def _all(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
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
    errors = sum(one.is_error for one in snapshot.problems)
    risks = sum(one.count for one in snapshot.at_risk)
    wants = errors + len(snapshot.alerts) + len(snapshot.at_risk)
    yield "running", str(len(snapshot.running))
    yield "alerts", str(len(snapshot.alerts))
    yield "problems", str(errors)
    yield "at_risk", str(risks)
    yield "attention", str(wants)
    yield "attention_mark", f"! {wants}" if wants else ""
    yield "attention_text", _first_wish(snapshot) if wants else ""
    shown = [view.quota.refreshed_at for view in snapshot.accounts if not view.wishes.disabled]
    read = [at for at in shown if at is not None]
    yield "age", duration(now - min(read)) if read else UNKNOWN


def _first_wish(snapshot: Snapshot) -> str:
    """Return the first thing that wants the user as one short line; the app goes through them in the same order."""
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, mostly nothing is wrong

    wrong = next((one.cause for one in snapshot.problems if one.is_error), None)
    if wrong is not None:
        return fit(" ".join(redact(wrong).split()), LONGEST_TEXT)
    if snapshot.alerts:
        alert = snapshot.alerts[0]
        return fit(f"{alert.account} {alert.window} is {percent(alert.used)} used", LONGEST_TEXT)
    risk = snapshot.at_risk[0]
    return fit(f"{risk.count} session{'' if risk.count == 1 else 's'} of {risk.account} at risk", LONGEST_TEXT)


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

"""What wants the user, in the order in which the alert key goes through it; the header counts the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.checks.alerts import Alert, Severity
from oulipoly_tui.view import words
from oulipoly_tui.view.transcript.spans import cells

if TYPE_CHECKING:
    from oulipoly_engine.events import AlertRaised
    from oulipoly_engine.facade.snapshot import Snapshot

PROBLEMS = "problems"  # the list of them, which is not a pane
INBOX = "inbox"  # nor is this
_PANES = {"window": "quota", "at-risk": "sessions", "request": "live", "terminal": "repl"}  # where a kind is seen


def pane_of(alert: Alert) -> str:
    """Return where an alert is seen; PROBLEMS: in the list; INBOX: there, for no session asks."""
    if alert.kind == "request" and not alert.subject:
        return INBOX
    return _PANES.get(alert.kind, PROBLEMS)


def is_told_as_seen(alert: Alert) -> bool:
    """Tell whether a line says an alert once it stands in a snapshot; of windows and requests events tell."""
    return alert.since is not None or alert.kind in ("login", "disk")


def key_of(alert: Alert) -> str:
    """Return what the pane's `show` finds it by."""
    if alert.kind == "window":
        return f"{alert.subject}\n{alert.cause}"
    return alert.cause if alert.kind == "at-risk" else alert.subject


def alert_text(alert: Alert, now: datetime) -> str:
    """Return an alert as one sentence, its times as the user's clock has them; of what is at risk the way out too."""
    text = words.local(alert.text, now)
    return f"{text}: {alert.fix}" if alert.kind == "at-risk" else text


def alerts_text(alerts: Sequence[AlertRaised], key: str | None, room: int) -> str:
    """Return one alert, or several that came at once, as one sentence of so many columns at most.

    key: what goes through them; None: there is none, or nobody is there to press it.
    """
    first = alerts[0]
    if len(alerts) == 1:
        return words.local(first.text, first.at)
    names = ", ".join(dict.fromkeys(f"{one.account} {one.window}" for one in alerts))
    head = f"{len(alerts)} alerts" + (f", {key} goes through them" if key else "")
    return text if cells(text := f"{head}: {names}") <= room else head


def collect_attention(snapshot: Snapshot | None, of_panes: Iterable[Alert]) -> tuple[Alert, ...]:
    """Return all of it, what panes tell of first: a terminal that rings is what the user waits for."""
    known = () if snapshot is None else snapshot.alerts
    return (*of_panes, *(alert for alert in known if alert.severity is not Severity.NOTE))


def find_next(alerts: tuple[Alert, ...], last: Alert | None) -> Alert | None:
    """Return the next one after the last that was gone to; one that is no more begins again."""
    if not alerts:
        return None
    identities = [alert.identity for alert in alerts]
    if last is None or last.identity not in identities:
        return alerts[0]
    return alerts[(identities.index(last.identity) + 1) % len(alerts)]

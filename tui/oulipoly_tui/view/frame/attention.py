"""What wants the user, in the order in which the alert key goes through it; the header counts the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.records import Record
from oulipoly_tui.view import words
from oulipoly_tui.view.transcript.spans import cells

if TYPE_CHECKING:
    from oulipoly_engine.core.quota.alerts import Alert
    from oulipoly_engine.events import AlertRaised
    from oulipoly_engine.facade.snapshot import AtRisk, Snapshot

PROBLEMS = "problems"  # the list of them, which is not a pane


class Attention(Record):
    """One thing that wants the user."""

    text: str  # one sentence without its full stop
    pane: str  # where it is seen; PROBLEMS: in the list
    key: str = ""  # what the pane's `show` finds it by


def of_snapshot(snapshot: Snapshot | None) -> tuple[Attention, ...]:
    """Return what the engine knows of: errors in one entry each, then alerts, then accounts whose CLI deletes soon."""
    if snapshot is None:
        return ()
    wrong = [Attention(one.cause, PROBLEMS, one.cause) for one in snapshot.problems if one.is_error]
    due = [Attention(alert_text(one, snapshot.at), "quota", f"{one.account}\n{one.window}") for one in snapshot.alerts]
    risks = [Attention(risk_text(one, snapshot.at), "sessions", one.chain_id) for one in snapshot.at_risk]
    return (*wrong, *due, *risks)


def risk_text(risk: AtRisk, now: datetime, archives: str = "A") -> str:
    """Return what an account's CLI deletes, and the way out, as one sentence. archives: what the way out is called."""
    many = risk.count != 1
    when = "now" if risk.due <= now else f"in {words.until(risk.due, now)}"
    what = f"{risk.count} session{'s' * many} of {risk.account} at risk"
    return f"{what}, {'first ' * many}{when}, not archived: {archives} keeps {'them' if many else 'it'}"


def alert_text(alert: Alert | AlertRaised, now: datetime) -> str:
    """Return an alert as one sentence, its times as the user's clock has them."""
    head = f"{alert.account} {alert.window} is {words.percent(alert.used)} used"
    reset = f"resets {words.clock(alert.resets_at, now)}"
    if alert.dry_at is None:
        return f"{head}, {reset}"
    return f"{head}, runs out about {words.clock(alert.dry_at, now)} at this pace, {reset}"


def alerts_text(alerts: Sequence[AlertRaised], key: str | None, room: int) -> str:
    """Return one alert, or several that came at once, as one sentence of so many columns at most.

    key: what goes through them; None: there is none, or nobody is there to press it.
    """
    first = alerts[0]
    if len(alerts) == 1:
        return alert_text(first, first.at)
    names = ", ".join(dict.fromkeys(f"{one.account} {one.window}" for one in alerts))
    head = f"{len(alerts)} alerts" + (f", {key} goes through them" if key else "")
    return text if cells(text := f"{head}: {names}") <= room else head


def collect_attention(snapshot: Snapshot | None, of_panes: Iterable[Attention]) -> tuple[Attention, ...]:
    """Return all of it, what panes tell of first: a terminal that rings is what the user waits for."""
    return (*of_panes, *of_snapshot(snapshot))


def find_next(found: tuple[Attention, ...], last: Attention | None) -> Attention | None:
    """Return the next one after the last that was gone to; one that is no more begins again."""
    if not found:
        return None
    places = [(one.pane, one.key) for one in found]  # the words change while it stays the same thing
    before = None if last is None else (last.pane, last.key)
    place = places.index(before) + 1 if before in places else 0
    return found[place % len(found)]

"""The past of quota as labelled lines: the part of the linear face that looks back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_tui.view import words

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk

_BURNERS = 5  # of each kind that are read out


def quota_history(talk: Talk, snapshot: Snapshot) -> None:
    """Say how a window burned: its cycles, what is expected, how far off that was, and who burned it."""
    from oulipoly_tui.view.quota.quota import RANGES, format_unused, record  # noqa: PLC0415 - only who looks back

    names = [f"{view.name} {window.name}" for view in snapshot.accounts for window in view.quota.windows]
    window = talk.choose("Window", names)
    shown = talk.choose("Range", [one.name for one in RANGES]) if window is not None else None
    if window is None or shown is None:
        return
    span = next(one for one in RANGES if one.name == shown)
    account = next(view.name for view in snapshot.accounts if window.startswith(f"{view.name} "))
    found = talk.engine.quota.burn_history(account, window.removeprefix(f"{account} "), span.back, span.ahead, 200)
    for cycle in found.cycles:
        left = "" if cycle.ended is None else f" Unused at the reset: {format_unused(cycle.ended)}."
        last = words.percent(cycle.points[-1].used)
        talk.say(f"Cycle until {words.clock(cycle.resets_at, found.at)}. Last reading {last}.{left}")
    for line in record(found):
        talk.say(" ".join("".join(text for text, _ in line).split()) + ".")
    burned = talk.engine.ledger.burners(account, found.since, found.at)
    for by, rows in burned.by.items():
        for row in rows[:_BURNERS]:
            talk.say(f"Burned by {by} {row.title or row.key}: {words.percent(row.share)}, {row.line.calls} calls.")

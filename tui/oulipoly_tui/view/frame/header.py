"""The header line: product, pool in use, worst window, what wants attention, age of the data. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.text.status_line import fill
from oulipoly_tui.view import words
from oulipoly_tui.view.transcript.spans import Line, Span, cells, cut

if TYPE_CHECKING:
    from oulipoly_engine.core.quota.windows import Window
    from oulipoly_engine.facade.snapshot import Snapshot

PRODUCT = "agents"
_NEARLY, _MUCH = 0.9, 0.7


def header(
    snapshot: Snapshot | None,
    now: datetime,
    width: int,
    *,
    model: str | None,
    marks: str = "",
    wants: int = 0,
    asks: int = 0,
) -> Line:
    """Return the header; what does not fit is left out: the product's name first, the attention last.

    model: the pool that is looked at. marks: modes that hold, such as `read-only`. wants: how many things want the
    user. asks: how many requests of live sessions wait.
    """
    product: Span = (f" {PRODUCT} ", "strong")
    if snapshot is None:
        return (product, ("· reading …", "dim"))
    parts: list[tuple[int, Span]] = [(5, product)]  # (the higher, the sooner left out; the part)
    if marks:
        parts.append((1, (f"· {marks} ", "warn")))
    if asks:
        parts.append((1, (f"· ? {asks} ", "warn")))
    if snapshot.header:
        return (*(part for _, part in parts), _own(snapshot, width - sum(cells(part[0]) for _, part in parts)))
    pool = snapshot.pool(model) if model is not None else next(iter(snapshot.pools), None)
    if pool is not None:
        parts.append((4, (f"· {pool.model.name} → {pool.next_account or 'nobody'} ", "accent")))
    parts += [(2, part) for part in _worst(snapshot)]
    if wants:
        parts.append((1, (f"· ! {wants} ", "bad")))
    worst = worst_window(snapshot)
    shown = {*(() if pool is None else (pool.next_account,)), *(() if worst is None else (worst[0],))}
    parts.append((3, (f"· {_age(snapshot, now, shown)} ", "dim")))
    return _begin(part for _, part in _drop_until_fit(parts, width))


def _begin(parts: Iterable[Span]) -> Line:
    """Return the line without the dot in front of its first part."""
    (text, tone), *rest = parts
    return ((f" {text.lstrip(' ·')}", tone), *rest)


def worst_window(snapshot: Snapshot) -> tuple[str, Window] | None:
    """Return the (account, window) that is spent furthest among those that live; None where nothing is known."""
    found = [
        (view.name, window)
        for view in snapshot.accounts
        if not view.wishes.disabled
        for window in view.quota.windows
        if window.resets_at > snapshot.at
    ]
    return max(found, key=lambda one: one[1].used, default=None)


def _own(snapshot: Snapshot, room: int) -> Span:
    """Return the line of the user's own template, told as urgently as the worst window is."""
    from oulipoly_engine.facade.status import values as status_values  # noqa: PLC0415 - loaded with the snapshot

    text = fill(snapshot.header, status_values(snapshot))
    return (cut(f"· {text} ", room), next((tone for _, tone in _worst(snapshot)), ""))


def _worst(snapshot: Snapshot) -> tuple[Span, ...]:
    found = worst_window(snapshot)
    if found is None:
        return (("· quota unknown ", "dim"),) if snapshot.accounts else ()
    name, window = found
    text = f"· {name} {window.name} {words.percent(window.used)} → {words.clock(window.resets_at, snapshot.at)} "
    return ((text, "bad" if window.used >= _NEARLY else "warn" if window.used >= _MUCH else ""),)


def _age(snapshot: Snapshot, now: datetime, shown: Collection[str | None]) -> str:
    """Return the age of the oldest reading among those of the accounts that are shown."""
    if snapshot.store_failure is not None:
        return f"state file unreadable, last good data {words.age(snapshot.stored_at, now)}"
    read = [view.quota.refreshed_at for view in snapshot.accounts if view.name in shown and view.has_source]
    if not read or None in read:
        return "never read"
    return f"read {words.age(min(at for at in read if at is not None), now)}"


def _drop_until_fit(parts: list[tuple[int, Span]], width: int) -> list[tuple[int, Span]]:
    while len(parts) > 1 and sum(cells(part[0]) for _, part in parts) > width + 1:  # the last blank needs no room
        parts.remove(max(parts, key=lambda one: one[0]))
    return parts

"""Invocations as a tree: which agent started which. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.session_table import ID_LENGTH
from oulipoly_engine.core.text.columns import plain
from oulipoly_tui.view.sessions.columns import short_age
from oulipoly_tui.view.sessions.sessions import Kind
from oulipoly_tui.view.transcript.spans import Row, Span, Tone, cells, cut, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import Spawned

_STATES: Mapping[str, tuple[str, Tone]] = {
    "running": ("running", "good"),
    "succeeded": ("done", ""),
    "failed": ("failed", "bad"),
    "legacy": ("?", "dim"),
}
_DEEPEST = 40
_NAME_LEAST = 22  # columns of who was asked, before a failure's reason is left out


def trace_rows(
    found: Sequence[Spawned], titles: Mapping[str, str], closed: Collection[str], width: int, now: datetime
) -> tuple[Row, ...]:
    """Return a row an invocation, those that nobody started first and newest, what they started below them.

    titles: of sessions, by their ids. closed: uuids whose children are not shown.
    """
    known = {one.row_id for one in found}
    children: dict[int, list[Spawned]] = {}
    for one in reversed(found):  # children the oldest first
        if one.parent_row_id in known and one.parent_row_id is not None and one.parent_row_id < one.row_id:
            children.setdefault(one.parent_row_id, []).append(one)
    below = {one.row_id for group in children.values() for one in group}
    roots = [one for one in found if one.row_id not in below]
    return tuple(row for root in roots for row in _rows(root, 0, children, titles, closed, width, now))


def _rows(
    one: Spawned,
    depth: int,
    children: Mapping[int, Sequence[Spawned]],
    titles: Mapping[str, str],
    closed: Collection[str],
    width: int,
    now: datetime,
) -> Iterator[Row]:
    own = children.get(one.row_id, ())
    is_closed = one.uuid in closed
    fold = "  " if not own else "▸ " if is_closed else "▾ "
    state, tone = _STATES.get(one.status, (one.status, "warn"))
    age = fit_text(short_age(one.created_at, now), 7, right=True)
    told: list[Span] = [(f" {state}", tone)]
    if own and is_closed:
        told.append((f" +{len(own)}", "dim"))
    name = f"{plain(one.model)} → {plain(one.account or '?')}"
    title = titles.get(one.session_id or "", "")
    if one.is_resumed:
        title = f"resumed {title or plain(one.session_id or '?')[:ID_LENGTH]}"
    handed = f" returned {cut(plain(one.returned[0]), _NAME_LEAST)}" if one.returned else ""
    handed += f" +{len(one.returned) - 1}" if len(one.returned) > 1 else ""
    head = "  " * min(depth, _DEEPEST) + fold
    text = f"{name}  {title}" if title else name
    room = width - len(head) - sum(len(span) for span, _ in told) - len(age)
    reason = f" {plain(one.reason)}" if one.reason and one.status == "failed" else ""
    for more, least in ((reason, min(_NAME_LEAST, len(name))), (handed, len(name))):
        if more and room - cells(more) >= least:
            told.append((more, "dim"))
            room -= cells(more)
    yield Row(f"{Kind.RUN}:{one.uuid}", ((head, "dim"), (fit_text(text, max(4, room)), ""), *told, (age, "dim")))
    if not is_closed:
        for child in own:
            yield from _rows(child, depth + 1, children, titles, closed, width, now)

"""Which panes are on the screen, and where. Pure.

Below 50 columns one pane alone; to 79 a list above its detail; from 80 side by side; from 160 a third column. From 100
the lists have the width that their columns want, as far as what stands beside them can do with less. Which pane has the
keys changes no width: nobody's text shall move for a step from pane to pane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from oulipoly_engine.records import Record

Column = Literal["list", "detail", "aside"]
SINGLE_BELOW, STACKED_BELOW, TWO_BELOW = 50, 80, 160
_WANTED_FROM = 100
_LEAST_HEIGHT = 7  # of a pane in the list column: a border, a heading and four rows
_LIST_SHARE = 0.45
_LIST_SHARE_OF_THREE = 0.42
_LIST_LEAST_OF_THREE = 0.34  # where a terminal in the middle needs the rest
_ASIDE_SHARE = 0.26  # of the third column, which has bars and a chart; the rest is the transcript's


class PaneRectangle(Record):
    """A pane's rectangle."""

    id: str
    x: int
    y: int
    width: int
    height: int


class Present(Record):
    """A pane that there is."""

    id: str
    column: Column
    wanted_width: int = 0  # of a list: its columns have room then
    least_width: int = 0  # of what stands beside the lists: they take more than their share only of what is above


def arrange(
    panes: Sequence[Present],
    size: tuple[int, int],
    focused: str,
    detail: str | None,
    *,
    zoomed: bool = False,
    listed: str | None = None,
) -> tuple[PaneRectangle, ...]:
    """Return the visible panes with their rectangles, which fill the size.

    focused: the pane that must be visible. detail, listed: which of the detail panes, and of the
    lists, was looked at last: what is beside the focused pane stays as it was.
    """
    width, height = size
    if not panes or width < 1 or height < 1:
        return ()
    if zoomed or width < SINGLE_BELOW:
        return (PaneRectangle(focused, 0, 0, width, height),)
    if width < STACKED_BELOW:
        return _stack_panes(panes, size, focused, detail)
    tall = focused if listed is None or any(one.id == focused and one.column == "list" for one in panes) else listed
    columns = _columns(panes, height, focused, detail, tall, has_aside=width >= TWO_BELOW)
    return tuple(_place_columns(panes, columns, size, tall))


def _stack_panes(
    panes: Sequence[Present], size: tuple[int, int], focused: str, detail: str | None
) -> tuple[PaneRectangle, ...]:
    width, height = size
    lists, details, _ = _columns(panes, _LEAST_HEIGHT, focused, detail, focused, has_aside=False)
    shown = [*lists[:1], *details[:1]]
    if len(shown) < 2 or height < 2 * _LEAST_HEIGHT:
        return (PaneRectangle(focused, 0, 0, width, height),)
    upper = height // 2
    return PaneRectangle(shown[0], 0, 0, width, upper), PaneRectangle(shown[1], 0, upper, width, height - upper)


def _columns(
    panes: Sequence[Present], height: int, focused: str, detail: str | None, tall: str, *, has_aside: bool
) -> tuple[list[str], list[str], list[str]]:
    lists = [pane.id for pane in panes if pane.column == "list"]
    asides = [pane.id for pane in panes if pane.column == "aside"] if has_aside else []
    details = [pane.id for pane in panes if pane.id not in lists and pane.id not in asides]
    active = focused if focused in details else detail if detail in details else next(iter(details), None)
    return (
        _choose_panes(lists, height, tall),
        [] if active is None else [active],
        _choose_panes(asides, height, focused),
    )


def _choose_panes(ids: list[str], height: int, focused: str) -> list[str]:
    """Keep as many as have room, the focused one among them."""
    room = max(1, height // _LEAST_HEIGHT)
    if len(ids) <= room:
        return ids
    first = min(max(0, ids.index(focused) - room + 1), len(ids) - room) if focused in ids else 0
    return ids[first : first + room]


def _widths(panes: Sequence[Present], width: int, shown: Sequence[list[str]]) -> list[int]:
    """Return each column's width: the lists have what their columns want, as far as the others keep their least."""
    if len(shown) == 1:
        return [width]
    detail, *asides = (max(one.least_width for one in panes if one.id in column) for column in shown[1:])
    aside = max(*asides, round(width * _ASIDE_SHARE)) if asides else 0
    wanted = max(one.wanted_width for one in panes) if width >= _WANTED_FROM else 0
    if asides:
        wanted, least = max(wanted, round(width * _LIST_SHARE_OF_THREE)), round(width * _LIST_LEAST_OF_THREE)
    else:
        least = round(width * _LIST_SHARE)
    lists = max(least, min(wanted, width - aside - detail))
    return [lists, width - lists - aside, aside][: len(shown)]


def _place_columns(
    panes: Sequence[Present], columns: Sequence[list[str]], size: tuple[int, int], tall: str
) -> list[PaneRectangle]:
    width, height = size
    shown = [column for column in columns if column]
    found: list[PaneRectangle] = []
    x = 0
    for column, wide in zip(shown, _widths(panes, width, shown), strict=True):
        y = 0
        for place, (pane, high) in enumerate(zip(column, _heights(column, height, tall), strict=True)):
            high = height - y if place == len(column) - 1 else high
            found.append(PaneRectangle(pane, x, y, wide, high))
            y += high
        x += wide
    return found


def _heights(column: Sequence[str], height: int, tall: str) -> list[int]:
    """Give the pane of a column that was looked at last twice the others' height."""
    weights = [2 if pane == tall else 1 for pane in column]
    return [height * weight // sum(weights) for weight in weights]

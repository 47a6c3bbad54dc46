"""The help from the registry of actions. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from oulipoly_tui.actions.action import FRAME, LISTS, Action, find_term
from oulipoly_tui.keys.keymap import Keymap, format_keys
from oulipoly_tui.view.sessions.look import FORK
from oulipoly_tui.view.transcript.spans import Line, Row, cells, fit_text, wrap_lines

_MARKS = {  # what the signs of a pane's rows mean
    "sessions": (
        (FORK, "A fork: it begins with another session's past"),
        ("✓", "Marked: the next action is done to all that are marked"),
        ("▸ ▾", "Closed, open: what lies in it is hidden, shown"),
    ),
}
_TITLES = {FRAME: "Everywhere", LISTS: "In every list"}
_KEY_WIDTH = 16
_USUAL_WIDTH = 100


def help_rows(
    keys: Keymap, pane: str, works: Collection[str], wanted: str, width: int = _USUAL_WIDTH
) -> tuple[Row, ...]:
    """Return the rows that hold a word or a key: the pane's own first, then everywhere, lists, the other panes.

    works: ids of what does something now; the others are dimmed. A sentence too long for the width goes on in rows that
    the cursor passes over.
    """
    places = list(dict.fromkeys(row.where for row in (*keys.rows, *keys.own)))
    places.sort(key=lambda place: {pane: 0, FRAME: 1, LISTS: 2}.get(place, 3))
    return tuple(
        row for place in places for row in _section(_rows_of(keys, place), place, works, wanted.strip(), width)
    )


def _rows_of(keys: Keymap, place: str) -> tuple[Action, ...]:
    """Return what works in a place, the user's own commands without a key last."""
    return (*keys.of(place), *(row for row in keys.own if not row.keys and row.where == place))


def place_title(place: str) -> str:
    """Return what the keys of a place are headed with."""
    return _TITLES.get(place, place.capitalize())


def _section(rows: tuple[Action, ...], place: str, works: Collection[str], wanted: str, width: int) -> Iterator[Row]:
    found = [row for row in rows if _holds(row, wanted)]
    if not found:
        return
    yield Row(f"# {place}", ((place_title(place), "heading"),), is_selectable=False)
    for mark, text in _MARKS.get(place, ()):
        lines = wrap_lines([((text, "dim"),)], max(20, width - _KEY_WIDTH)) if wanted.lower() in text.lower() else ()
        for number, rest in enumerate(lines):
            head = fit_text("" if number else mark, _KEY_WIDTH)
            yield Row(f"mark {mark} {number}", ((head, "accent"), *rest), is_selectable=False)
    for row in found:
        is_dim = place != LISTS and row.id not in works
        first, *more = wrap_lines([((row.description, "dim" if is_dim else ""),)], max(20, width - _KEY_WIDTH))
        line: Line = ((fit_text(format_keys(row.keys), _KEY_WIDTH), "key"), *first)
        has_room = not more and _KEY_WIDTH + cells(row.description) + 2 + cells(row.id) <= width
        yield Row(row.id, (*line, (f"  {row.id}", "dim")) if has_room else line)
        for number, rest in enumerate(more):
            yield Row(f"{row.id} {number}", ((" " * _KEY_WIDTH, ""), *rest), is_selectable=False)


def _holds(row: Action, wanted: str) -> bool:
    """Tell whether a row is meant: a single character is a key first of all."""
    if not wanted:
        return True
    if wanted in format_keys(row.keys).split() or wanted.lower() in (key.lower() for key in row.keys.split(",")):
        return True
    return len(wanted) > 1 and find_term(row, wanted) is not None

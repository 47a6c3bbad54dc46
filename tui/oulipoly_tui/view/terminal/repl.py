"""The line of tabs over the terminals, and what is said where there is none. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.records import Record
from oulipoly_tui.actions.action import FRAME, Action, own
from oulipoly_tui.view.transcript.spans import Line, Span, cells, cut

_LABEL = 28  # columns
_MORE = "… "
EMPTY: tuple[Line, ...] = (
    ((Need.TERMINAL.fact, "strong"),),
    (),
    (
        ("Choose a model under Pools and press ", ""),
        ("r", "key"),
        (": the next account is taken.", ""),
    ),
    (("A terminal outlives this app: close it, lose the connection, start again, and it is here.", "dim"),),
)


def _hint(identity: str, keys: str, label: str, description: str, weight: int = 5) -> Action:
    """Return what the footer says of a key that a terminal takes itself: it is in no registry."""
    return Action(identity, own(label, description), "repl", keys=keys, weight=weight)


COPYING = "Copy mode · v: select · y: copy · /: find · esc: leave"
_COPY_KEYS = (
    _hint("repl.copy.select", "v", "select", "Begin to select here"),
    _hint("repl.copy.copy", "y", "copy", "Copy what is selected"),
    _hint("repl.copy.find", "slash", "find", "Search the whole text"),
    _hint("repl.copy.leave", "escape", "leave copy mode", "Show the terminal as it is now"),
)


class Tab(Record):
    """What a tab says."""

    id: str
    label: str
    is_ended: bool = False
    code: int | None = None
    has_bell: bool = False
    is_active: bool = False  # printed something since it was last seen


def inside(leave_chords: Sequence[str], *, is_copying: bool) -> tuple[Action, ...]:
    """Return what works while a terminal, or its copy mode, takes every key: for the footer alone."""
    if is_copying:
        return _COPY_KEYS
    leave = (_hint(f"repl.leave.{chord}", chord, "leave", "Give the keys to the tabs", 9) for chord in leave_chords)
    back = _hint("repl.back", "shift+pageup", "look back", "Scroll back; any key returns")
    by_mouse = own("click: commands", "by the mouse alone: keys are the program's")
    palette = Action("frame.palette", by_mouse, FRAME, weight=5)
    return (*leave, back, palette)


def format_opening(name: str) -> Line:
    """Say that a terminal is being opened."""
    return ((f" opening {name} … ", "dim"),) if name else ()


def tab_at(tabs: Sequence[Tab], chosen: str | None, width: int, column: int) -> str | None:
    """Return the tab that is drawn at a column of the line; None: there is none."""
    first = _first_shown(tabs, chosen, width)
    x = cells(_MORE) if first else 0
    for number, tab in enumerate(tabs[first:], first + 1):
        end = x + cells(_span(number, tab, is_chosen=tab.id == chosen)[0])
        if x <= column < end:
            return tab.id
        x = end
    return None


def tab_line(tabs: Sequence[Tab], chosen: str | None, width: int) -> Line:
    """Return the tabs as one line, with the chosen one in sight; marks say what the tones say."""
    spans = [_span(number, tab, is_chosen=tab.id == chosen) for number, tab in enumerate(tabs, 1)]
    first = _first_shown(tabs, chosen, width)
    shown = spans[first:]
    return ((_MORE, "dim"), *shown) if first else tuple(shown)


def _first_shown(tabs: Sequence[Tab], chosen: str | None, width: int) -> int:
    widths = [cells(_span(number, tab, is_chosen=tab.id == chosen)[0]) for number, tab in enumerate(tabs, 1)]
    place = next((place for place, tab in enumerate(tabs) if tab.id == chosen), 0)
    first = 0
    while first < place and sum(widths[first : place + 1]) > width - cells(_MORE):
        first += 1
    return first


def back_from(above: int, new_lines: int) -> str:
    """Say how far above its end a terminal is shown, and what has come there meanwhile; empty: it is at its end."""
    if not above:
        return ""
    news = f", {new_lines} new below" if new_lines else ""
    return f"{above} line{'s' * (above != 1)} back{news}: scroll down, or type, to return"


def _span(number: int, tab: Tab, *, is_chosen: bool) -> Span:
    code = "" if tab.code is None else f" {tab.code}"
    # Before the label: the last tab of a narrow line is cut at its end, and what it wants must stay in sight.
    mark = f"ended{code} " if tab.is_ended else "♪ " if tab.has_bell else "• " if tab.is_active else ""
    text = f" {number} {mark}{cut(tab.label, _LABEL)} "
    if is_chosen:
        return (f"[{text[1:-1]}]", "accent")
    if tab.is_ended:
        return (text, "dim")
    return (text, "warn" if tab.has_bell else "good" if tab.is_active else "")

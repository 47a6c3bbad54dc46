"""The Quota pane: every account's windows, and how the chosen one burned, burns and will burn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.markup import escape

from oulipoly_engine.core.commands.needs import Need
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.base.emptiness import set_empty
from oulipoly_tui.base.pane import Pane, bindings
from oulipoly_tui.view import row_values
from oulipoly_tui.view.quota.consumers import ORDER, burner_lines
from oulipoly_tui.view.quota.quota import RANGES, chart_of, chart_title, parse_key, quota_rows, record
from oulipoly_tui.view.transcript.spans import Line, Tone, wrap_lines
from oulipoly_tui.widgets.burn_chart import BurnChart
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.ledger.report import Grouping
    from oulipoly_engine.events import Event
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.quota.ledger import TopConsumers
    from oulipoly_engine.facade.quota.quota import BurnHistory
    from oulipoly_engine.facade.snapshot import Snapshot

_CHART_FROM = 14  # rows of the pane below which the chart finds no room
_BURNERS_FROM = 9  # rows of the pane below which who burned it finds none
_WRAPS_FROM = 30  # rows of the pane at which the record may take more lines than it has
_BESIDE_FROM = 120  # columns of the pane at which who burned it stands beside the chart
_USUAL_RANGE = 2
_RECORD_LEAST, _RECORD_EDGES = 10, 2  # columns
_STYLES = {"dim": "dim", "accent": "bold $text-accent", "warn": "$text-warning", "bad": "bold $text-error"}
_TITLE_EDGES = 6  # columns of the chart's upper border that its title leaves free
_Answer = tuple["BurnHistory | None", "TopConsumers | None"]
_EMPTY: tuple[Line, ...] = (
    (("No account is known yet.", "strong"),),
    (),
    (("An account's windows show here once providers.toml names it and its quota can be read.", ""),),
)
_NO_HISTORY: tuple[Line, ...] = ((("No reading of this account is known yet, so there is nothing to draw.", "dim"),),)


class QuotaPane(Pane):
    """Windows and their burn."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("quota")

    def __init__(self, id: str = "quota") -> None:
        super().__init__(id=id)
        self._snapshot: Snapshot | None = None
        self._range = _USUAL_RANGE
        self._wanted_row: str | None = None
        self._burning: BurnHistory | None = None
        self._is_asking = self._is_dirty = False
        self._by: Grouping | None = None  # how who burned it is listed; None: it is not
        self._burners: TopConsumers | None = None

    def compose(self) -> ComposeResult:
        """Lay out list, chart, record, and who burned it."""
        yield VirtualList(id="quota-list")
        with Container(id="quota-body"):
            yield BurnChart(id="quota-chart")
            yield Lines(id="quota-burners")
        yield Lines(id="quota-record")
        empty = Lines(_EMPTY, id="quota-empty")
        empty.can_focus = True
        yield empty

    def take(self, snapshot: Snapshot) -> None:
        """Draw a new snapshot, and ask for the window's history again if it was read meanwhile."""
        before, self._snapshot = self._snapshot, snapshot
        set_empty(self, is_empty=not snapshot.accounts)
        self._draw_rows()
        if before is None or _readings(before) != _readings(snapshot) or snapshot.at.minute != before.at.minute:
            self._ask()

    def take_event(self, event: Event) -> None:
        """Ask again for who burned it once calls may have joined."""
        if self._by is not None and type(event).__name__ == "EntriesIngested":
            self._ask()

    def show(self, key: str) -> bool:
        """Put the cursor on a window's row; return whether there is such a one."""
        return self.query_one("#quota-list", VirtualList).go_to(key)

    def lacks(self, need: Need) -> bool:
        """Return whether no account is under the cursor."""
        return need is Need.ACCOUNT and self._account() is None

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing now."""
        if action == "burners" and self._account() is None:
            return Need.ACCOUNT.value
        if action == "burners" and self.has_class("-flat"):
            return "the window is too low to list what used it"
        if action in ("longer", "shorter") and self._snapshot is not None and not self._snapshot.accounts:
            return "no account is known yet"
        if action == "longer" and self._range == len(RANGES) - 1:
            return "a month is the longest range"
        if action == "shorter" and self._range == 0:
            return "an hour is the shortest range"
        return None

    def row_values(self) -> Mapping[str, str]:
        """Return what the row under the cursor has for the user's own commands."""
        account = self._account()
        return {} if account is None else row_values.of_account(account)

    def state(self) -> Mapping[str, object]:
        """Return the row of the cursor, the range, and how who burned it is listed."""
        row = self.query_one("#quota-list", VirtualList).cursor_key
        return {"row": row, "range": RANGES[self._range].name, "burners": self._by}

    def restore(self, state: Mapping[str, object]) -> None:
        """Take them."""
        row, name = state.get("row"), state.get("range")
        self._wanted_row = row if isinstance(row, str) else None
        self._range = next((place for place, one in enumerate(RANGES) if one.name == name), self._range)
        self._list_by(next((one for one in ORDER if one == state.get("burners")), None))

    def leave(self) -> bool:
        """Close the list of who burned it."""
        was_open = self._by is not None
        self._list_by(None)
        return was_open

    def focus_inside(self) -> None:
        """Give the keys to the list, or to what stands in its place."""
        self.query_one("#quota-empty" if self.has_class("-empty") else "#quota-list").focus()

    def on_resize(self, event: events.Resize) -> None:
        """Leave the chart out where it finds no room."""
        self.set_class(event.size.height < _CHART_FROM, "-low")
        self.set_class(event.size.height < _BURNERS_FROM, "-flat")
        self.set_class(event.size.width >= _BESIDE_FROM, "-wide")
        self.call_after_refresh(self._draw_all)

    @on(VirtualList.Highlighted, "#quota-list")
    def _handle_highlight(self) -> None:
        self._ask()

    @on(VirtualList.Chosen, "#quota-list")
    def _handle_choice(self) -> None:
        self.action_pools()

    def action_refresh(self) -> None:
        """Read the account under the cursor."""
        account = self._account()
        if account is not None:
            self.wish("refresh", account)

    def action_longer(self) -> None:
        """Show more of the past."""
        self._turn_range(1)

    def action_shorter(self) -> None:
        """Show less of the past."""
        self._turn_range(-1)

    def action_burners(self) -> None:
        """List who burned it: by session, project, model, then no more."""
        place = 0 if self._by is None else ORDER.index(self._by) + 1
        self._list_by(ORDER[place] if place < len(ORDER) else None)
        self._draw_burners()
        self._ask()

    def action_pools(self) -> None:
        """Go to the pools."""
        app = app_of(self)
        self.call_next(app.frame.turn_to, "pools")

    def _list_by(self, by: Grouping | None) -> None:
        self._by = by
        self.set_class(by is not None, "-burners")

    def _turn_range(self, step: int) -> None:
        self._range = min(max(0, self._range + step), len(RANGES) - 1)
        self._ask()

    def _account(self) -> str | None:
        key = self.query_one("#quota-list", VirtualList).cursor_key
        return None if key is None else parse_key(key)[0]

    def _draw_rows(self) -> None:
        if self._snapshot is None:
            return
        found = self.query_one("#quota-list", VirtualList)
        width = found.outer_size.width - GUTTER
        rows = quota_rows(self._snapshot, width)
        if len(rows) > found.outer_size.height:  # whether there is a scroll bar now is another question
            rows = quota_rows(self._snapshot, width - found.scrollbar_size_vertical)
        found.show_rows(rows)
        if self._wanted_row is not None and found.go_to(self._wanted_row):
            self._wanted_row = None

    @on(VirtualList.Fitted)
    def _draw_all(self) -> None:
        if not is_standing(self):
            return
        self._draw_rows()
        self._draw_burners()
        self._draw_title()
        self._draw_record()
        self.query_one("#quota-empty", Lines).show_lines(wrap_lines(_EMPTY, max(20, self.size.width - 6)))

    def _draw_title(self) -> None:
        chart, found, name = self.query_one("#quota-chart", BurnChart), self._burning, RANGES[self._range].name
        width = chart.size.width - _TITLE_EDGES
        title: Line = ((name, ""),)
        if found is not None:
            title = chart_title(chart_of(found), found.account, found.window, name, width)
        chart.border_title = f" {''.join(_mark_up(text, tone) for text, tone in title)} "

    def _draw_burners(self) -> None:
        shown = self.query_one("#quota-burners", Lines)
        if self._by is None or self._burners is None:
            shown.show_lines(())
            return
        width = (shown.scrollable_content_region.width or self.size.width) - 1
        shown.show_lines(burner_lines(self._burners, self._by, RANGES[self._range].name, width))

    def _ask(self) -> None:
        """Have the chosen window's history read, one question at a time."""
        app = app_of(self)
        key = self.query_one("#quota-list", VirtualList).cursor_key
        if key is None or app.engine is None:
            return
        if self._is_asking:
            self._is_dirty = True
            return
        self._is_asking = True
        app.work("chart", partial(self._read, app.engine, *parse_key(key)), self._take_answer, self._handle_failure)

    def _read(self, engine: Engine, account: str, window: str) -> _Answer:
        """Read chart and burners, in the worker's thread."""
        shown, now = RANGES[self._range], engine.surroundings.clock.now()
        steps = max(100, 2 * self.query_one("#quota-chart").size.width)
        found = engine.quota.burn_history(account, window, shown.back, shown.ahead, steps) if window else None
        return found, engine.ledger.burners(account, now - shown.back, now) if self._by is not None else None

    def _take_answer(self, answer: _Answer) -> None:
        self._is_asking = False
        self._show_burning(*answer)
        if self._is_dirty:
            self._is_dirty = False
            self._ask()

    def _handle_failure(self, _error: Exception) -> None:
        """Let the last good chart stay; the next reading is asked for as ever."""
        self._is_asking = self._is_dirty = False

    def _show_burning(self, found: BurnHistory | None, burned: TopConsumers | None) -> None:
        self._burning = found
        self._burners = burned
        self._draw_burners()
        chart = self.query_one("#quota-chart", BurnChart)
        self._draw_title()
        chart.show_burn(None if found is None else chart_of(found))
        self._draw_record()

    def _draw_record(self) -> None:
        shown = self.query_one("#quota-record", Lines)
        # Not the record's own width, which a scroll bar makes narrower while its height still follows its lines.
        width, found = max(_RECORD_LEAST, self.size.width - _RECORD_EDGES), self._burning
        if found is None:
            shown.show_lines(wrap_lines(_NO_HISTORY, width))
        elif self.size.height >= _WRAPS_FROM:
            shown.show_lines(wrap_lines(record(found, has_alert=self._has_alert(found)), width))
        else:
            shown.show_lines(record(found, width, has_alert=self._has_alert(found)))

    def _has_alert(self, found: BurnHistory) -> bool:
        alerts = () if self._snapshot is None else self._snapshot.alerts_of("window")
        return any((alert.subject, alert.cause) == (found.account, found.window) for alert in alerts)


def _readings(snapshot: Snapshot) -> tuple[object, ...]:
    return tuple((view.name, view.quota.refreshed_at) for view in snapshot.accounts)


def _mark_up(text: str, tone: Tone) -> str:
    """Return a piece of a title in the colour that the chart has it in."""
    return f"[{_STYLES[tone]}]{escape(text)}[/]" if tone in _STYLES else escape(text)

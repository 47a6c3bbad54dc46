"""The Quota pane: every account's windows, and how the chosen one burned, burns and will burn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType

from oulipoly_tui.panes.pane import Pane, bindings
from oulipoly_tui.view.quota import RANGES, chart_of, parse_key, quota_rows, record
from oulipoly_tui.view.spans import Line
from oulipoly_tui.widgets.burn_chart import BurnChart
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList

if TYPE_CHECKING:
    from oulipoly_engine.engine import Burning, Snapshot

_CHART_FROM = 14  # rows of the pane below which the chart finds no room
_USUAL_RANGE = 2
_EMPTY: tuple[Line, ...] = (
    (("No account is known yet.", "strong"),),
    (),
    (("An account's windows show here once providers.toml names it and its quota can be read.", ""),),
)


class QuotaPane(Pane):
    """Windows and their burn."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("quota")

    def __init__(self, id: str = "quota") -> None:
        super().__init__(id=id)
        self._snapshot: Snapshot | None = None
        self._range = _USUAL_RANGE
        self._wanted_row: str | None = None
        self._burning: Burning | None = None
        self._is_asking = self._is_dirty = False

    def compose(self) -> ComposeResult:
        """Lay out list, chart and record."""
        yield VirtualList(id="quota-list")
        yield BurnChart(id="quota-chart")
        yield Lines(id="quota-record")
        yield Lines(_EMPTY, id="quota-empty")

    def take(self, snapshot: Snapshot) -> None:
        """Draw a new snapshot, and ask for the window's history again if it was read meanwhile."""
        before, self._snapshot = self._snapshot, snapshot
        self.set_class(not snapshot.accounts, "-empty")
        self._draw_rows()
        if before is None or _readings(before) != _readings(snapshot) or snapshot.at.minute != before.at.minute:
            self._ask()

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing now."""
        if action in ("refresh", "pools") and self._account() is None:
            return "choose an account first"
        if action == "longer" and self._range == len(RANGES) - 1:
            return "a month is the longest range"
        if action == "shorter" and self._range == 0:
            return "an hour is the shortest range"
        return None

    def state(self) -> Mapping[str, object]:
        """Return the row of the cursor and the range."""
        return {"row": self.query_one("#quota-list", VirtualList).cursor_key, "range": RANGES[self._range].name}

    def restore(self, state: Mapping[str, object]) -> None:
        """Take row and range."""
        row, name = state.get("row"), state.get("range")
        self._wanted_row = row if isinstance(row, str) else None
        self._range = next((place for place, one in enumerate(RANGES) if one.name == name), self._range)

    def focus_inside(self) -> None:
        """Give the keys to the list."""
        self.query_one("#quota-list", VirtualList).focus()

    def on_resize(self, event: events.Resize) -> None:
        """Leave the chart out where it finds no room."""
        self.set_class(event.size.height < _CHART_FROM, "-low")
        self.call_after_refresh(self._draw_rows)

    @on(VirtualList.Highlighted, "#quota-list")
    def _moved(self) -> None:
        self._ask()

    @on(VirtualList.Chosen, "#quota-list")
    def _opened(self) -> None:
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

    def action_pools(self) -> None:
        """Go to the pools."""
        app: Any = self.app
        self.call_next(app.frame.turn_to, "pools")

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
        found.show_rows(quota_rows(self._snapshot, found.scrollable_content_region.width - GUTTER))
        if self._wanted_row is not None and found.go_to(self._wanted_row):
            self._wanted_row = None

    def _ask(self) -> None:
        """Have the chosen window's history read, one question at a time."""
        app: Any = self.app
        key = self.query_one("#quota-list", VirtualList).cursor_key
        if key is None or app.engine is None:
            return
        if self._is_asking:
            self._is_dirty = True
            return
        account, window = parse_key(key)
        if not window:
            self._arrived(None)
            return
        self._is_asking = True
        shown = RANGES[self._range]
        steps = max(100, 2 * self.query_one("#quota-chart").size.width)
        app.work("chart", partial(app.engine.burning, account, window, shown.back, shown.ahead, steps), self._answered)

    def _answered(self, found: Burning) -> None:
        self._is_asking = False
        self._arrived(found)
        if self._is_dirty:
            self._is_dirty = False
            self._ask()

    def _arrived(self, found: Burning | None) -> None:
        self._burning = found
        chart = self.query_one("#quota-chart", BurnChart)
        chart.border_title = RANGES[self._range].name if found is None else _title(found, RANGES[self._range].name)
        chart.show_burn(None if found is None else chart_of(found))
        self.query_one("#quota-record", Lines).show_lines(() if found is None else record(found))


def _title(found: Burning, name: str) -> str:
    return f"{found.account} {found.window} · {name} · solid used, dots even pace, dashes forecast"


def _readings(snapshot: Snapshot) -> tuple[object, ...]:
    return tuple((view.name, view.quota.refreshed_at) for view in snapshot.accounts)

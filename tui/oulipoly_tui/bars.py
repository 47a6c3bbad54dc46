"""The header, the footer and the row of work under way: what they say now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic
from typing import Any

from textual.binding import Binding
from textual.screen import Screen

from oulipoly_engine.records import replace
from oulipoly_tui.actions.action import Action, own
from oulipoly_tui.attention import Alerts
from oulipoly_tui.base.app_interface import AppInterface
from oulipoly_tui.jobs import Jobs
from oulipoly_tui.keys import keymap
from oulipoly_tui.view.frame import footer
from oulipoly_tui.view.frame.header import header
from oulipoly_tui.view.transcript.spans import Line
from oulipoly_tui.widgets.bars import Bar, HintBar, JobBar
from oulipoly_tui.widgets.standing import is_standing

_FIRST = 8  # the weight of what a pane's own text names
# What enter does in what has the keys, by its class's name: none of them is loaded for the first frame.
_ENTER = (("VirtualList", "choose"), ("Input", "OK"), ("Button", "press"))


class Bars:
    """Draws the bars of the frame."""

    def __init__(self, app: AppInterface, alerts: Alerts, jobs: Jobs) -> None:
        self._app = app
        self._alerts = alerts
        self._jobs = jobs
        self._job_bar: JobBar | None = None  # once there has been any
        self._is_wanted = False
        self._hints: Sequence[footer.Hint] | None = None  # that are shown

    def show_soon(self) -> None:
        """Draw header and footer after what is under way, once, however often that is asked for until then."""
        self._is_wanted = True
        self._app.call_after_refresh(self._show_wanted)

    def _show_wanted(self) -> None:
        if self._is_wanted:
            self._is_wanted = False
            self.show()

    def show(self) -> None:
        """Draw header and footer."""
        frame = self._app.frame
        if not is_standing(frame):
            return
        self.show_header()
        self._show_footer(self._list_hints(self._app.size.width, self._app.options.footer))
        for between in self._app.screen_stack[1:-1]:
            between.refresh()  # it has kept how the frame looked, and is drawn from that under another screen

    def _show_footer(self, hints: Sequence[footer.Hint]) -> None:
        """Draw the footer, unless it is as it was: it is asked for with each end of work."""
        if hints == self._hints:
            return
        self._hints = hints
        bar = self._app.frame.query_one("#footer", HintBar)
        bar.display = bool(hints)
        bar.show_hints(hints)

    def _list_hints(self, width: int, density: str) -> Sequence[footer.Hint]:
        """Return the keys of what is in front: a question, a part of the pane that takes every key, or the pane."""
        app = self._app
        if app.screen is not app.frame:
            return footer.hints(list_screen_keys(app.screen), width, density=density)
        inner = app.frame.current.inner_keys()
        if inner is not None:
            return footer.hints(inner, width, density=density)
        named = app.frame.current.named_actions()
        rows, reach = app.keys_here()
        weighed = [replace(row, weight=_FIRST) if row.id in named else row for row in rows]
        return footer.hints(weighed, width, density=density, reach=reach)

    def show_header(self) -> None:
        """Draw the header."""
        app = self._app
        marks = "read-only" if app.options.read_only else ""
        model = getattr(app.frame.current, "model", None)
        asks = len(app.requests.open)
        wants = len(self._alerts.list_attention()) - asks
        line = header(app.snapshot, app.now(), app.size.width, model=model, marks=marks, wants=wants, asks=asks)
        app.frame.query_one("#header", Bar).show(line)

    def show_jobs(self) -> None:
        """Draw what its user waits for, once it takes long."""
        jobs = self._jobs.shown
        if not jobs:
            self._draw_jobs(())
            return
        from oulipoly_tui.view.frame.jobs import Job, jobs_line  # noqa: PLC0415 - nothing takes long at the start

        now, stop = monotonic(), self._app.keys.find("frame.stop")
        told = [Job(one.title, timedelta(seconds=now - one.since), one.can_stop, one.asked.is_set()) for one in jobs]
        self._draw_jobs(
            jobs_line(told, self._app.size.width, "" if stop is None else keymap.format_first_key(stop.keys))
        )

    def _draw_jobs(self, line: Line) -> None:
        """Draw the row above the footer; an empty one takes it away."""
        if self._job_bar is None and line:
            self._job_bar = JobBar(id="jobs")
            self._app.frame.mount(self._job_bar, before="#footer")
        if self._job_bar is not None:
            self._job_bar.display = bool(line)
            self._job_bar.show(line)


def list_screen_keys(screen: Screen[Any]) -> tuple[Action, ...]:
    """Return the keys of a question as a footer shows them: enter, and those that its class tells of.

    A screen with a method `works` says of each of its actions whether it does something now.
    """
    works: Callable[[str], bool] = getattr(screen, "works", lambda _action: True)
    names = {kind.__name__ for kind in type(screen.focused).__mro__}
    found = [Action("enter", own(label, label), keys="enter", weight=9) for name, label in _ENTER if name in names]
    for kind in type(screen).__mro__:
        shown = (one for one in kind.__dict__.get("BINDINGS", ()) if isinstance(one, Binding) and one.show)
        for one in shown:
            if not works(one.action):
                continue
            label = one.description if kind.__module__.startswith("oulipoly_tui") else "close"
            found.append(Action(one.id or one.action, own(label, label), keys=one.key, weight=8))
    return tuple(found)

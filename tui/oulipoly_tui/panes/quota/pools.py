"""The Pools pane: who serves each model next, why, and what the user wants otherwise."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from oulipoly_engine.core.commands.needs import Need
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.base.emptiness import set_empty
from oulipoly_tui.base.messages import ReplWanted
from oulipoly_tui.base.pane import Pane, bindings
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view import row_values, words
from oulipoly_tui.view.sessions.one_shots import OneShot, log_lines
from oulipoly_tui.view.transcript.spans import wrap_lines
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.events import Event
    from oulipoly_engine.facade.snapshot import AccountView, PoolView, Snapshot

_PROMPT_SHOWN = 60  # characters of a prompt in a question
_DETAILS_FROM = 104  # columns of the pane at which the details find room beside the list
_KEPT_SHOTS = 20
_FIRST = ("pools.add_account", "pools.set_up", "pools.set_up_agent", "pools.demo")  # on the first screen
_NEEDS_ACCOUNT = frozenset(("drain", "disable", "reserve", "clear", "refresh", "rename", "remove", "test", "log_in"))


class PoolsPane(Pane):
    """Models with their members, the next pick marked before it is taken."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("pools")

    def __init__(self, id: str = "pools") -> None:
        super().__init__(id=id)
        self._snapshot: Snapshot | None = None
        self._shots: dict[int, OneShot] = {}
        self._early: list[Event] = []  # output that came before we were told the number
        self._wanted_row: str | None = None
        self._drawn_width = 0  # that the rows were made for

    def compose(self) -> ComposeResult:
        """Lay out list, details and log."""
        with Container(id="pools-body"):
            yield VirtualList(id="pools-list")
            yield Lines(id="pools-details")
        empty = Lines(id="pools-empty")
        empty.can_focus = True
        yield empty
        yield Lines(id="pools-log")

    @property
    def model(self) -> str | None:
        """Return the model under the cursor."""
        found = self._find_member()
        return None if found is None else found[0].model.name

    def take(self, snapshot: Snapshot) -> None:
        """Draw a new snapshot."""
        self._snapshot = snapshot
        set_empty(self, is_empty=not snapshot.pools)
        if not snapshot.pools:
            self._show_empty(snapshot)
        self._draw()

    def take_event(self, event: Event) -> None:
        """Take the output and the end of one-shots."""
        name = type(event).__name__
        if name not in ("OneShotSaid", "OneShotEnded"):
            return
        shot = self._shots.get(getattr(event, "number", 0))
        if shot is None:
            self._early.append(event)
            return
        self._tell(shot, event)
        self._draw_log()

    def one_shot_began(self, model: str, prompt: str, number: int) -> None:
        """Show a one-shot in the log."""
        shot = self._shots[number] = OneShot(number, model, prompt)
        for event in [one for one in self._early if getattr(one, "number", 0) == number]:
            self._tell(shot, event)
            self._early.remove(event)
        for old in tuple(self._shots)[:-_KEPT_SHOTS]:
            del self._shots[old]
        self.add_class("-log")
        self._draw_log()

    def lacks(self, need: Need) -> bool:
        """Return whether no account of a pool is under the cursor, or no prompt is being answered."""
        if need is Need.RUN:
            return not self._live_shots()
        return need in (Need.ACCOUNT, Need.MODEL) and self._find_member() is None

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing now."""
        is_empty = self._snapshot is None or not self._snapshot.pools
        if action == "set_up" and self._snapshot is not None and self._snapshot.store_failure is not None:
            return "the state file cannot be read: nobody knows what is configured"
        if action == "demo":
            return None if self._snapshot is not None and is_empty else "there are accounts: no need for the demo"
        if action == "log":
            return None if self._shots else "no prompt has been sent from here yet: p sends one"
        if action == "start_repl":
            app = app_of(self)
            if not app.has_pane("repl"):
                return "this version has no terminals yet"
        found = self._find_member()
        if action in ("one_shot", "start_repl") and found is not None and found[0].next_account is None:
            decision = found[0].decision
            return words.local(decision.error or "nobody can serve this model now", decision.now)
        return self._account_obstacle(action, None if found is None else found[2])

    def named_actions(self) -> Collection[str]:
        """Return what the first screen offers."""
        return _FIRST if self.obstacle("demo") is None else ()

    def row_values(self) -> Mapping[str, str]:
        """Return what the row under the cursor has for the user's own commands."""
        found = self._find_member()
        return {} if found is None else row_values.of_account(found[2].name, found[0].model.name)

    def state(self) -> Mapping[str, object]:
        """Return the row of the cursor."""
        return {"row": self.query_one("#pools-list", VirtualList).cursor_key}

    def restore(self, state: Mapping[str, object]) -> None:
        """Put the cursor where it was, once there are rows."""
        row = state.get("row")
        self._wanted_row = row if isinstance(row, str) else None

    def leave(self) -> bool:
        """Close the log."""
        if not self.has_class("-log"):
            return False
        self.remove_class("-log")
        return True

    def reason_to_stay(self) -> str | None:
        """Say which one-shots would be stopped."""
        running = self._live_shots()
        return f"{len(running)} run{'s' * (len(running) != 1)} would be stopped" if running else None

    def focus_inside(self) -> None:
        """Give the keys to the list, or to what stands in its place."""
        self.query_one("#pools-empty" if self.has_class("-empty") else "#pools-list").focus()

    def on_resize(self, event: events.Resize) -> None:
        """Show the details where there is room."""
        self.set_class(event.size.width >= _DETAILS_FROM, "-wide")
        if self._snapshot is not None and not self._snapshot.pools:
            self.call_after_refresh(self._show_empty, self._snapshot)
        self.call_after_refresh(self._draw)

    @on(VirtualList.Fitted, "#pools-list")
    def _fit(self) -> None:
        """Draw for the list's own width: where it was hidden, a snapshot is taken before it has one."""
        if self._list_width() != self._drawn_width:
            self._draw()

    @on(VirtualList.Highlighted, "#pools-list")
    def _handle_highlight(self) -> None:
        self._draw_details()

    @on(VirtualList.Chosen, "#pools-list")
    def _handle_choice(self) -> None:
        self.action_why()

    def action_why(self) -> None:
        """Show the whole decision."""
        found = self._find_member()
        if found is None or self._snapshot is None:
            return
        from oulipoly_tui.view.quota.why import why_lines  # noqa: PLC0415 - only when it is opened

        pool = found[0]
        dialogs.read(self.app, f"Why {pool.next_account or 'nobody'}", why_lines(self._snapshot, pool))

    def action_what_if(self) -> None:
        """Try something before it is true."""
        found = self._find_member()
        app = app_of(self)
        if found is None or app.engine is None:
            return
        from oulipoly_tui.screens.what_if import WhatIf  # noqa: PLC0415 - only when it is opened

        app.push_screen(WhatIf(found[0], found[2].name, can_apply=not app.options.read_only))

    def action_one_shot(self) -> None:
        """Ask for a prompt and send it."""
        found = self._find_member()
        if found is None:
            return
        from oulipoly_tui.screens.prompt import Prompt  # noqa: PLC0415 - TextArea, 40 ms, only here

        model = found[0].model.name

        def send(text: str | None) -> None:
            if text is not None:
                self.wish("prompt", model, text)

        self.app.push_screen(Prompt(f"prompt {model} → {found[0].next_account or 'nobody can serve now'}"), send)

    def action_start_repl(self) -> None:
        """Open a terminal for this model, or a live session where its CLI can be driven and that is chosen."""
        from oulipoly_tui.commands import live  # noqa: PLC0415 - only where one is begun

        found = self._find_member()
        if found is not None:
            app = app_of(self)
            pool = found[0]
            model, account = pool.model.name, pool.pin
            wanted = ReplWanted(model, account)
            live.offer(app, model, account, pool.next_account, lambda: self.post_message(wanted))

    def action_pin(self) -> None:
        """Pin the account, or take the pin away."""
        found = self._find_member()
        if found is None:
            return
        pool, _, view = found
        if pool.pin == view.name:
            self.wish("unpin", pool.model.name)
        else:
            self.wish("pin", pool.model.name, view.name)

    def action_drain(self) -> None:
        """Drain the account, or give it work again."""
        self._toggle("drain", "undrain", lambda view: view.wishes.drained)

    def action_disable(self) -> None:
        """Disable the account, or take it in again."""
        self._toggle("disable", "enable", lambda view: view.wishes.disabled)

    def action_reserve(self) -> None:
        """Ask how much of the account stays unused."""
        found = self._find_member()
        if found is None:
            return
        name, now = found[2].name, found[2].wishes.reserve
        text = f"Percent of every window of {name} that must stay unused, 0 to 99 (0: no reserve)"
        keep = partial(self.wish, "account reserve", name)
        dialogs.ask(self.app, f"Reserve of {name}", text, keep, f"{100 * now:g}", _refuse_percent)

    def action_refresh(self) -> None:
        """Read the account now."""
        found = self._find_member()
        if found is not None:
            self.wish("refresh", found[2].name)

    def action_stop_one_shot(self) -> None:
        """Stop the newest run of a prompt from here, after a question."""
        app = app_of(self)
        running = self._live_shots()
        if not running or app.engine is None:
            return
        shot = running[-1]

        def stop() -> None:
            if shot.is_running:
                engine_of(app).background.stop(shot.number)
                app.say("Stopping …")

        asked = " ".join(shot.prompt.split())[:_PROMPT_SHOWN]
        text = f"{shot.model}: {asked}\nWhat it has not answered yet is lost."
        dialogs.confirm(app, "Stop this run?", text, "stop it", stop)

    def action_log(self) -> None:
        """Show or hide the output."""
        self.toggle_class("-log")
        self._draw_log()

    def action_rename(self) -> None:
        """Ask for another name of the account, and show what that changes."""
        found = self._find_member()
        if found is None:
            return
        name = found[2].name

        def keep(new_name: str) -> None:
            if new_name != name:
                self.wish("account rename", name, new_name)

        dialogs.ask_name(self.app, f"Rename {name}", "Its name here and in its pools", keep, name)

    def action_copy(self) -> None:
        """Copy the account's name, or where the configuration lies."""
        found = self._find_member()
        app = app_of(self)
        text = found[2].name if found is not None else "" if app.engine is None else str(app.engine.paths.config)
        if text:
            from oulipoly_tui.driver.copying import copy_line  # noqa: PLC0415 - not for the first frame

            copy_line(app, text)

    def _find_member(self) -> tuple[PoolView, int, AccountView] | None:
        """Return the member under the cursor: its pool, its place and its account."""
        snapshot = self._snapshot
        key = self.query_one("#pools-list", VirtualList).cursor_key if is_standing(self) else None
        if snapshot is None or key is None:
            return None
        from oulipoly_tui.view.quota.pools import parse_key  # noqa: PLC0415 - loaded already where there are rows

        model, index = parse_key(key)
        pool = snapshot.pool(model)
        if pool is None or all(member.index != index for member in pool.model.members):
            return None
        view = snapshot.account(pool.member(index).account)
        return None if view is None else (pool, index, view)

    def _account_obstacle(self, action: str, view: AccountView | None) -> str | None:
        if view is None:
            return None
        if view.account is None and action in _NEEDS_ACCOUNT:
            return f"{view.name} is not in providers.toml"
        if action == "refresh" and view.uses_key:
            return f"{view.name}: no quota known for API keys"
        if action == "refresh" and not view.has_source:
            return f"{view.name} has no quota script"
        if action == "refresh" and view.wishes.disabled:
            return f"{view.name} is disabled, so it is not read"
        has_mark = view.quota.exhausted_at is not None or view.attempts.backoff_until is not None
        if action == "clear" and not has_mark:
            return f"{view.name} is neither exhausted nor paused: nothing to clear"
        return None

    def _toggle(self, on_name: str, off_name: str, is_on: Any) -> None:  # noqa: ANN401 - a question to an account
        found = self._find_member()
        if found is not None:
            self.wish(f"account {off_name if is_on(found[2]) else on_name}", found[2].name)

    def _live_shots(self) -> list[OneShot]:
        return [shot for shot in self._shots.values() if shot.is_running]

    def _tell(self, shot: OneShot, event: Any) -> None:  # noqa: ANN401 - OneShotSaid or OneShotEnded, whose module is not loaded for the first frame
        if type(event).__name__ == "OneShotSaid":
            shot.hear(event.text, is_note=event.is_note)
        else:
            shot.exit_code, shot.failure = event.exit_code, event.failure

    def _show_empty(self, snapshot: Snapshot) -> None:
        if not is_standing(self) or not self.size.width:  # while hidden it has no width; it is resized when it is shown
            return
        from oulipoly_tui.view.frame.first_run import first_run, store_lost  # noqa: PLC0415 - only where nothing is configured

        app = app_of(self)
        folder = "~/.config" if app.engine is None else str(app.engine.paths.config)
        shown = self.query_one("#pools-empty", Lines)
        lost = snapshot.store_failure
        wrong, read_only = bool(snapshot.problems), app.options.read_only
        lines = first_run(folder, has_problems=wrong, read_only=read_only) if lost is None else store_lost(lost)
        shown.show_lines(wrap_lines(lines, max(20, self.size.width - 6)))

    def _draw(self) -> None:
        snapshot = self._snapshot
        if snapshot is None or not is_standing(self):
            return
        from oulipoly_tui.view.quota.pools import pool_rows  # noqa: PLC0415 - 15 ms of the balancer, not for the first frame

        rows = self.query_one("#pools-list", VirtualList)
        self._drawn_width = self._list_width()
        rows.show_rows(pool_rows(snapshot, self._drawn_width - GUTTER))
        if self._wanted_row is not None and rows.rows:
            rows.go_to(self._wanted_row)
            self._wanted_row = None
        self._draw_details()

    def _list_width(self) -> int:
        return self.query_one("#pools-list", VirtualList).scrollable_content_region.width or self.size.width

    def _draw_details(self) -> None:
        found = self._find_member()
        details = self.query_one("#pools-details", Lines)
        if found is None or self._snapshot is None:
            details.show_lines(())
            return
        from oulipoly_tui.view.quota.pools import member_details  # noqa: PLC0415 - loaded already where there are rows

        width = details.scrollable_content_region.width or 40
        details.show_lines(wrap_lines(member_details(self._snapshot, found[0], found[1]), width))

    def _draw_log(self) -> None:
        log = self.query_one("#pools-log", Lines)
        width = (log.scrollable_content_region.width or self.size.width) - 1
        log.show_lines(wrap_lines(log_lines(tuple(self._shots.values())), width))
        log.call_after_refresh(log.scroll_end, animate=False)


def _refuse_percent(text: str) -> str | None:
    try:
        share = float(text.strip().removesuffix("%"))
    except ValueError:
        share = -1.0
    return None if 0 <= share <= 99 else f"{text!r} is not a percentage: write a number from 0 to 99"

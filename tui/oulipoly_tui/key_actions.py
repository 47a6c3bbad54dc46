"""What keys do: which of them work now, why the others do not, and whose method each of them calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import isawaitable

from textual.actions import parse

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.errors import ReadOnly
from oulipoly_tui.actions.action import FRAME, LISTS, STILL_OPENING, Action
from oulipoly_tui.attention import Alerts
from oulipoly_tui.base.app_interface import AppInterface
from oulipoly_tui.commands import custom, frame_keys
from oulipoly_tui.commands.frame_keys import session_in_front
from oulipoly_tui.jobs import Jobs
from oulipoly_tui.keys import keymap
from oulipoly_tui.widgets.lines import VirtualList


class KeyActions:
    """The actions with a key, as the app is now."""

    def __init__(self, app: AppInterface, alerts: Alerts, jobs: Jobs) -> None:
        self._app = app
        self._alerts = alerts
        self._jobs = jobs
        frame = app.frame
        # What the methods of the frame's actions are: each part of the app does what is its own, others run their line.
        self.of_frame: Mapping[str, Callable[..., object]] = {
            **{row.method: partial(app.order, row.line) for row in keymap.TABLE if row.where == FRAME and row.line},
            "pane": frame.turn_to_number,
            "next": partial(frame.step, 1),
            "previous": partial(frame.step, -1),
            "zoom": frame.zoom,
            "back": frame.go_back,
            "palette": partial(frame_keys.open_palette, app),
            "command": partial(frame_keys.open_command_line, app),
            "help": partial(frame_keys.open_help, app),
            "menu": partial(frame_keys.open_menu, app),
            "problems": alerts.list_problems,
            "attention": alerts.go_on,
            "jump": partial(frame_keys.jump, app),
            "search": partial(frame_keys.search, app),
            "stop": jobs.ask_to_stop,
            "theme": partial(frame_keys.next_theme, app),
            "changes": self._show_changes,
        }

    def _show_changes(self) -> None:
        session_id = session_in_front(self._app)
        if session_id is not None:
            self._app.order("work changes", [session_id])

    def works_now(self) -> tuple[Action, ...]:
        """Return what has a key that does something now, the current pane's first."""
        rows, reach = self.keys_here()
        places = (self._app.frame.current.id or "", FRAME)
        bare = (row for row in self._app.keys.own if not row.keys and row.where in places)
        works = (*map(reach, rows), *(row for row in bare if self.reason_against(row) is None))
        return tuple(row for row in works if row is not None)

    def keys_here(self) -> tuple[tuple[Action, ...], keymap.Reach]:
        """Return what has a key here, the current pane's first, and what tells which keys each has now."""
        keys = self._app.keys
        rows = (*keys.of(self._app.frame.current.id or ""), *keys.of(FRAME))
        return rows, keymap.make_reach(rows, lambda row: self.reason_against(row) is None)

    def reason_against(self, action: Action) -> str | None:
        """Say why an action is not possible now, as a sentence; None: it is."""
        if action.custom is not None:
            return custom.find_obstacle(self._app, action)
        if action.where == FRAME:
            lacking = next((need for need in action.does.all_needs if self._lacks(need)), None)
            return self._reason_of_frame(action) if lacking is None else lacking.value
        pane = self._app.frame.find(action.where)
        return None if pane is None else pane.reason_against(action)

    def _lacks(self, need: Need) -> bool:
        snapshot = self._app.snapshot
        match need:
            case Need.SESSION:
                return session_in_front(self._app) is None
            case Need.ACCOUNTS:
                return snapshot is None or not snapshot.accounts
            case _:
                return False

    async def press(self, identity: str) -> None:
        """Do what an action's key does, or say why it does nothing now."""
        row = self._app.keys.find(identity)
        if row is None:
            return
        if row.where == LISTS:
            await self._run_of_list(row)
            return
        pane = self._app.frame.find(row.where)
        reason = self.reason_against(row)
        if reason is not None:
            self._app.say(reason)
            return
        if row.custom is not None:
            custom.run(self._app, row)
        elif pane is None:
            await _run(self.of_frame.__getitem__, row.method)
        elif pane.has_action(parse(row.method)[1]):
            await _run(pane.find_action, row.method)
        else:
            self._app.order(row.line, pane.arguments_for(row))
        self._app.show_keys()

    def take_unbound(self, key: str, pane: str) -> bool:
        """Run the user's own command, or say what read-only mode has taken away; return whether a command runs."""
        keys = self._app.keys
        own = keys.find_own(key, pane)
        if own is not None:
            self._app.call_next(self._app.action_press, own.id)
            return True
        row = keys.withheld_at(key, pane)
        if row is not None:
            self._app.say(ReadOnly(f"do {keymap.format_key(key)} ({row.label})").message)
        return False

    def press_hint(self, identity: str) -> None:
        """Do what a hint of the footer says that was clicked."""
        inner = self._app.frame.current.inner_keys() or ()
        found = next((row for row in inner if row.id == identity), None)
        if found is None or not found.keys:
            self._app.call_next(self._app.action_press, identity)
        else:
            self._app.simulate_key(found.keys)

    async def choose(self, identity: str) -> None:
        """Do what was chosen in the help; what belongs to another pane is shown there, so that its row is seen first.

        Nothing is done to a row that nobody has looked at.
        """
        row = self._app.keys.find(identity)
        here = self._app.frame.current.id
        if row is None or (row.where in (FRAME, LISTS, here) and not row.by_key):
            await self.press(identity)
            return
        await self._app.frame.turn_to(row.where)
        self._app.say(f"{keymap.format_first_key(row.keys) or 'the menu (.)'} does it here: {row.description}")

    async def _run_of_list(self, row: Action) -> None:
        lists = [one for one in self._app.frame.current.query(VirtualList) if one.display]
        found = next((one for one in lists if one.has_focus), lists[0] if lists else None)
        if found is None:
            self._app.say("There is no list here")
            return
        await self._app.run_action(row.method, default_namespace=found)

    def _reason_of_frame(self, action: Action) -> str | None:
        app = self._app
        method = action.method
        if method == "stop" and not self._jobs.stoppable:
            return "nothing is under way that could be stopped"
        if method.startswith("pane("):
            return app.frame.reason_against_number(int(method[5:-1]))
        if method == "zoom" and len(app.frame.entries) == 1:
            return "there is one pane alone"
        if method == "problems" and not self._alerts.troubles():
            return "nothing is wrong"
        if method == "attention" and not self._alerts.list_attention():
            return "there is no alert"
        is_early = app.engine is None and action.needs_engine and bool(action.line or action.does.name)
        return STILL_OPENING if is_early else None


async def _run(find: Callable[[str], Callable[..., object]], method: str) -> None:
    """Run an action's method, which `find` gives by its name, with the arguments that stand behind it."""
    _, name, arguments = parse(method)
    done = find(name)(*arguments)
    if isawaitable(done):
        await done

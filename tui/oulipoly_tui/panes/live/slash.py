"""What was written to a session: a message, or a command behind a slash, which its action of the app does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.command import SESSION
from oulipoly_engine.core.commands.slash.lines import Message, Order, Refusal, judge
from oulipoly_engine.core.live import orders
from oulipoly_engine.errors import ReadOnly
from oulipoly_tui.actions.action import LIVE
from oulipoly_tui.actions.registry import ACTIONS
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.driver.copying import copy
from oulipoly_tui.orders import line
from oulipoly_tui.screens import dialogs

if TYPE_CHECKING:
    from oulipoly_engine.facade.live.slash import Outcome
    from oulipoly_tui.actions.action import Action
    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.panes.live.base import LiveBase
    from oulipoly_tui.panes.live.following import LiveFollowing
    from oulipoly_tui.panes.live.orders import LiveOrders


_BEGINS_OTHER = ("session fork",)  # commands that go on in another session, at a message or under a name


class LiveSlash:
    """What the line that is written on does."""

    def __init__(self, pane: LiveBase, following: LiveFollowing, live_orders: LiveOrders) -> None:
        self._pane = pane
        self._following = following
        self._orders = live_orders
        # What the app's actions do not do as it is written, by the names of commands.
        self._with_word: Mapping[str, Callable[[str], object]] = {
            "session model": lambda name: live_orders.order(orders.SetModel(name), f"Model {name}"),
            "session provider": live_orders.fork_elsewhere,
            "session name": lambda name: live_orders.order(orders.Rename(name)),
            "session review": live_orders.review,
            "session steer": lambda text: live_orders.order(orders.Steer(text)),
        }
        self._alone: Mapping[str, Callable[[], object]] = {
            "session model": live_orders.action_model,
            "session provider": live_orders.choose_provider,
            "session name": live_orders.action_rename,
            "session review": lambda: live_orders.review(""),
            "session interrupt": live_orders.interrupt,
            "session copy": self._copy,
            "turn resume": live_orders.resume,
        }

    @property
    def _app(self) -> AppInterface:
        return app_of(self._pane)

    def submit(self, text: str, *, is_queued: bool = False) -> None:
        """Send a message, or run a command; a line that is neither stays as it is written."""
        match judge(text, self._following.known):
            case Message(text=message):
                self._orders.submit(message, text, is_queued=is_queued)
            case Refusal(reason=reason):
                self._app.say(reason, severity="warning")
            case Order() as order:
                self._pane.composer.put("")  # before a command that opens another session, which would keep it
                wrong = self._run(order)
                if wrong is not None:
                    self._pane.composer.put(text)
                    self._app.say(wrong, severity="warning")

    def _run(self, order: Order) -> str | None:
        """Do a command; return what is wrong with the wish."""
        command = order.slash.does
        if command.writes and self._app.options.read_only:
            return ReadOnly(f"run /{order.slash.name}").message
        lacking = self._pane.find_lacking(command)
        if lacking is not None:
            return lacking.value
        if order.words and command.name in self._with_word:
            self._with_word[command.name](order.words[0])
            return None
        if order.words and command.name in _BEGINS_OTHER:
            self._begin_other(order)
            return None
        if not order.words and command.name in self._alone:
            self._alone[command.name]()
            return None
        action = _find_action(command.name)
        if action is not None:
            return self._do(action, order)
        self._tell(order)
        return None

    def _do(self, action: Action, order: Order) -> str | None:
        words: Sequence[str] = order.words
        if SESSION in action.arguments:
            words = (self._pane.live_session_id or "", *words)
        needed = sum(not argument.is_optional for argument in action.arguments)
        if len(words) < needed:
            return f"write {order.slash.usage}"
        return line.run(self._app, action.line, [*words]) if action.line else self._press(action)

    def _press(self, action: Action) -> str | None:
        reason = self._pane.reason_against(action)
        if reason is None:
            self._pane.find_action(action.method)()
        return reason

    def _tell(self, order: Order) -> None:
        """Show what every face tells in the same words."""
        session_id = self._pane.live_session_id
        if session_id is None:
            return

        def on_done(outcome: Outcome) -> None:
            texts = [text for lines in outcome.lines for text in lines.split("\n")]
            dialogs.read(self._app, f"/{order.slash.name}", [((text, ""),) for text in texts])

        work = partial(engine_of(self._app).slash.run, session_id, order)
        self._app.work("slash", work, on_done)

    def _begin_other(self, order: Order) -> None:
        """Begin another session as every face does, and show it."""
        session_id = self._pane.live_session_id
        if session_id is None:
            return

        def on_done(outcome: Outcome) -> None:
            self._app.say("\n".join(outcome.lines))
            if outcome.session_id:
                self._following.open_session(outcome.session_id)

        work = partial(engine_of(self._app).slash.run, session_id, order)
        self._app.work("slash", work, on_done, title=f"/{order.slash.name}")

    def _copy(self) -> None:
        blocks = reversed(self._following.talk.blocks)
        text = next(
            (block.text for block in blocks if block.item is not None and block.item.kind == "agent_message"), ""
        )
        if text:
            copy(self._app, text)
        else:
            self._app.say("Nothing was answered yet")


def _find_action(command: str) -> Action | None:
    """Return the app's action of a command, that of this pane before others."""
    actions = [action for action in ACTIONS if action.does.name == command]
    return next((action for action in actions if action.where == LIVE), next(iter(actions), None))

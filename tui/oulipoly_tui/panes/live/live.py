"""The pane of live sessions: one of them as a conversation, with what it asks, what waits, and a line to write on."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.markup import escape

from oulipoly_engine.core.commands.needs import Need
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.base.pane import bindings
from oulipoly_tui.panes.live.answers import LiveAnswers
from oulipoly_tui.panes.live.base import LiveBase
from oulipoly_tui.panes.live.completing import CompletionList, LiveCompleting
from oulipoly_tui.panes.live.following import LiveFollowing
from oulipoly_tui.panes.live.orders import LiveOrders
from oulipoly_tui.panes.live.slash import LiveSlash
from oulipoly_tui.view.live.block_lines import is_foldable
from oulipoly_tui.view.live.composer_keys import completion_keys, composer_keys
from oulipoly_tui.view.live.conversation import elapsed_s
from oulipoly_tui.view.live.request_lines import answer_line, break_answers, request_lines, title_line
from oulipoly_tui.view.live.working_line import Standing, composer_hint, queue_lines, working_line, writer_line
from oulipoly_tui.view.transcript.spans import Line, cut, wrap_lines
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.live.composer import Composer
from oulipoly_tui.widgets.live.conversation_view import ConversationView
from oulipoly_tui.widgets.live.request_panel import RequestPanel
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.timer import Timer

    from oulipoly_engine.core.live.sessions import LiveSession
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.actions.action import Action
    from oulipoly_tui.view.live.conversation import Conversation, OpenRequest

_ANSWERS = ("approve", "approve_for_session", "deny", "deny_with_reason", "cancel_request")
_ABILITIES = {Need.REVIEW: "review", Need.SET_MODEL: "set_model"}  # of drivers
_EVERYWHERE = ("frame.palette", "frame.attention")  # rows whose keys work in the line that is written on too
_TICK_S = 1.0
_REST_S = 2.0  # without a key, until what is written is kept
_REQUEST_SHARE = 0.5  # of the pane's height, at most
_EMPTY: tuple[Line, ...] = (
    (("No live session is open.", "strong"),),
    (),
    (("n", "key"), (" begins one, ", ""), ("l", "key"), (" lists those that there are.", "")),
)


class LivePane(LiveBase):
    """One live session; its parts follow it, order, answer and complete what is written."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("live")

    def __init__(self, id: str = "live") -> None:
        super().__init__(id=id)
        self._heading = ""  # of the pane's border
        self._keeping: Timer | None = None
        self.following = LiveFollowing(self)
        self.orders = LiveOrders(self, self.following)
        self.answers = LiveAnswers(self, self.following, self.orders)
        self._completing = LiveCompleting(self, self.following)
        self._slash = LiveSlash(self, self.following, self.orders)
        self.parts = (self.orders, self.answers)

    def compose(self) -> ComposeResult:
        """Lay out the conversation, the request, the queue and the line to write on."""
        yield Lines(_EMPTY, id="live-empty")
        yield ConversationView(self.following.need_older, id="live-view")
        yield RequestPanel(id="live-request")
        yield Lines(id="live-answers")
        yield Lines(id="live-queue")
        yield Lines(id="live-writer")
        yield CompletionList(id="live-completions")
        yield Composer(id="live-composer")
        yield Lines(id="live-working")

    def on_mount(self) -> None:
        """Show that nothing is open, and count the seconds of a turn."""
        self._heading = str(self.border_title or "Live")
        self.set_class(self.session is None, "-empty")
        self.set_interval(_TICK_S, self._tick)

    def on_unmount(self) -> None:
        """Let go of the session: it goes on."""
        self.following.disconnect()

    # ---- parts

    def take(self, snapshot: Snapshot) -> None:
        """Open what was open the last time; show how the account's windows are used now."""
        self.following.take(snapshot)

    def state(self) -> Mapping[str, object]:
        """Return what is open, and what is written and not sent."""
        return self.following.state()

    def restore(self, state: Mapping[str, object]) -> None:
        """Take what `state` returned; the session is opened with the first data."""
        self.following.restore(state)

    def show(self, key: str) -> bool:
        """Open the session of a request, or one by its id."""
        self.following.open_session(key)
        return True

    @property
    def session(self) -> LiveSession | None:
        """Return the session that is open."""
        return self.following.session

    @property
    def talk(self) -> Conversation:
        """Return what was said in it."""
        return self.following.talk

    @property
    def request(self) -> OpenRequest | None:
        """Return the request that is shown: the oldest."""
        return self.following.request

    @property
    def live_session_id(self) -> str | None:
        """Return the session that is open."""
        return None if self.session is None else self.session.session_id

    def focus_inside(self) -> None:
        """Give the keys to the request that waits, else to the conversation.

        Who comes here has not said that he writes: keys that are pressed by habit must not go to an agent.
        """
        if self.session is not None and self.request is not None:
            self.query_one(RequestPanel).focus()
        elif self.session is None or not self.composer.has_focus:
            self.view.focus()

    def inner_keys(self) -> tuple[Action, ...] | None:
        """Return the keys of the line that is written on, while it has them."""
        if self.session is None or not self.composer.has_focus:
            return None
        rows = (
            completion_keys()
            if self.composer.is_completing
            else composer_keys(
                is_running=self.talk.turn is not None,
                can_steer=self._can_steer,
                is_asked=self.request is not None,
                waits_to_retry=self.talk.waits_to_retry,
            )
        )
        return (*rows, *(row for row in (self.find_row(name) for name in _EVERYWHERE) if row is not None))

    @property
    def _can_steer(self) -> bool:
        """Return whether the turn takes a message now."""
        return bool(self.following.capabilities.get("steer")) and not self.talk.waits_to_retry

    def reason_against(self, action: Action) -> str | None:
        """Say why an action does nothing now: all but two are about the session that is open."""
        if self.session is None and action.method not in ("list", "new"):
            return Need.SESSION.value
        return super().reason_against(action)

    def lacks(self, need: Need) -> bool:
        """Return whether the session that is open has not what a command needs."""
        match need:
            case Need.REQUEST:
                return self.request is None
            case Need.TURN:
                return self.talk.turn is None and not self.screen.get_selected_text()
            case Need.NO_TURN:
                return self.talk.turn is not None
            case Need.MESSAGE:
                return not self.talk.queue
            case Need.PROCESS:
                return self.following.connection is None
            case Need.REVIEW | Need.SET_MODEL:
                return bool(self.following.capabilities) and not self.following.capabilities.get(_ABILITIES[need])
            case _:
                return False

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing now."""
        if action in _ANSWERS and self.request is not None:
            return self.answers.refuse_answer(self.request, action)
        if action == "changes" and not self.talk.diff:
            return "no turn has told what it changed"
        if action == "unfold" and not self._has_fold:
            return "nothing is folded here"
        return None

    @property
    def _has_fold(self) -> bool:
        here = self.view.here
        return here is not None and is_foldable(self.talk.blocks[here[0]])

    # ---- keys

    def action_write(self) -> None:
        """Give the keys to the line that is written on."""
        self.composer.focus()

    def action_unfold(self) -> None:
        """Unfold what is under the cursor, or fold it."""
        self.view.toggle()

    def action_unfold_all(self) -> None:
        """Unfold everything, or fold it."""
        self.view.toggle_all()

    def on_key(self, event: events.Key) -> None:
        """Take note that a key came: an answer needs a pause before it."""
        self.answers.guard.take_key(event.key, event.time)

    def on_descendant_focus(self) -> None:
        """Take note that the keys were elsewhere until now."""
        self.answers.guard.cover(monotonic())
        self.call_after_refresh(self.draw)

    def uncovered(self) -> None:
        """Take note that something lay over the request."""
        self.answers.guard.cover(monotonic())

    # ---- what the composer says

    @on(Composer.Submitted)
    def _handle_submit(self, message: Composer.Submitted) -> None:
        self.following.sent.append(message.text)
        self._slash.submit(message.text, is_queued=message.is_queued)

    def leave(self) -> bool:
        """Stop a turn that waits to be tried again; return whether there was one."""
        waits = self.talk.waits_to_retry
        if waits:
            self.orders.interrupt()
        return waits

    @on(Composer.Left)
    def _handle_leaving(self) -> None:
        if not self.leave():
            (self.view if self.request is None else self.query_one(RequestPanel)).focus()

    @on(Composer.InterruptWanted)
    def _handle_interrupt(self) -> None:
        self.orders.action_interrupt()

    @on(Composer.Edited)
    def _handle_edit(self) -> None:
        self.keep_soon()
        self.composer.sent = self.talk.messages() + self._unseen_sent()
        self._completing.look()

    @on(Composer.CompletionKey)
    def _handle_completion_key(self, message: Composer.CompletionKey) -> None:
        self._completing.press(message.key)

    @on(RequestPanel.Read)
    def _handle_read(self) -> None:
        self._draw_request()
        app = app_of(self)
        app.show_keys()

    @on(ConversationView.Moved)
    def _handle_move(self) -> None:
        self.show_keys_soon()

    def keep_soon(self) -> None:
        """Have what is open and what is written kept, once the hand rests."""
        if self._keeping is not None:
            self._keeping.stop()
        app = app_of(self)
        self._keeping = self.set_timer(_REST_S, app.keep_layout)

    def _unseen_sent(self) -> list[str]:
        known = set(self.talk.messages())
        return [text for text in self.following.sent if text not in known]

    # ---- drawing

    def on_resize(self) -> None:
        """Fit what is below the conversation, and what is said while nothing is open."""
        self.query_one("#live-empty", Lines).show_lines(wrap_lines(_EMPTY, max(20, self.size.width - 6)))
        self.call_after_refresh(self.draw)

    def _tick(self) -> None:
        if self.talk.turn is not None:
            self.draw_working()

    def draw(self) -> None:
        """Draw all but the conversation."""
        if not is_standing(self) or self.session is None:
            return
        self._draw_request()
        queue = self.query_one("#live-queue", Lines)
        lines = queue_lines(self.talk, max(20, self.size.width - 4), self.find_key("live.queue"))
        queue.display = bool(lines)
        queue.styles.height = len(lines)
        queue.show_lines(lines)
        writer, line = (
            self.query_one("#live-writer", Lines),
            writer_line(self.talk, max(20, self.size.width - 4)),
        )
        writer.display = bool(line)
        writer.show_lines((line,))
        composer, is_running = self.composer, self.talk.turn is not None
        composer.takes_queue = is_running
        can_steer = self._can_steer
        key = "" if composer.has_focus else self.find_key("live.write")
        composer.placeholder = composer_hint(self.talk, self._standing(), can_steer=can_steer, write_key=key)
        name = self.talk.title or f"{self.session.runtime_id} {self.session.session_id[:8]}"
        self.border_title = Content(f"{self._heading} · {cut(' '.join(name.split()), 60)}")
        self.draw_working()

    def _draw_request(self) -> None:
        if not is_standing(self):
            return
        request, panel = self.request, self.query_one(RequestPanel)
        self.set_class(request is not None, "-asks")
        self.answers.guard.show(None if request is None else request.request_id, monotonic())
        if request is None:
            if panel.has_focus:
                self.view.focus()
            return
        width = max(20, self.size.width - 7)
        lines = request_lines(request, width)
        panel.border_title = Content(title_line(request, len(self.talk.requests)))
        most = max(3, int(self.size.height * _REQUEST_SHARE) - 4)
        panel.show_request(request.request_id, lines, most)
        keys = {name: self.find_key(f"live.{name}") for name in _ANSWERS}
        line = answer_line(request, keys, "" if panel.is_read else self.find_key("lists.last") or "scroll")
        if self.composer.has_focus:
            line = (("esc", "key"), (", then  ", "dim"), *line)
        answers = break_answers(line, max(20, self.size.width - 4))
        shown = self.query_one("#live-answers", Lines)
        shown.styles.height = len(answers)
        shown.show_lines(answers)

    def draw_working(self) -> None:
        """Draw the line that says how the session stands."""
        if is_standing(self) and self.session is not None:
            line = working_line(self.talk, self._standing(), max(10, self.size.width - 4))
            self.query_one("#live-working", Lines).show_lines((line,))
            # What the session may do is always in view: on the pane's edge where the line has no room for it.
            policy = self.talk.may_do
            edge = "" if any(text == policy for text, _ in line) else escape(policy)
            if edge != self.border_subtitle:
                self.border_subtitle = edge

    def _standing(self) -> Standing:
        app = app_of(self)
        session, turn = self.session, self.talk.turn
        account = "" if session is None else session.account or session.runtime_id
        return Standing(
            account,
            self._window(account),
            None if turn is None else elapsed_s(turn, app.now()),
            self.find_key("live.interrupt"),
            is_attached=self.following.connection is not None,
            is_connecting=bool(self.following.opening),
            is_interrupting=turn is not None and turn.turn_id == self.orders.interrupting,
            fork_key=self.find_key("live.fork"),
            fence=session.status_reason if session is not None and session.status == "fenced" else None,
        )

    def _window(self, account: str) -> tuple[str, float] | None:
        """Return the account's window that is used most: as its CLI told it last, else as it was read."""
        told = [(name, used / 100) for name, used, _ in self.talk.windows]
        if not told and self.following.snapshot is not None:
            views = (view for view in self.following.snapshot.accounts if view.name == account)
            told = [(one.name, one.used) for view in views for one in view.quota.windows]
        return max(told, key=lambda one: one[1], default=None)

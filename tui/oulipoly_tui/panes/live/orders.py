"""What a person has a live session do: send, steer, queue, interrupt, and what menus and slash commands offer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.live import orders
from oulipoly_engine.errors import AccountExhausted, ReadOnly, RunnerError
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.driver.copying import copy
from oulipoly_tui.panes.live.jobs import fork_to, resume_turn
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.transcript.spans import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oulipoly_engine.core.live.events import ModelInfo
    from oulipoly_engine.core.live.sessions import LiveSession
    from oulipoly_engine.facade.live.sessions import Begun
    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.panes.live.base import LiveBase
    from oulipoly_tui.panes.live.following import LiveFollowing
    from oulipoly_tui.view.live.conversation import Conversation

_STARTING = (orders.Compact, orders.Review, orders.Rename, orders.SetModel)  # start the CLI where it does not run


class LiveOrders:
    """What the session is told to do."""

    def __init__(self, pane: LiveBase, following: LiveFollowing) -> None:
        self._pane = pane
        self._following = following
        self.interrupting = ""  # the turn that was asked to end

    @property
    def _app(self) -> AppInterface:
        return app_of(self._pane)

    @property
    def _talk(self) -> Conversation:
        return self._following.talk

    @property
    def _session(self) -> LiveSession | None:
        return self._following.session

    def order(self, order: orders.Order, done: str = "", on_refused: Callable[[], object] = lambda: None) -> None:
        """Have the session do something; what is wrong with it is said. done: what is said when it was done."""

        def on_answered(_answer: Mapping[str, Any], wrong: str) -> None:
            if wrong:
                on_refused()
                self._app.say(wrong, severity="warning")
            elif done:
                self._app.say(done)

        session = self._session
        if session is None:
            return
        if self._following.connection is not None and not isinstance(order, orders.Compact):  # a model may take minutes
            self._following.connection.order(order, on_answered)
            return
        live = engine_of(self._app).live
        starts = isinstance(order, _STARTING)
        work: Callable[[], object] = partial(live.order, session.session_id, order, starts=starts)
        if isinstance(order, orders.ChangeQueue):
            work = partial(live.change_queue, session.session_id, order)
        self._app.work(f"live {orders.verb_of(order)}", work, lambda _: self._again(done), partial(self._fail, ""))

    @property
    def _quoted_name(self) -> str:
        from oulipoly_tui.view.sessions.sessions import quote_title  # noqa: PLC0415 - only when something is asked

        return quote_title(self._talk.title or ("" if self._session is None else self._session.session_id[:8]))

    # ---- messages

    def submit(self, text: str, typed: str, *, is_queued: bool = False) -> None:
        """Send a message: begin a turn, steer the running one, or wait for its end. typed: as it was written."""
        session, turn = self._session, self._talk.turn
        if session is None:
            return
        if self._app.options.read_only:
            self._app.say(ReadOnly("send anything").message)
            return
        if session.status == "fenced":
            key = self._pane.find_key("live.fork")
            forks = f". {key} forks it" if key else ""
            self._app.say(f"This session cannot go on: {session.status_reason or 'its thread is lost'}{forks}")
            return
        self._pane.composer.put("")
        self._pane.view.action_last()
        steers = turn is not None and self._following.capabilities.get("steer", False) and not is_queued
        order: orders.Order = orders.Send(text)
        if steers and turn is not None:
            order = orders.Steer(text, turn.turn_id)
        if self._following.connection is None:
            work = partial(engine_of(self._app).live.send, session.session_id, text)
            self._app.work(
                "send", work, lambda _: self._again(""), partial(self._fail, typed, text=text), title="starting the CLI"
            )
            return

        def on_answered(answer: Mapping[str, Any], wrong: str) -> None:
            if wrong:
                self._fail(typed, RunnerError(wrong), text=text)
            elif answer.get("steered") is False:
                self._app.say(str(answer.get("message", "it waits for the end of the turn")))
            elif answer.get("steered"):
                self._app.say("Steers the running turn")

        self._following.connection.order(order, on_answered)

    def _fail(self, typed: str, error: Exception, *, text: str = "") -> None:
        """Say what is wrong, and give back what was written; where the account is exhausted, offer others.

        text: the message that it was.
        """
        if typed and not self._pane.composer.text:
            self._pane.composer.put(typed)
        if isinstance(error, AccountExhausted) and self._session is not None:
            work = partial(engine_of(self._app).live.runtimes_instead, self._session.session_id)
            self._app.work("accounts", work, partial(self._offer_others, self._session, typed, text, error))
        else:
            self._app.say(str(getattr(error, "message", error)), severity="error")

    def _offer_others(
        self, session: LiveSession, typed: str, text: str, error: AccountExhausted, runtimes: tuple[str, ...]
    ) -> None:
        """Have a runtime chosen to which a session is forked, whose own account is exhausted."""
        if not runtimes:
            self._app.say(error.message, severity="error")
            return

        def on_chosen(runtime: str) -> None:
            work = partial(fork_to, engine_of(self._app), session.session_id, runtime, text)
            self._app.work("fork", work, on_forked, title="forking the session")

        def on_forked(begun: Begun) -> None:
            if self._pane.composer.text == typed:
                self._pane.composer.put("")  # the fork has it
            self._show_fork(begun)

        title = f"{session.account} is exhausted: fork {self._quoted_name} where?"
        sent = ", and your message goes to it" if text else ""
        explanation = f"Another session begins there with what was said{sent}. This one stays as it is."
        dialogs.choose_account(self._app, title, runtimes, on_chosen, explanation)

    def _again(self, done: str) -> None:
        if done:
            self._app.say(done)
        if self._session is not None:
            self._following.open_session(self._session.session_id, anew=True)

    def resume(self) -> None:
        """Have the agent go on with the turn that was under way when its process was lost."""
        turn_id = self._talk.left_turn
        if not turn_id:
            self._app.say("No turn of this session was cut off")
            return
        work = partial(resume_turn, engine_of(self._app), turn_id)
        self._app.work("resume", work, lambda _: self._again(""), partial(self._fail, ""), title="starting the CLI")

    # ---- keys

    def action_interrupt(self) -> None:
        """Interrupt the running turn; with text selected by the mouse, copy that."""
        if self._app.screen.get_selected_text():
            self._app.screen.action_copy_text()
        else:
            self.interrupt()

    def interrupt(self) -> None:
        """Have the running turn end; the working line says so until it has."""
        if self._talk.turn is None:
            self._app.say(Need.TURN.value)
            return

        def on_refused() -> None:
            self.interrupting = ""
            self._pane.draw_working()

        self.interrupting = self._talk.turn.turn_id
        self._pane.draw_working()
        self.order(orders.Interrupt(), on_refused=on_refused)

    def action_compact(self) -> None:
        """Shorten the past."""
        self.order(orders.Compact())

    def action_review(self) -> None:
        """Ask of what the review shall be."""
        dialogs.ask(self._app, "Review", "Empty: what is not committed. A name: against this branch", self.review)

    def review(self, branch: str) -> None:
        """Have what differs from a branch reviewed; empty: what is not committed."""
        name = branch.strip()
        self.order(orders.Review("branch", name) if name else orders.Review())

    def action_rename(self) -> None:
        """Ask for a name."""
        text = "What this session is called"
        dialogs.ask_name(self._app, "Name", text, lambda name: self.order(orders.Rename(name)), self._talk.title)

    def action_fork(self) -> None:
        """Begin another session with the past of this one, to the turn under the cursor."""
        session, here = self._session, self._pane.view.here
        if session is None:
            return
        is_end = here is None or self._pane.view.is_following or here[0] >= len(self._talk.blocks) - 1
        turn_id = "" if is_end or here is None else self._talk.turn_at(here[0])
        said = next((one.text for one in self._talk.blocks if turn_id and one.turn_id == turn_id and one.text), "")
        where = f"to the end of the turn “{cut(' '.join(said[:200].split()), 40)}”" if turn_id else "to its end"
        text = f"Another session begins with the past of this one {where}. This one stays as it is."
        work = partial(engine_of(self._app).live.fork, session.session_id, at_turn=turn_id)
        begin = partial(self._app.work, "fork", work, self._show_fork, title="forking the session")
        dialogs.confirm(self._app, f"Fork {self._quoted_name}?", text, "fork it", begin)

    def _show_fork(self, begun: Begun) -> None:
        left = f"; left behind: {', '.join(begun.losses)}" if begun.losses else ""
        self._app.say(f"Forked: {begun.why}{left}")
        self._following.open_session(begun.session.session_id)

    def fork_elsewhere(self, runtime: str) -> None:
        """Begin another session with the past of this one on another runtime."""
        if self._session is not None:
            work = partial(fork_to, engine_of(self._app), self._session.session_id, runtime, "")
            self._app.work("fork", work, self._show_fork, title="forking the session")

    def choose_provider(self) -> None:
        """Choose a runtime for another session with the past of this one."""
        session = self._session
        names = [name for name in self._following.runtimes if session is not None and name != session.runtime_id]
        if session is None or not names:
            self._app.say("There is no other account or runtime")
            return
        text = "Another session begins there with what was said. This one stays as it is."
        title = f"{self._quoted_name} is on {session.account or session.runtime_id}: fork it where?"
        dialogs.choose_account(self._app, title, names, self.fork_elsewhere, text)

    def action_tree(self) -> None:
        """Show all its branches."""
        if self._session is not None:
            self._pane.wish("session tree", self._session.session_id)

    def action_model(self) -> None:
        """Choose another model of the runtime, which is asked for them where the session has not told."""
        session = self._session
        if session is None or self._talk.models:
            self._choose_model(self._talk.models)
            return
        work = partial(engine_of(self._app).runtimes.models, session.runtime_id)
        self._app.work("models", work, self._choose_model, lambda _: self._choose_model(()), title="asking for models")

    def _choose_model(self, models: Sequence[ModelInfo]) -> None:
        from oulipoly_tui.view.live.lists import model_rows  # noqa: PLC0415 - only when it is opened

        def on_chosen(name: str) -> None:
            self.order(orders.SetModel(name), f"Model {name}")

        title = f"Model of {self._quoted_name}"
        if models:
            dialogs.choose(
                self._app,
                title,
                model_rows(models, self._talk.model),
                on_chosen,
                at=self._talk.model,
            )
        else:
            text = "Its CLI does not list its models: type the name of one"
            dialogs.ask_name(self._app, title, text, on_chosen, self._talk.model)

    def action_edit_queue(self) -> None:
        """Show what waits to be sent: edit, move, take back."""
        from oulipoly_tui.screens.live.queue import QueueScreen  # noqa: PLC0415 - only when it is opened

        self._app.push_screen(QueueScreen(lambda: self._talk.queue, self.change_queue))

    def change_queue(self, act: str, message_id: str, text: str = "", place: int = 1) -> None:
        """Edit, move or take back a message that waits."""
        self.order(orders.ChangeQueue(act, message_id, text, place))

    def action_changes(self) -> None:
        """Read all that the turn has changed."""
        from oulipoly_tui.view.live.diff_lines import diff_lines  # noqa: PLC0415 - only when it is opened

        lines = tuple(diff_lines(self._talk.diff, max(20, self._app.size.width - 10)))
        dialogs.read(self._app, "Changes of the last turn", lines)

    def action_copy(self) -> None:
        """Copy the message under the cursor."""
        here = self._pane.view.here
        if here is not None:
            copy(self._app, self._talk.blocks[here[0]].text)

    def action_close(self) -> None:
        """End the session's process after a question."""
        running = "The running turn is interrupted. " if self._talk.turn is not None else ""
        text = f"{running}The session stays: a message starts it again."
        close = partial(self.order, orders.Close())
        dialogs.confirm(self._app, f"End the CLI of {self._quoted_name}?", text, "end it", close)

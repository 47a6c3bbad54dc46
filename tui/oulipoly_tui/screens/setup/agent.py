"""The set-up with an agent: what it says and does, and its questions. It runs on while the screen is not shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from oulipoly_engine import stopping
from oulipoly_engine.core.setup.dialogs import Answer, AnyDialog, AnyShown, Cancelled, LoginDone, LoginRequest
from oulipoly_engine.core.setup.events import Agreement, Progress, Told
from oulipoly_engine.facade.setup.agent import AnsweredElsewhere, Look, keep_waiting
from oulipoly_engine.records import Record
from oulipoly_tui.base.app_interface import SET_UP
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.box import Box, ScrollScreen
from oulipoly_tui.screens.setup import questions
from oulipoly_tui.view.frame.hints import CLOSE, link
from oulipoly_tui.view.setup import log
from oulipoly_tui.view.setup.dialogs import RunLogin
from oulipoly_tui.view.transcript.spans import Line, Row, wrap_lines
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.facade.setup.agent import SetupAgent, SetupEnd, SetupWish
    from oulipoly_tui.base.messages import Job

_TITLE = "Set up with an agent"
_KEPT = 2000  # lines of the log
_LOOK_S = 0.3  # between two looks whether a question is still wanted
_WAYS = (
    ("hide", "Hide this: the set-up runs on, and `:setup agent` shows it again"),
    ("end", "End the set-up: what was done until now stays as it is"),
)


class Question(Record, frozen=False, eq=False):
    """What is asked, and where its answer goes."""

    asked: AnyDialog | Agreement
    reply: SimpleQueue[Any]


class AgentScreen(ScrollScreen[None]):
    """Shows one set-up until it has ended and is closed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "close"),
    ]
    DEFAULT_CSS = """
    AgentScreen > Box { height: 92%; }
    AgentScreen Lines { height: 1fr; scrollbar-gutter: stable; }
    """

    class Asked(Message):
        """A question, from the thread of the set-up."""

        def __init__(self, question: Question) -> None:
            self.question = question
            super().__init__()

    class Withdrawn(Message):
        """The question was answered in the inbox."""

    class Noted(Message):
        """Something to be read, from there too."""

        def __init__(self, lines: Sequence[Line], heading: str = "") -> None:
            self.lines = lines
            self.heading = heading
            super().__init__()

    class Ended(Message):
        """What came of it, behind everything that its thread has said: the app's own queue could overtake that."""

        def __init__(self, heading: str, lines: Sequence[Line]) -> None:
            self.heading = heading
            self.lines = lines
            super().__init__()

    def __init__(self, agent: SetupAgent, wish: SetupWish) -> None:
        super().__init__()
        self._agent = agent
        self._wish = wish
        self._log: list[Line] = list(log.wish_lines(wish.text, wish.model or "", wish.cli or ""))
        self._heading = "begins"
        self._job: Job | None = None
        self._question: Question | None = None  # that waits for an answer
        self._is_asked = False  # a screen asks it now
        self._typed: questions.Typed = {}

    def compose(self) -> ComposeResult:
        """Lay out the log."""
        with Box():
            yield Lines(id="setup-log")

    def on_mount(self) -> None:
        """Begin."""
        run = partial(self._agent.run, self._wish, ThreadFace(self.post_message))
        self._job = self._app.work("set-up", run, self._end, self._fail, title="setting up", can_stop=True)

    def on_resize(self) -> None:
        """Wrap to the width."""
        self.call_after_refresh(self._draw)

    def on_screen_resume(self) -> None:
        """Draw what came meanwhile, and ask what waits for an answer."""
        self.call_after_refresh(self._draw)
        self.call_after_refresh(self._ask)

    def reason_to_stay(self) -> str | None:
        """Say what quitting the app would end; None: nothing."""
        return None if self._job is None else "the set-up with an agent is under way, and ends with the app"

    def action_close(self) -> None:
        """Close; while the set-up runs, ask whether to end it."""
        if self._job is None:
            self.dismiss()
            self._app.uninstall_screen(self)
            return
        rows = tuple(Row(key, ((text, ""),)) for key, text in _WAYS)
        dialogs.choose(self._app, "The set-up still runs", rows, self._leave)

    def _leave(self, way: str) -> None:
        if way == "hide" and self._job is not None:
            self.dismiss()
        elif way == "end" and self._job is not None:
            self._job.asked.set()

    @on(Asked)
    def _take_question(self, message: Asked) -> None:
        self._question = message.question
        if is_standing(self):
            self._ask()
        else:
            self._app.say("The set-up asks something: `:setup agent` shows it")

    @on(Noted)
    def _take_lines(self, message: Noted) -> None:
        self._heading = message.heading or self._heading
        self._note(message.lines)

    def _ask(self) -> None:
        question = self._question
        if question is None or self._is_asked or not self.is_active:
            return
        self._is_asked = True
        if isinstance(question.asked, Agreement):
            questions.agree(self._app, question.asked, self._take_leave)
        else:
            can_run = self._app.has_pane("repl")
            questions.ask(self._app, question.asked, self._take_answer, typed=self._typed, can_run=can_run)

    def _take_leave(self, is_agreed: bool) -> None:
        question = self._question
        if question is not None and isinstance(question.asked, Agreement):
            self._note(log.agreed_lines(question.asked, is_agreed=is_agreed))
        self._reply(is_agreed)

    def _take_answer(self, answer: Answer) -> None:
        question = self._question
        if isinstance(answer, RunLogin) and question is not None and isinstance(question.asked, LoginRequest):
            self._is_asked = False
            self._run_login(question.asked)
        elif question is not None and not isinstance(question.asked, Agreement):
            self._note(log.answered_lines(question.asked, answer))
            self._reply(answer)

    def _reply(self, answer: Any) -> None:  # noqa: ANN401 - an answer, or whether it is agreed
        question, self._question = self._question, None
        self._is_asked = False
        if question is not None:
            question.reply.put(answer)

    def _run_login(self, asked: LoginRequest) -> None:
        from oulipoly_tui.orders.programs import show_program  # noqa: PLC0415 - only where one logs in here

        def on_ended() -> None:
            if self._question is not None and self._question.asked is asked:
                self._take_answer(LoginDone(asked.provider))
                show(self._app)

        self.dismiss()
        program = (sys.executable, "-m", "oulipoly_tui", "account", "add", asked.cli)
        show_program(self._app, program, ended=on_ended)
        self._app.say("`:setup agent` goes back to the set-up")

    def _end(self, end: SetupEnd) -> None:
        self.post_message(self.Ended("has ended", log.end_lines(end)))
        if not is_standing(self):
            self._app.say("The set-up has ended: `:setup agent` shows what came of it")
        self._app.take_snapshot()

    def _fail(self, error: Exception) -> None:
        lines: tuple[Line, ...] = ((), ((f"✗ {getattr(error, 'message', error)}", "bad"),))
        self.post_message(self.Ended("has failed", lines))

    @on(Ended)
    def _take_end(self, message: Ended) -> None:
        self._job, self._heading = None, message.heading
        self._withdraw()
        self._note(message.lines)

    @on(Withdrawn)
    def _withdraw(self) -> None:
        """Take away what asks for the answer that nobody waits for any more."""
        self._question = None
        while self._is_asked and is_standing(self) and not self.is_active:
            self._app.pop_screen()
        self._is_asked = False

    def _note(self, lines: Sequence[Line]) -> None:
        self._log = [*self._log, *lines][-_KEPT:]
        self._draw()

    def _draw(self) -> None:
        if not is_standing(self):
            return
        box, shown = self.query_one(Box), self.query_one(Lines)
        box.border_title = f"{_TITLE} · {self._heading}"
        box.border_subtitle = CLOSE if self._job is None else link("esc: end or hide", "screen.close")
        is_at_end = shown.scroll_offset.y >= shown.max_scroll_y
        shown.show_lines(wrap_lines(self._log, max(20, shown.scrollable_content_region.width)))
        if is_at_end:
            shown.call_after_refresh(shown.scroll_end, animate=False)

    @property
    def _app(self) -> Any:  # noqa: ANN401 - AgentsApp, whose import would be a cycle
        return self.app


class ThreadFace:
    """The set-up's face in its own thread: what it asks and says goes to the screen as messages."""

    def __init__(self, post: Callable[[Message], object]) -> None:
        self._post = post

    def ask(self, dialog: AnyDialog, look: Look = keep_waiting) -> Answer:
        """Ask, and wait for the answer; of a set-up that is stopped it is Cancelled."""
        answer = self._wait(dialog, look)
        return answer if isinstance(answer, Answer) else Cancelled()

    def agree(self, agreement: Agreement, look: Look = keep_waiting) -> bool:
        """Ask for leave, and wait for it; of a set-up that is stopped there is none."""
        return self._wait(agreement, look) is True

    def show(self, shown: AnyShown) -> None:
        """Show a result."""
        self._post(AgentScreen.Noted(log.shown_lines(shown)))

    def tell(self, event: Told) -> None:
        """Tell what goes on."""
        heading = event.message if isinstance(event, Progress) else ""
        self._post(AgentScreen.Noted(log.told_lines(event), heading))

    def _wait(self, asked: AnyDialog | Agreement, look: Look) -> Any:  # noqa: ANN401 - as the question wants it; None: stopped
        reply: SimpleQueue[Any] = SimpleQueue()
        self._post(AgentScreen.Asked(Question(asked, reply)))
        while not stopping.is_asked():
            with suppress(Empty):
                return reply.get(timeout=_LOOK_S)
            try:
                look()
            except AnsweredElsewhere:
                self._post(AgentScreen.Withdrawn())
                raise
        return None


def show(app: Any) -> bool:  # noqa: ANN401 - AgentsApp
    """Show the set-up that runs, or has ended without being closed; return whether there is one."""
    if not app.is_screen_installed(SET_UP):
        return False
    if app.get_screen(SET_UP) not in app.screen_stack:
        app.push_screen(SET_UP)
    return True


def begin(app: Any, agent: SetupAgent, wish: SetupWish) -> None:  # noqa: ANN401 - as above
    """Begin a set-up, and show it."""
    app.install_screen(AgentScreen(agent, wish), SET_UP)
    app.push_screen(SET_UP)

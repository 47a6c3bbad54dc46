"""Answering in the inbox itself what no session asks: a set-up, a repository or a device."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_engine.core.live.requests import describe_end, digest_of
from oulipoly_engine.core.setup.dialogs import FormAnswer
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.screens import dialogs
from oulipoly_tui.screens.choice import Choice
from oulipoly_tui.screens.review import Review
from oulipoly_tui.screens.setup.form import FormScreen
from oulipoly_tui.view.live.conversation import OpenRequest
from oulipoly_tui.view.live.questions import answers_of, questions_page
from oulipoly_tui.view.live.request_lines import request_lines
from oulipoly_tui.view.transcript.spans import Row

if TYPE_CHECKING:
    from oulipoly_engine.core.live.requests import Decision
    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_tui.base.app_interface import AppInterface

_WIDTH = 100  # columns of what is asked


def answer(app: AppInterface, request: LiveRequest) -> None:
    """Ask what a request asks, and hand the answer on; whoever leaves answers nothing."""
    if request.kind == "user_input":
        _ask_questions(app, request)
    else:
        _ask_leave(app, request)


def _ask_questions(app: AppInterface, request: LiveRequest) -> None:
    questions = request.prompt.questions

    def on_answered(given: object) -> None:
        if isinstance(given, FormAnswer):
            _send(app, request, "answer", answers=answers_of(questions, given.values))

    app.push_screen(FormScreen(questions_page(request.prompt.title, questions, request.prompt.command)), on_answered)


def _ask_leave(app: AppInterface, request: LiveRequest) -> None:
    can_do = request.kind != "other"
    lines = request_lines(OpenRequest(request.request_id, request.kind, request.prompt), _WIDTH)
    review = Review(request.prompt.title, (), lines, yes="Approve", no="Not now", can_do=can_do, waits=True)

    def on_answered(yes: bool | None) -> None:
        if yes:
            _send(app, request, "approve")
        else:
            ways = [*_WAYS[can_do]]
            if can_do and request.hears_reasons:
                ways.append(_WHY)
            app.push_screen(Choice("It is not approved", ways), on_chosen)

    def on_chosen(way: str | None) -> None:
        if way == "why":
            dialogs.ask_reason(app, partial(_send, app, request, "deny"))
        elif way in ("deny", "cancel"):
            _send(app, request, "deny" if way == "deny" else "cancel")

    app.push_screen(review, on_answered)


_WAIT = Row("wait", (("Let it wait", ""),))
_WHY = Row("why", (("Deny it and say why", ""),))
_WAYS = {True: (_WAIT, Row("deny", (("Deny it", ""),))), False: (_WAIT, Row("cancel", (("Leave it out", ""),)))}


def _send(
    app: AppInterface,
    request: LiveRequest,
    decision: Decision,
    reason: str = "",
    answers: Mapping[str, tuple[str, ...]] | None = None,
) -> None:
    send = partial(engine_of(app).live.answer, request.request_id, decision)
    order = partial(send, reason=reason, answers=answers, digest=digest_of(request))

    def on_done(status: str) -> None:
        app.say(f"{request.prompt.title}: {describe_end(status, decision)}")
        app.requests.look_soon()

    app.work("answer", order, on_done)

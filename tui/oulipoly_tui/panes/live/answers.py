"""Answering requests in place: by keys that answer nothing unless the request was seen and the hand has paused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.live.orders import Answer
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.live.answer_guard import AnswerGuard
from oulipoly_tui.view.live.questions import answers_of, questions_page
from oulipoly_tui.view.live.request_lines import APPROVALS, can, reach_lines
from oulipoly_tui.widgets.live.request_panel import RequestPanel

if TYPE_CHECKING:
    from oulipoly_tui.panes.live.base import LiveBase
    from oulipoly_tui.panes.live.following import LiveFollowing
    from oulipoly_tui.panes.live.orders import LiveOrders
    from oulipoly_tui.view.live.conversation import OpenRequest


class LiveAnswers:
    """What its user answers to the request that is shown."""

    def __init__(self, pane: LiveBase, following: LiveFollowing, orders: LiveOrders) -> None:
        self._pane = pane
        self._following = following
        self._orders = orders
        self.guard = AnswerGuard()

    def action_approve(self) -> None:
        """Approve once, or answer the questions."""
        request = self._meant("approve")
        if request is None:
            return
        if request.kind == "user_input":
            self._ask(request)
        else:
            self._answer(request, "approve")

    def action_approve_for_session(self) -> None:
        """Approve this and the like of it, after a question that says what that covers."""
        request = self._meant("approve_for_session")
        if request is None:
            return
        head, body = reach_lines(request)
        approve = partial(self._answer, request, "approve_for_session")
        title = "Approve for the whole session?"
        dialogs.review(self._pane.app, title, head, body, approve, yes="Yes, all of it", waits=True)

    def action_deny(self) -> None:
        """Deny."""
        request = self._meant("deny")
        if request is not None:
            self._answer(request, "deny")

    def action_deny_with_reason(self) -> None:
        """Deny, and tell the agent why."""
        request = self._meant("deny_with_reason")
        if request is not None:
            dialogs.ask_reason(self._pane.app, partial(self._answer, request, "deny"))

    def action_cancel_request(self) -> None:
        """Deny it, and interrupt the turn."""
        request = self._meant("cancel_request")
        if request is not None:
            self._answer(request, "cancel")

    def refuse_answer(self, request: OpenRequest, method: str) -> str | None:
        """Say why a request cannot be answered so now; None: it can."""
        reason = can(request, method)
        is_approval = request.kind != "user_input" and method in APPROVALS
        if reason is None and is_approval and not self._pane.query_one(RequestPanel).is_read:
            return "read it first: its end was not on the screen yet"
        return reason

    def _meant(self, method: str) -> OpenRequest | None:
        """Return the request that a key means; None where it can mean none, which is said."""
        request = self._following.request
        if request is None:
            return None
        is_key = app_of(self._pane).has_keys_under_way  # else a hint was clicked
        early = self.guard.refuse_key() if is_key else self.guard.refuse(monotonic())
        reason = self.refuse_answer(request, method) or early
        if reason is not None:
            app_of(self._pane).say(reason[:1].upper() + reason[1:], severity="warning")
            return None
        return request

    def _answer(
        self,
        request: OpenRequest,
        decision: str,
        reason: str = "",
        answers: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._orders.order(Answer(request.request_id, decision, reason, answers or {}))

    def _ask(self, request: OpenRequest) -> None:
        from oulipoly_tui.screens.setup.form import FormScreen  # noqa: PLC0415 - only when it is asked

        questions = request.prompt.questions
        page = questions_page(request.prompt.title or "The agent asks", questions)

        def on_answered(given: Any) -> None:  # noqa: ANN401 - FormAnswer, or None
            if given is not None:
                self._answer(request, "answer", answers=answers_of(questions, given.values))

        self._pane.app.push_screen(FormScreen(page), on_answered)

"""A set-up's face whose questions stand in the inbox too: whoever answers first, there or at the face, is heard.

A question that is answered at once never gets there: it is written by the first look that its face takes as it waits.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import TypeVar

from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.live import requests as inbox
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.core.setup import requests
from oulipoly_engine.core.setup.dialogs import Answer, AnyDialog, AnyShown
from oulipoly_engine.core.setup.events import Agreement, Failure, Status, Told
from oulipoly_engine.errors import RequestRefused, StoreUnusable
from oulipoly_engine.process.liveness import own_mark
from oulipoly_engine.service.setup.face import AnsweredElsewhere, Look, SetupFace, keep_waiting
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_requests

AskedT = TypeVar("AskedT", bound=AnyDialog | Agreement)
AnswerT = TypeVar("AnswerT", bound=bool | Answer)


class Inbox:
    """Puts each question to a face and into the inbox."""

    def __init__(
        self, face: SetupFace, lend_store: Callable[[], AbstractContextManager[Store]], clock: Clock, by: str
    ) -> None:
        """by: who answers at the face."""
        self._face = face
        self._lend_store = lend_store
        self._clock = clock
        self._by = by
        self._id = ""  # of the question that stands there; empty: none does

    def ask(self, dialog: AnyDialog, look: Look = keep_waiting) -> Answer:
        """Ask a person until an answer fits. Raises NobodyAnswers."""
        while isinstance(answer := self._put(dialog, self._face.ask), LiveRequest):
            try:
                return requests.read_answer(dialog, answer.decision, answer.answers)
            except RequestRefused as error:
                self.tell(Failure(f"this is not an answer to the question: {error.message}", recoverable=True))
        return answer

    def agree(self, agreement: Agreement, look: Look = keep_waiting) -> bool:
        """Return whether a person says yes. Raises SetupCancelled and NobodyAnswers, and Declined for a reasoned no."""
        answer = self._put(agreement, self._face.agree)
        if not isinstance(answer, LiveRequest):
            return answer
        return requests.read_agreement(answer.decision, answer.answers)

    def show(self, shown: AnyShown) -> None:
        """Show it at the face."""
        self._face.show(shown)

    def tell(self, event: Told) -> None:
        """Say it at the face."""
        self._face.tell(event)

    def _put(self, asked: AskedT, ask: Callable[[AskedT, Look], AnswerT]) -> AnswerT | LiveRequest:
        """Ask, and return what was answered at the face, or the request that was answered elsewhere."""
        self._id = ""
        try:
            answer = ask(asked, lambda: self._look(asked))
            request = self._settle(requests.decision_of(answer))
            if request is None:
                return answer
        except AnsweredElsewhere as elsewhere:
            request = elsewhere.request
        except BaseException:
            self._settle("cancel")
            raise
        self.tell(Status(f"{inbox.describe_end(request.status, request.decision)} by {request.answered_by}"))
        return request

    def _look(self, asked: AnyDialog | Agreement) -> None:
        """Write a question that waits, and look whether somebody has answered it. Raises AnsweredElsewhere."""
        with suppress(StoreUnusable), self._lend_store() as store:  # else the question stands at its face alone
            if not self._id:
                kind, prompt = requests.request_of(asked)
                now = self._clock.now()
                request = live_requests.ask_once(store, "setup", own_mark(), to_text(now), kind, prompt, now)
                self._id = request.request_id
            (request,) = live_requests.find(store, self._id)
            if request.status in ("answered", "cancelled"):
                live_requests.forget_answers(store, self._id)
                raise AnsweredElsewhere(request)

    def _settle(self, decision: inbox.Decision) -> LiveRequest | None:
        """Note what was said at the face. Returns the request where somebody else was first."""
        if not self._id:
            return None
        with suppress(StoreUnusable), self._lend_store() as store:
            status = inbox.STATUS[decision]
            now = self._clock.now()
            if not live_requests.settle(store, self._id, status, now, decision=decision, answered_by=self._by):
                (request,) = live_requests.find(store, self._id)
                live_requests.forget_answers(store, self._id)
                return None if request.status == "expired" else request
        return None

"""The inbox: what sessions ask, and the answers of a person."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from starlette.responses import Response
from starlette.routing import BaseRoute

from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.live.requests import RequestStale, describe_end, digest_of
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record
from oulipoly_engine.web.access.viewer import ConfirmationNeeded, NotAllowed
from oulipoly_engine.web.api.engine import check_answer, find_request
from oulipoly_engine.web.api.requests import reply
from oulipoly_engine.web.base import bodies
from oulipoly_engine.web.pages.page import Page, get, post
from oulipoly_engine.web.pages.weights import weight_of

_LONGEST = 12_000  # bytes that a page shows of one request; a longer one is answered where it can be read
_BUDGET = 24_000
_MOST_ANSWERED = 15


class Card(Record):
    """A request as a page shows it."""

    request: LiveRequest
    seen: str  # what it asks, as a digest: an answer to anything else is refused
    title: str  # of its session, or who asks else
    folder: str  # that its session works in; empty: no session asks
    is_shown_whole: bool
    may_approve: bool
    needs_confirmation: bool  # of the device, before it may

    @property
    def summary(self) -> str:
        """Return what it asks for in one line, with the command or the files."""
        title, what = self.prompt.title, [self.place(one.path) for one in self.prompt.changes]
        told = [one for one in (self.prompt.command, *what) if one and one not in title]
        return ": ".join((title, ", ".join(told))) if told else title

    def place(self, path: str) -> str:
        """Return a path as people read it: from the session's own folder on."""
        return path.removeprefix(f"{self.folder.rstrip('/')}/") if self.folder else path

    @property
    def prompt(self) -> Prompt:
        """Return what it asks for."""
        return self.request.prompt


def routes() -> list[BaseRoute]:
    """Return the routes of this module."""
    return [get("/requests", _list), get("/requests/{request_id}", _show), post("/requests/{request_id}", _answer)]


def cards(page: Page, requests: Iterable[LiveRequest], budget: int = _BUDGET) -> tuple[list[Card], int]:
    """Return requests as a page shows them, and how many did not fit."""
    told: list[Card] = []
    requests = list(requests)
    for request in requests:
        budget -= min(_size(request), _LONGEST) + 1500
        if told and budget < 0:
            break
        title = request.asker_name
        folder = ""
        if request.session_id:
            session = page.engine.live.find(request.session_id)
            title = session.title or request.session_id[:8]
            folder = session.workspace
        told.append(
            Card(request, digest_of(request), title, folder, _size(request) <= _LONGEST, *_may_approve(page, request))
        )
    return told, len(requests) - len(told)


def _may_approve(page: Page, request: LiveRequest) -> tuple[bool, bool]:
    """Return whether the device may approve a request, and whether it might after a confirmation."""
    try:
        check_answer(page.viewer, request, "approve")
    except ConfirmationNeeded:
        return False, True
    except NotAllowed:
        return False, False
    return True, False


def _size(request: LiveRequest) -> int:
    text = msgspec.json.encode(request.prompt).decode()
    return weight_of(text) + 14 * text.count("\\n")  # its lines, which JSON writes so


def _list(page: Page) -> Response:
    waiting = page.engine.live.requests()
    shown, more = cards(page, waiting)
    answered = [one for one in page.engine.live.requests(all_states=True, limit=60) if one.status != "pending"]
    past = [(one, describe_end(one.status, one.decision)) for one in answered[-_MOST_ANSWERED:]]
    return page.show(
        "requests.html", cards=shown, more=more, past=reversed(past), waiting=len(waiting), back="/requests"
    )


def _show(page: Page) -> Response:
    request = find_request(page.engine, page.path["request_id"])
    (card,), _ = cards(page, [request])
    end = "" if request.status == "pending" else describe_end(request.status, request.decision)
    return page.show("request.html", card=card, end=end, back=f"/requests/{request.request_id}")


def _answer(page: Page) -> Response:
    request = find_request(page.engine, page.path["request_id"])
    decision = page.field("decision")
    if request.status != "pending":
        who = f" by {request.answered_by}" if request.answered_by else ""
        raise RequestStale(f"too late: this request was {describe_end(request.status, request.decision)}{who} already")
    says_yes = decision not in ("deny", "cancel")
    if says_yes and _size(request) > _LONGEST:
        raise UsageInvalid("this request is too long to be read here: answer it on the computer")
    answers = {}
    for question in request.prompt.questions:
        given = [one for one in page.fields.get(f"answer-{question.id}", ()) if one.strip()]
        own = page.field(f"other-{question.id}").strip()
        answers[question.id] = tuple([*given, own] if question.takes_several and own else [own] if own else given)
    body = bodies.RequestAnswer.model_construct(
        decision=decision,
        reason=page.field("reason")[:4000],
        answers=answers if decision == "answer" else {},
        digest=page.field("seen") if says_yes else None,
    )
    page.ask(reply, request_id=request.request_id, body=body)
    return page.go(page.back("/requests"))

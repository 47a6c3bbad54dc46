"""Answers to requests: what a person may say to which kind, and what is kept of it. Pure (contract, D.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live.events import Question
from oulipoly_engine.core.live.sessions import ASKERS, LiveRequest
from oulipoly_engine.errors import RequestRefused

Decision = Literal["approve", "approve_for_session", "deny", "cancel", "answer", "expire"]
STATUS: Mapping[Decision, str] = {
    "approve": "answered",
    "approve_for_session": "answered",
    "deny": "answered",
    "answer": "answered",
    "cancel": "cancelled",
    "expire": "expired",
}
DIFF_LIMIT = 4096  # characters of a diff that a request keeps

_WORDS: Mapping[str, Decision] = {
    **dict.fromkeys(("accept", "allow", "approve", "approved"), "approve"),
    **dict.fromkeys(
        ("acceptforsession", "allowforsession", "approveforsession", "approvedforsession"), "approve_for_session"
    ),
    **dict.fromkeys(("decline", "deny", "denied", "reject", "rejected"), "deny"),
    **dict.fromkeys(("cancel", "cancelled", "abort", "aborted"), "cancel"),
    **dict.fromkeys(("answer", "answered"), "answer"),
}  # fmt: skip


class RequestStale(RequestRefused, slug="request-stale"):
    """A request cannot be answered any more; the message says what became of it."""


class TurnInFlight(RequestRefused, slug="turn-in-flight"):
    """A turn runs, and who sends wanted to begin one."""


class SessionOpening(RequestRefused, slug="session-opening"):
    """The session's CLI is not ready yet for what was ordered."""


class SessionLost(RequestRefused, slug="session-lost"):
    """The CLI does not know the session any more: a fork begins another one with what was said."""


class NoTurnRuns(RequestRefused, slug="no-turn"):
    """Nothing runs that could be interrupted or given a message."""


class MessageGone(RequestRefused, slug="message-gone"):
    """No message of that id waits in the session's queue: it was sent meanwhile, or taken back."""


class SessionIsOneshot(RequestRefused, slug="session-is-oneshot"):
    """A session of one turn has had its message."""


_SAID: Mapping[str, str] = {
    "approve": "approved",
    "approve_for_session": "approved for the session",
    "deny": "denied",
    "cancel": "cancelled",
    "answer": "answered",
}


def describe_end(status: str, decision: str) -> str:
    """Return how a request ended in a word or a few: what was said, or else its state."""
    return _SAID.get(decision, status or "resolved")


def parse_decision(word: str) -> Decision | None:
    """Return the decision that a word means, however it is written; None: none."""
    return _WORDS.get("".join(letter for letter in word.lower() if letter not in "_- "))


def digest_of(request: LiveRequest) -> str:
    """Return what a request asks, in a few letters."""
    return hashlib.sha256(msgspec.json.encode(request.prompt)).hexdigest()[:16]


def offered(request: LiveRequest) -> tuple[Decision, ...]:
    """Return what a notice of a request offers: no yes that takes more than its token."""
    if request.kind in ("user_input", "other"):
        return ()
    asker = ASKERS.get(request.origin)
    if asker is None or not asker.command:
        return ("deny", "approve")
    return ("deny",)


def has_lapsed(request: LiveRequest, now: datetime) -> bool:
    """Tell whether a request that no session asks has waited too long."""
    asker = ASKERS.get(request.origin)
    return asker is not None and now - request.created_at > asker.life


def to_json(request: LiveRequest) -> dict[str, Any]:
    """Return a request as scripts, programs and pages get it."""
    return {
        "id": request.request_id,
        "call_id": request.native_id,
        "origin": request.origin,
        "session_id": request.session_id or None,
        "turn_id": request.turn_id or None,
        "kind": request.kind,
        "status": request.status,
        "prompt": msgspec.to_builtins(request.prompt),
        "digest": digest_of(request),
        "decision": request.decision or None,
        "answered_by": request.answered_by or None,
        "created_at": to_text(request.created_at),
        "resolved_at": None if request.resolved_at is None else to_text(request.resolved_at),
    }


def check(
    request: LiveRequest, decision: Decision, answers: Mapping[str, Sequence[str]], digest: str | None = None
) -> None:
    """Refuse what this request cannot be answered with. Raises RequestStale or RequestRefused.

    digest: of what was read of it; None: nobody says.
    """
    if request.status != "pending":
        who = f" by {request.answered_by}" if request.answered_by else ""
        if request.status == "expired":  # then it is what has happened
            who = f": {request.answered_by}" if request.answered_by else ""
        raise RequestStale(f"the request {request.request_id} is {request.status} already{who}")
    if digest is not None and digest != digest_of(request):
        raise RequestStale("this request has changed since it was shown to you: read it again, then answer")
    if request.kind == "user_input":
        if decision not in ("answer", "cancel", "expire"):
            raise RequestRefused(
                f"the request {request.request_id} asks a question: `agents requests answer {request.request_id} "
                "QUESTION=ANSWER` answers it, `agents requests cancel` does not"
            )
        if decision == "answer":
            check_answers(request.prompt.questions, answers)
        return
    if decision == "answer":
        raise RequestRefused(
            f"the request {request.request_id} wants a yes or a no: `agents requests approve {request.request_id}` or "
            f"`agents requests deny {request.request_id}`"
        )
    if decision == "approve_for_session" and not request.prompt.reach:
        raise RequestRefused(
            f"the request {request.request_id} can be approved once only: its CLI offers nothing for the whole session"
        )
    if request.kind == "other" and decision != "cancel":
        raise RequestRefused(f"the request {request.request_id} cannot be answered here: {request.prompt.note}")


def check_answers(questions: Sequence[Question], answers: Mapping[str, Sequence[str]]) -> None:
    """Refuse answers that are missing, or belong to no question. Raises RequestRefused."""
    known = {question.id for question in questions}
    required = sorted(question.id for question in questions if not question.is_optional)
    missing = [name for name in required if not answers.get(name)]
    strange = [name for name in answers if name not in known]
    if strange:
        raise RequestRefused(f"there is no question {strange[0]!r}; the questions are {', '.join(sorted(known))}")
    if missing:
        raise RequestRefused(f"no answer is given to the question {missing[0]!r}")

"""What may be answered to which request, and in which words."""

from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.live.events import Prompt, Question
from oulipoly_engine.core.live.requests import RequestStale, check, digest_of, parse_decision, to_json
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.errors import RequestRefused

QUESTIONS = (Question("a", "a?"), Question("b", "b?"))


def request(kind="command_approval", status="pending", *, reach="", questions=(), note=""):
    prompt = Prompt("it", reach=reach, questions=questions, note=note)
    now = datetime(2026, 11, 23, tzinfo=UTC)
    return LiveRequest("cli_req_1", "s", "t", "7", kind, status, prompt, now, answered_by="ann@here")


@pytest.mark.parametrize(
    ("word", "decision"),
    [
        ("Accept", "approve"),
        ("allow_for_session", "approve_for_session"),
        ("accept-For Session", "approve_for_session"),
        ("REJECTED", "deny"),
        ("abort", "cancel"),
        ("yes", None),
        ("", None),
    ],
)
def test_a_decision_may_be_written_in_many_ways(word, decision):
    assert decision == parse_decision(word)


@pytest.mark.parametrize("status", ["answered", "cancelled", "expired", "resolved"])
def test_what_is_final_is_stale_and_says_by_whom(status):
    joined = ":" if status == "expired" else " by"  # what has happened, or who
    with pytest.raises(RequestStale, match=f"{status} already{joined} ann@here"):
        check(request(status=status), "approve", {})


def test_an_answer_may_name_what_was_read_and_answers_nothing_else():
    asked, other = request(), request(note="more")

    assert digest_of(asked) == to_json(asked)["digest"] != digest_of(other)
    check(asked, "approve", {}, digest_of(asked))
    with pytest.raises(RequestStale, match="changed since"):
        check(other, "approve", {}, digest_of(asked))


def test_for_the_session_only_where_it_is_offered():
    check(request(reach="all of them"), "approve_for_session", {})
    with pytest.raises(RequestRefused, match="once only"):
        check(request(), "approve_for_session", {})


@pytest.mark.parametrize(
    "answers", [{}, {"a": ("x",)}, {"a": ("x",), "b": ()}, {"a": ("x",), "b": ("y",), "c": ("z",)}]
)
def test_every_question_wants_an_answer_and_no_other_has_one(answers):
    with pytest.raises(RequestRefused, match="question"):
        check(request("user_input", questions=QUESTIONS), "answer", answers)


def test_questions_and_approvals_are_answered_each_in_its_way():
    check(request("user_input", questions=QUESTIONS), "answer", {"a": ("x",), "b": ("y", "z")})
    check(request("user_input", questions=QUESTIONS), "cancel", {})
    with pytest.raises(RequestRefused, match="asks a question"):
        check(request("user_input", questions=QUESTIONS), "approve", {})
    with pytest.raises(RequestRefused, match="a yes or a no"):
        check(request(), "answer", {"a": ("x",)})


def test_what_cannot_be_answered_here_can_be_cancelled():
    check(request("other", note="nobody knows it"), "cancel", {})
    with pytest.raises(RequestRefused, match="nobody knows it"):
        check(request("other", note="nobody knows it"), "approve", {})

"""Which failures of a turn are tried again, when, and what is said (contract, H and vectors 30 to 36)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.live.events import TurnRetrying
from oulipoly_engine.core.live.retry import (
    Failure,
    Policy,
    cause_of_status,
    classify,
    describe_retry,
    find_wait_ms,
)


def test_pauses_grow_from_the_base():
    assert [1000, 2000, 4000] == [Policy(jitter=0).delay_ms(number) for number in range(3)]


def test_no_pause_is_longer_than_the_cap():
    assert 5000 >= Policy(cap_ms=5000, multiplier=10).delay_ms(10)


@given(st.integers(0, 10_000), st.floats(0, 1), st.integers(0, 100_000), st.floats(1, 100), st.floats(0, 1))
def test_jitter_never_lifts_a_pause_over_the_cap(retries, chance, cap_ms, multiplier, jitter):
    policy = Policy(cap_ms=cap_ms, multiplier=multiplier, jitter=jitter)

    assert 0 <= policy.delay_ms(retries, chance) <= cap_ms


@pytest.mark.parametrize(
    ("failure", "retries", "is_retried"),
    [
        (Failure("network"), 0, True),
        (Failure("timeout"), 0, True),
        (Failure("rate_limit"), 0, True),
        (Failure("server_error"), 0, True),
        (Failure("network"), 2, True),
        (Failure("network"), 3, False),
        (None, 0, False),  # an invalid request, a login, a plan that is used up
    ],
)
def test_how_often_a_failure_is_tried_again(failure, retries, is_retried):
    assert is_retried == (Policy().judge(failure, retries) is not None)


def test_nothing_is_tried_again_behind_the_total_limit():
    policy = Policy(attempts=10, total_ms=5000, jitter=0)

    assert policy.judge(Failure("network"), 20) is None
    assert policy.judge(Failure("network"), 1, elapsed_ms=3000) is not None
    assert policy.judge(Failure("network"), 1, elapsed_ms=3001) is None


def test_a_wait_that_the_vendor_asks_for_takes_the_place_of_the_pause():
    asked = classify("rate_limit", "Too many requests, retry after 30s")

    assert 30_000 == Policy().judge(asked, 0).delay_ms
    assert 1000 == Policy(jitter=0).judge(classify("rate_limit", "retry after 0 s"), 0).delay_ms


def test_a_wait_beyond_the_cap_is_not_waited_for():
    assert Policy().judge(classify("rate_limit", "Please try again in 3 days"), 0) is None


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (408, "rate_limit"),
        (429, "rate_limit"),
        (500, "server_error"),
        (502, "server_error"),
        (503, "server_error"),
        (529, "server_error"),
        (400, None),
        (401, None),
        (404, None),
    ],
)
def test_causes_of_http_words(status, cause):
    assert cause == cause_of_status(status)


@pytest.mark.parametrize(
    ("code", "message", "cause"),
    [
        ("rate_limit", "API Error: Server is temporarily limiting requests (not your usage limit)", "rate_limit"),
        ("server_error", "", "server_error"),
        ("overloaded", "", "server_error"),
        ("httpConnectionFailed", "error sending request for url", "network"),
        ("unknown", "API Error: Unable to connect to API (ECONNREFUSED)", "network"),
        ("unknown", "API Error: Unable to connect to API (ETIMEDOUT)", "timeout"),
        ("", "We\u2019re currently experiencing high demand", "server_error"),
        ("", "exceeded retry limit, last status: 429 Too Many Requests", "rate_limit"),
        ("", "request timed out", "timeout"),
        ("", "You've hit your weekly limit \u00b7 resets 9pm (UTC)", None),
        ("", "Failed to authenticate. API Error: 401", None),
        ("", "you typed nonsense", None),
        ("usage_limit", "503 service unavailable", None),  # the code is surer than the sentence
        ("unauthorized", "connection refused", None),
        ("invalid_request", "500 is no model", None),
        ("timed_out", "codex did not answer within 120 s", None),  # it may have the order
        ("process_lost", "", None),
    ],
)
def test_what_a_driver_says_of_a_failure(code, message, cause):
    failure = classify(code, message)

    assert cause == (None if failure is None else failure.cause)


@pytest.mark.parametrize(
    ("message", "wait_ms"),
    [
        ("Retry-After: 7", 7000),
        ("Please try again in 1.5s.", 1500),
        ("try again in 250ms", 250),
        ("retry after 2 minutes", 120_000),
        ("try again at 5:56 AM", 0),
        ("", 0),
    ],
)
def test_waits_in_sentences(message, wait_ms):
    assert wait_ms == find_wait_ms(message)


@pytest.mark.parametrize(
    ("event", "stop", "text"),
    [
        (("network", 1, 5000, False), "Esc", "Retry 1/3 in 5 s: network. Esc: stop"),
        (("timeout", 2, 10_000, False), "", "Retry 2/3 in 10 s: timeout"),
        (("rate_limit", 1, 30_000, True), "", "Retry 1/3 in 30 s: rate limit, retry after 30 s"),
        (("server_error", 1, 1049, False), "", "Retry 1/3 in 1 s: server error"),
    ],
)
def test_what_is_said_while_a_turn_waits(event, stop, text):
    cause, attempt, delay_ms, is_asked = event
    told = TurnRetrying("", attempt=attempt, attempts=3, delay_ms=delay_ms, cause=cause, is_asked=is_asked)

    assert text == describe_retry(told, stop)


def test_what_a_cli_tries_by_itself_is_told_in_its_words():
    assert "tries again: Reconnecting... 2/5" == describe_retry(TurnRetrying("Reconnecting... 2/5"))

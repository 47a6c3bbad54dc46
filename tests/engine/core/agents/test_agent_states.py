"""The states of a running agent (vectors 1, 2, 5, 27, 28)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.agents import states
from oulipoly_engine.core.agents.states import AGENT, Standing, advance, backoff_s, is_retried
from oulipoly_engine.errors import AgentStateInvalid


def test_statuses_have_names_by_their_numbers():
    names = [states.status_name(number) for number in (*range(8), 99, -1)]

    assert names == [
        *("pulling", "starting", "ready", "working", "stopped", "failed", "removing", "removed"),
        *("unknown", "unknown"),
    ]


def test_reasons_have_names_by_their_numbers():
    names = [states.reason_name(number) for number in (*range(7), 7)]

    assert names == ["", "pull", "init", "config", "model", "readiness_timeout", "crashed", "unknown"]


@pytest.mark.parametrize(
    ("path", "end"),
    [
        (("image_ready", "answer", "work", "rest"), Standing("ready")),
        (("fail:pull",), Standing("failed", "pull")),
        (("fail:pull", "start"), Standing("pulling")),
        (("image_ready", "fail:config"), Standing("failed", "config")),
        (("image_ready", "time_out"), Standing("failed", "readiness_timeout")),
        (("image_ready", "answer", "work", "crash"), Standing("failed", "crashed")),
        (("stop",), Standing("stopped")),
        (("image_ready", "stop", "start", "image_ready", "answer"), Standing("ready")),
        (("image_ready", "answer", "remove", "clean_up"), Standing("removed")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_agent_goes_the_way_of_the_table(path, end):
    standing = Standing()
    for step in path:
        event, _, reason = step.partition(":")
        standing = advance(standing, event, reason)

    assert standing == end


@pytest.mark.parametrize(
    ("status", "event", "words"),
    [
        ("ready", "start", "already running"),
        ("starting", "start", "already running"),
        ("removed", "start", "removed"),
        ("removing", "start", "removing"),
        ("stopped", "answer", "stopped cannot answer"),
        ("removed", "remove", "removed"),
    ],
)
def test_event_that_cannot_come_is_refused_by_the_status(status, event, words):
    with pytest.raises(AgentStateInvalid, match=words):
        advance(Standing(status), event)


@given(st.lists(st.sampled_from(sorted({event for _, event in AGENT}))))
def test_only_the_failed_have_a_reason_and_the_removed_stay(events):
    standing = Standing()
    for event in events:
        before = standing
        try:
            standing = advance(standing, event, "pull")
        except AgentStateInvalid:
            continue

        assert (standing.status == "failed") == bool(standing.reason)
        assert before.status != "removed"


def test_exit_leaves_what_failed_or_goes_as_it_is():
    changed = [status for status in states.STATUSES if states.is_changed_by_exit(status)]

    assert changed == ["pulling", "starting", "ready", "working", "stopped"]


def test_pauses_double_up_to_their_cap():
    pauses = [backoff_s(failures, 1, 10) for failures in (0, 1, 2, 3, 4, 10, 33, -1)]

    assert pauses == [1, 2, 4, 8, 10, 10, 10, 1]


def test_only_what_may_pass_by_itself_is_tried_again():
    retried = [reason for reason in states.REASONS if is_retried(Standing("failed", reason))]

    assert retried == ["pull", "init", "model"]
    assert not any(is_retried(Standing(status)) for status in ("stopped", "ready"))

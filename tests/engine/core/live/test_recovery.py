"""The scan after a restart: every turn that was left is recoverable, blocked or ignored."""

import pytest

from oulipoly_engine.core.live.recovery import Blocked, Ignored, LeftTurn, Recoverable, plan_json, plan_recovery
from oulipoly_engine.core.live.runtime_status import (
    Degraded,
    Disabled,
    Failed,
    Initializing,
    MissingBinary,
    NeedsAuth,
    Ready,
    SpawnFailed,
    UnsupportedVersion,
)


def _turn(status="running", runtime="work", turn="t1", **more):
    return LeftTurn(turn, "s1", runtime, status, **more)


def test_each_turn_that_cannot_go_on_says_why_and_how():  # vector 25
    turns = [
        _turn("starting", "gone", "t1"),
        _turn("running", "missing", "t2"),
        _turn("running", "logged-out", "t3"),
        _turn("completed", "ready", "t4"),
    ]
    statuses = {"missing": MissingBinary("/bad/codex"), "logged-out": NeedsAuth(), "ready": Ready()}

    plans = plan_recovery(turns, statuses)

    assert ["cli_runtime_missing", "cli_runtime_missing_binary", "cli_runtime_needs_auth"] == [
        plan.reason_class for plan in plans
    ]
    assert ["turn.resume:t1", "turn.resume:t2", "turn.resume:t3"] == [plan.resume_command for plan in plans]
    assert all(plan.can_resume_same_turn and len(plan.resume_requirements) == 2 for plan in plans)
    assert "/bad/codex" in plans[1].human_message
    assert all(plan.reason == plan.human_message for plan in plans)


@pytest.mark.parametrize("status", [Ready(), Initializing(), Degraded("never started")])
def test_a_turn_on_a_usable_runtime_is_recoverable(status):  # vector 26
    assert isinstance(plan_recovery([_turn()], {"work": status})[0], Recoverable)


@pytest.mark.parametrize("runtime", ["work", "gone"])
def test_a_turn_that_is_over_or_not_there_is_ignored(runtime):  # vector 27
    plans = plan_recovery([_turn(runtime=runtime, is_known=False)], {"work": Ready()})

    assert isinstance(plans[0], Ignored)


@pytest.mark.parametrize(
    ("status", "reason", "requirement"),
    [
        (Disabled(), "cli_runtime_disabled", "enable_runtime"),
        (MissingBinary(), "cli_runtime_missing_binary", "install_binary"),
        (NeedsAuth(), "cli_runtime_needs_auth", "log_in"),
        (SpawnFailed("no interpreter"), "cli_runtime_spawn_failed", "fix_startup"),
        (UnsupportedVersion("0.1", "0.60"), "cli_runtime_unsupported_version", "update_version"),
        (Failed("nonsense"), "cli_runtime_error", "fix_error"),
    ],
)
def test_every_status_that_blocks_has_a_class_and_a_way_out(status, reason, requirement):
    plan = plan_recovery([_turn()], {"work": status})[0]

    assert isinstance(plan, Blocked)
    assert (reason, requirement) == (plan.reason_class, plan.requirement)
    assert "'work'" in plan.human_message


def test_the_document_sorts_plans_by_what_is_to_be_done():
    turns = [_turn(turn="a"), _turn(turn="b", runtime="gone"), _turn(turn="c", is_known=False)]

    document = plan_json(plan_recovery(turns, {"work": Ready()}))

    assert ["a", "b", "c"] == [document[key][0]["turn_id"] for key in ("recoverable", "blocked", "ignored")]
    assert "turn.resume:b" == document["blocked"][0]["resume_command"]

"""Whether a resumed session moves to another account."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.balance.decision import Candidate
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.core.sessions.move import Move, MoveReason, decide_move

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def account(index, name, *used, hours=5, marked=False, **more):
    windows = tuple(Window(place, share, NOW + timedelta(hours=hours), 0.01, 20) for place, share in enumerate(used))
    quota = QuotaState(name, windows, refreshed_at=NOW, exhausted_at=NOW if marked else None)
    return Candidate(index, name, quota, **more)


def move(*candidates, active="a", movable="abc", target=None):
    return decide_move(candidates, active, set(movable), NOW, target)


@pytest.mark.parametrize(
    ("candidates", "more"),
    [
        ([account(0, "a", 0.9)], {}),
        ([account(0, "b", 0.9), account(1, "c")], {}),
        ([account(0, "a", 0.9), account(1, "b")], {"movable": "b"}),
        ([account(0, "a", 0.9), account(1, "b")], {"movable": "a"}),
        ([account(0, "a", 0.1), account(1, "b", 0.2)], {}),
        ([account(0, "a", 0.2), account(1, "b", 0.2)], {}),
        ([account(0, "a", 0.2), account(1, "b", 0.1, marked=True)], {}),
        ([account(0, "a", 0.2), account(1, "b", 0.1, drained=True), account(2, "c", disabled=True)], {}),
        ([account(0, "a", 0.2), account(1, "b")], {"target": "z"}),
        ([account(0, "a", 0.2), account(1, "b")], {"target": "a"}),
        ([account(0, "a", 0.2), account(1, "b")], {"target": "b", "movable": "a"}),
    ],
    ids=[
        "single pool",
        "owner not in pool",
        "owner not movable",
        "nobody takes it",
        "owner least loaded",
        "tie with a later one",
        "the other is marked",
        "the others take no new work",
        "target not in pool",
        "target is the owner",
        "target not movable",
    ],
)
def test_session_stays(candidates, more):
    assert move(*candidates, **more) is None


def test_less_loaded_account_takes_the_session():
    assert Move(1, "b", MoveReason.QUOTA_THRESHOLD) == move(account(0, "a", 0.8), account(1, "b", 0.3))


def test_load_is_the_worst_window_whatever_its_length():
    assert Move(2, "c", MoveReason.QUOTA_THRESHOLD) == move(
        account(0, "a", 0.8), account(1, "b", 0.1, 0.7), account(2, "c", 0.6, 0.6)
    )


def test_load_counts_turns_since_the_reading_and_no_past_window():
    assert Move(2, "c", MoveReason.QUOTA_THRESHOLD) == move(
        account(0, "a", 0.3, turns_since_refresh=900), account(1, "b", 0.5), account(2, "c", 0.9, hours=-1)
    )


def test_load_without_a_rate_is_the_last_reading():
    unlearned = QuotaState("b", (Window(7, 0.9, NOW + timedelta(hours=5)),), refreshed_at=None)

    assert move(account(0, "a", 0.3), Candidate(1, "b", unlearned)) is None


def test_exhausted_owner_gives_the_session_to_the_least_loaded_other():
    assert Move(2, "c", MoveReason.EXHAUSTED) == move(
        account(0, "a", 0.0, marked=True), account(1, "b", 0.6), account(2, "c", 0.3)
    )


def test_exhausted_owner_gives_the_session_away_even_when_all_are_marked():
    assert Move(1, "b", MoveReason.EXHAUSTED) == move(
        account(0, "a", 0.0, marked=True), account(1, "b", 0.6, marked=True)
    )


def test_named_account_takes_the_session_whatever_its_load():
    assert Move(1, "b", MoveReason.MANUAL) == move(account(0, "a", 0.1), account(1, "b", 0.9, drained=True), target="b")

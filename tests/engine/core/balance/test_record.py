"""How right decisions have been, in figures, a sentence and a table; and what taking the accounts in turn would do."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from oulipoly_engine.core.balance.balance import Candidate, choose, decision_to_json
from oulipoly_engine.core.balance.record import (
    CountedRun,
    DecisionRecord,
    WindowShare,
    make_pool_records,
    record_text,
    record_to_json,
)
from oulipoly_engine.core.balance.replay import PastDecision, Replay, Start, replay
from oulipoly_engine.core.checks.finding import Severity
from oulipoly_engine.core.checks.work import judge_choices
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import prepare

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
RATE = 0.01  # of a window a turn


def run(model="m", expected=10.0, turns=10, *shares):
    return CountedRun(model, expected, turns, tuple(WindowShare("weekly", *share) for share in shares))


def decide(used, chosen, marked=()):
    """Return the decision that begins a run on `chosen`, with accounts of so much use."""
    pool = []
    for index, (name, share) in enumerate(used.items()):
        windows = (Window(0, share, NOW + timedelta(hours=50), 20 * RATE, 20, "weekly"),)
        state = QuotaState(name, windows, NOW, exhausted_at=NOW if name in marked else None)
        pool.append(Candidate(index, name, state))
    document = decision_to_json(choose("m", pool, NOW)) | {"account": chosen}
    return msgspec.convert(document, prepare(PastDecision))


def starts(used, chosen, count, turns=10, **more):
    return [Start(chosen, decide(used, chosen, **more), turns, is_refused=False)] * count


def test_errors_are_factors_and_their_middle():
    runs = [run(turns=10), run(turns=5), run(turns=30), run(turns=20), run(turns=1)]
    (pool,) = make_pool_records(runs)

    assert (5, 10.0, 13.2, 2.0, 2) == (pool.runs, pool.expected_turns, pool.turns, pool.median_error, pool.far_off)


def test_windows_are_compared_by_their_sums():
    (pool,) = make_pool_records([run("m", 10, 10, (0.02, 0.0)), run("m", 10, 10, (0.02, 0.08)), run()])
    (window,) = pool.windows

    assert ("weekly", 2, 0.02, 0.04, 2.0) == (
        window.window,
        window.runs,
        window.expected,
        window.happened,
        window.error,
    )


def test_the_record_as_text_has_a_unit_behind_each_number():
    record = DecisionRecord(NOW, make_pool_records([run("m", 15, 60, (0.02, 0.01))]), Replay("fewest-calls", 60, 9, 4))

    assert record_text(record).splitlines() == [
        "Of 1 runs since 2026-11-20, 1 (100 %) took more than twice the turns expected, or less than half; half of the "
        "runs were within 4.0 times in m.",
        "Of 60 prompts since 2026-11-20, 9 starts were on an account that refused or could not hold them by "
        "fewest-calls; taken in turn, 4 would have been.",
        "",
        "pool  what    runs  expected a run  happened a run  error             more than twice off",
        "m     turns   1     15.0 turns      60.0 turns      4.0 times         1 (100 %)",
        "m     weekly  1     2 %             1 %             2.0 times in sum  -",
    ]
    assert {"since", "pools", "replay"} == record_to_json(record).keys()


def test_without_a_counted_run_it_says_when_there_will_be():
    assert "No run since 2026-11-20 was counted" in record_text(DecisionRecord(NOW, (), None))


def test_a_few_prompts_are_not_replayed():
    assert replay(starts({"a": 0.1, "b": 0.1}, "a", 49)) is None
    assert 50 == replay(starts({"a": 0.1, "b": 0.1}, "a", 50)).prompts


def test_a_rule_that_stays_on_a_full_account_is_worse_than_the_rotation():
    found = replay(starts({"a": 0.995, "b": 0.0, "c": 0.0}, "a", 60, turns=1))

    assert (60, True) == (found.bad_starts, found.is_worse)
    assert found.bad_starts_in_turn < 20


def test_a_rule_that_avoids_the_full_account_is_not():
    found = replay(starts({"a": 0.95, "b": 0.0, "c": 0.0}, "b", 60, turns=0.5))
    avoided = replay(starts({"a": 0.95, "b": 0.0}, "b", 60, turns=8))

    assert (0, False) == (found.bad_starts, found.is_worse)
    assert avoided.bad_starts_in_turn > 0 == avoided.bad_starts


def test_use_that_the_rotation_moves_counts_against_it():
    """Each would begin every other prompt on b, until that is full; what the readings say of b is the rule's."""
    found = replay(starts({"a": 0.0, "b": 0.5}, "a", 60, turns=2))

    assert 0 == found.bad_starts < found.bad_starts_in_turn


def test_an_attempt_that_was_refused_is_no_prompt_of_its_own():
    pool = {"a": 0.5, "b": 0.5}
    refused = Start("a", decide(pool, "a"), 15, is_refused=True)
    again = starts(pool, "b", 1, turns=0.1)

    found = replay([refused, *again, *starts(pool, "b", 59, turns=0.1)])
    assert (60, 1, 1) == (found.prompts, found.bad_starts, found.bad_starts_in_turn)


@pytest.mark.parametrize(
    ("counts", "severities"),
    [((60, 9, 4), [Severity.WARNING]), ((60, 4, 4), [Severity.OK]), ((60, 6, 4), [Severity.OK]), (None, [])],
)
def test_the_doctor_tells_of_a_rule_that_is_clearly_worse(counts, severities):
    found = Replay("fewest-calls", *counts) if counts else None

    assert severities == [one.severity for one in judge_choices(DecisionRecord(NOW, (), found))]

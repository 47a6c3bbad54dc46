"""What has begun and was not read yet is charged to its account, until it ends."""

from datetime import UTC, datetime, timedelta

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Model, PoolMember, Settings
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.service.quota.choose import candidates, decide, expect_turns
from oulipoly_engine.store.runs import expectations, invocations
from oulipoly_engine.store.transcripts import entries

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
POOL = Model("m", tuple(map(PoolMember, range(2), ("a", "b"))))


def begin(store, uuid, account="a", turns=15.0, **more):
    new = invocations.NewInvocation(uuid, "m", account, 0, AT, expected_turns=turns, **{"project": "/p"} | more)
    return invocations.begin(store, new)


def say(store, session_id, count, account="a", start=AT):
    at = [to_text(start + timedelta(seconds=second + 1)) for second in range(count)]
    lines = [
        EntryLine(session_id, f"{session_id}-{start}-{number}", at[number], "assistant") for number in range(count)
    ]
    with store.write():
        entries.insert_new(store, account, lines, AT)


def promised(store, now=AT):
    return [each.promised_turns for each in candidates(store, POOL, now)]


def end(store, row, session_id=None, *, success=True, count=True):
    finished = AT + timedelta(minutes=5)
    invocations.end(store, row, Outcome(success, int(not success), finished, session_id=session_id))
    if count:
        expectations.count_turns(store, "a", finished)


def test_a_run_is_charged_until_it_ends(quota):
    row = begin(quota.store, "u1")
    begin(quota.store, "u2", "b", 20.0)

    assert [15, 20] == promised(quota.store)
    end(quota.store, row)
    assert [0, 20] == promised(quota.store)


def test_turns_that_were_read_count_down(quota):
    begin(quota.store, "u1", planned_session="s1")
    say(quota.store, "s1", 4)
    say(quota.store, "s1", 3, account="b")
    say(quota.store, "s1", 5, start=AT - timedelta(hours=1))  # what it goes on with

    assert [11, 0] == promised(quota.store)


def test_turns_of_a_session_that_nobody_has_named_count_down(quota):
    begin(quota.store, "u1")
    begin(quota.store, "u2", session_id="known")
    say(quota.store, "known", 2)
    say(quota.store, "old", 1, start=AT - timedelta(minutes=1))
    say(quota.store, "old", 7)
    say(quota.store, "new", 3)

    assert [12 + 13, 0] == promised(quota.store)
    assert 1 + 13 == promised(quota.store, AT + timedelta(hours=2))[0]


def test_what_may_be_idle_is_not_charged(quota):
    begin(quota.store, "u1", turns=None)

    (idle, _) = candidates(quota.store, POOL, AT)
    assert (1, 0.0) == (idle.running, idle.promised_turns)


def test_lengths_are_learned_from_runs_that_did_well(quota):
    for number, (turns, success) in enumerate([(30, True), (30, True), (1, False), (30, True)]):
        say(quota.store, f"s{number}", turns)
        end(quota.store, begin(quota.store, f"u{number}", session_id=f"s{number}"), success=success)

    assert 3 == expect_turns(quota.store, "m", "/p").runs
    assert 20 < expect_turns(quota.store, "m", "/elsewhere").turns < expect_turns(quota.store, "m", "/p").turns < 30
    assert 15 == expect_turns(quota.store, "other", "/p").turns
    assert 3 == decide(quota.store, POOL, Settings(), AT, project="/p").expected.runs


def test_a_run_whose_transcript_was_not_found_teaches_nothing_until_it_is(quota):
    end(quota.store, begin(quota.store, "u1", session_id="s1"))
    assert 0 == expect_turns(quota.store, "m", "/p").runs

    say(quota.store, "s1", 9)
    expectations.count_turns(quota.store, "a", AT + timedelta(minutes=4))  # it may have written since then
    assert 0 == expect_turns(quota.store, "m", "/p").runs

    for _ in range(2):
        expectations.count_turns(quota.store, "a", AT + timedelta(minutes=6))
    assert 1 == expect_turns(quota.store, "m", "/p").runs

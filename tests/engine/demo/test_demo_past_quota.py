"""The made-up use of an account's quota: believable, repeatable, and ending where the account stands."""

import pytest

from oulipoly_demo.past.homes import HABITS, SEED
from oulipoly_demo.past.quota import DAY, LONG_S, SHORT_S, account_past
from oulipoly_demo.world_files import ACCOUNTS

NOW = 1_763_600_000.0


def past_of(account, now=NOW):
    return account_past(account, ACCOUNTS[account], HABITS[account], now, SEED)


def shares(tiers):
    return {tier.kind: round(tier.spent / tier.capacity, 2) for tier in tiers}


@pytest.mark.parametrize("account", ACCOUNTS)
def test_last_reading_is_the_state_that_the_habit_names(account):
    habit = HABITS[account]

    found = shares(past_of(account).readings[-1].tiers)

    assert {"short": (habit.short or (0,))[0], "long": (habit.long or (0,))[0]} == found


@pytest.mark.parametrize("account", ACCOUNTS)
def test_use_never_falls_inside_a_cycle_and_never_exceeds_the_window(account):
    last = {}
    for shown in past_of(account).readings:
        for tier in shown.tiers:
            key = tier.kind, tier.resets_at
            assert last.get(key, 0) <= tier.spent <= tier.capacity
            last[key] = tier.spent


@pytest.mark.parametrize("account", ACCOUNTS)
def test_two_to_three_weeks_of_cycles_with_nights_and_resets(account):
    past = past_of(account)

    assert 14 * DAY < NOW - past.readings[0].at < 24 * DAY
    assert len(past.cycles) > 15
    assert all(
        after.begin >= before.begin + SHORT_S for before, after in zip(past.cycles, past.cycles[1:], strict=False)
    )
    assert all(after[0] >= before[0] + LONG_S for before, after in zip(past.longs, past.longs[1:], strict=False))


@pytest.mark.parametrize("account", ACCOUNTS)
def test_every_ended_cycle_was_read_shortly_before_its_reset(account):
    ended = past_of(account).ended

    assert ended
    assert all(0 < one.resets_at - one.last_read_at < 10 * 60 for one in ended)
    assert any(one.unused > 0.1 for one in ended)


def test_two_births_differ_by_the_hour_alone():
    early, late = past_of("demo-claude2"), past_of("demo-claude2", NOW + 100 * DAY)

    assert [round(100 * DAY, 1)] * len(early.readings) == [
        round(after.at - before.at, 1) for before, after in zip(early.readings, late.readings, strict=True)
    ]


def test_fresh_account_was_idle_of_late_but_not_always():
    past = past_of("demo-claude3")

    assert all(tier.resets_at is None for tier in past.readings[-1].tiers)
    assert past.cycles[-1].begin < NOW - 2 * DAY

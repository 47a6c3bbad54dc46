"""The demo accounts' quota as values."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tokens

NOW = 1_800_000_000.0
HOUR = 3600.0


def short_of(tiers):
    return next(tier for tier in tiers if tier.kind == "short")


def test_fresh_window_begins_with_its_first_use():
    fresh = levels.fresh("claude")

    after = levels.charge(fresh, 100, NOW)

    assert [None, None] == [tier.resets_at for tier in fresh]
    assert NOW + 5 * HOUR == short_of(after).resets_at
    assert 100 == short_of(after).spent


def test_second_use_does_not_move_the_reset():
    once = levels.charge(levels.fresh("claude"), 100, NOW)

    twice = levels.charge(once, 100, NOW + HOUR)

    assert short_of(once).resets_at == short_of(twice).resets_at
    assert 200 == short_of(twice).spent


def test_window_is_empty_and_idle_once_its_reset_has_passed():
    used = levels.charge(levels.fresh("claude"), 100, NOW)

    later = levels.advance(used, NOW + 5 * HOUR)

    assert (0, None) == (short_of(later).spent, short_of(later).resets_at)
    assert 100 == later[1].spent


def test_full_window_blocks_until_its_reset():
    full = levels.charge(levels.fresh("claude"), levels.SHORT_CAPACITY, NOW)

    assert "short" == levels.blocking(full, NOW + 1).kind
    assert levels.blocking(full, NOW + 5 * HOUR) is None


def test_longest_blocking_window_is_the_one_that_is_named():
    full = levels.charge(levels.fresh("claude"), levels.LONG_CAPACITY, NOW)

    assert "long" == levels.blocking(full, NOW + 1).kind


@given(st.lists(st.tuples(st.integers(0, 50_000), st.floats(0, 8 * 86400)), max_size=30))
def test_use_stays_between_nothing_and_everything(charges):
    tiers, now = levels.fresh("codex"), NOW
    for units, pause in charges:
        now += pause
        tiers = levels.charge(tiers, units, now)

        assert all(0 <= tier.spent <= tier.capacity for tier in tiers)
        assert all(now < tier.resets_at <= now + tier.length_s for tier in tiers)


def test_report_is_what_the_contract_asks_of_a_quota_script():
    report = levels.report(levels.charge(levels.fresh("codex"), 4000, NOW), NOW)

    assert ["weekly", "5h"] == [window["label"] for window in report["windows"]]
    assert [1.0, 10.0] == [window["used_percent"] for window in report["windows"]]
    assert NOW + 5 * HOUR == datetime.fromisoformat(report["windows"][1]["resets_at"]).timestamp()


def test_idle_window_is_reported_with_a_reset_all_the_same():
    report = levels.report(levels.fresh("claude"), NOW)

    assert [0.0, 0.0] == [window["used_percent"] for window in report["windows"]]
    assert all(window["resets_at"] for window in report["windows"])


def test_shortened_windows_keep_use_and_progress():
    used = levels.charge(levels.fresh("claude"), 4000, NOW)

    short = levels.with_lengths(used, "claude", NOW + HOUR, short=True)

    assert ("5min", 300, 4000) == (short[0].label, short[0].length_s, short[0].spent)
    assert NOW + HOUR + 240 == short[0].resets_at


@pytest.mark.parametrize(("dear", "cheap"), [("demo-opus-1", "demo-gpt-1"), ("demo-gpt-1", "demo-haiku-1")])
def test_dearer_model_costs_more(dear, cheap):
    assert levels.cost(dear, Tokens(10, 50)) > levels.cost(cheap, Tokens(10, 50))


def test_longer_answer_costs_more_and_the_hugest_a_quarter_of_a_window():
    assert levels.cost("x", Tokens(1, 100)) > levels.cost("x", Tokens(1, 10))
    assert levels.SHORT_CAPACITY // 4 == levels.cost("x", Tokens(1, 10**9))

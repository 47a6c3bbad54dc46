"""Forecasts replayed against what came, and what resets threw away."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.quota.forecast import Reading
from oulipoly_engine.core.quota.forecast_score import complete_cycles, score, score_text, score_to_json

START = datetime(2026, 3, 2, tzinfo=UTC)


def cycle(number, final, *, until=299, every=10):
    """A 5 h cycle of even use, read from its beginning to `until` minutes after it."""
    begin = START + timedelta(hours=5 * number)
    minutes = [*range(0, until, every), until]
    return [
        Reading(begin + timedelta(minutes=minute), final * minute / 300, begin + timedelta(hours=5))
        for minute in minutes
    ]


def history(*finals, **how):
    return [reading for number, final in enumerate(finals) for reading in cycle(number, final, **how)]


def test_even_use_is_forecast_well():
    found = score(history(0.3, 0.6, 0.5, 0.1))

    assert (3, 9) == (found.cycles, found.forecasts)
    assert found.mean_error < 0.02
    assert found.covered == 1


def test_work_that_stops_is_overestimated():
    stopped = [Reading(one.at, min(one.used, 0.3), one.resets_at) for one in history(0.9, 0.9, 0.9) for _ in range(1)]

    assert score(stopped, points=(0.3,)).bias == pytest.approx(0.6, abs=0.05)


def test_running_dry_is_scored_by_time():
    dry = [Reading(one.at, min(one.used, 1.0), one.resets_at) for one in history(1.5, 1.5, 0.1)]
    found = score(dry, points=(0.5,))

    assert 2 == found.dry_forecasts
    assert found.dry_error_h < 0.25


@pytest.mark.parametrize(
    "readings",
    [[], history(0.5), history(0.5, 0.5), history(0.5, 0.5, 0.5, 0.5, until=150)],
    ids=["nothing", "the first is not over", "one is over", "ends are unknown"],
)
def test_fewer_than_two_complete_cycles_have_no_score(readings):
    assert score(readings) is None


def test_only_the_last_cycles_count():
    wild = [Reading(one.at, 0.9 if one.used > 0.2 else 0.0, one.resets_at) for one in cycle(0, 0.5)]

    assert score(history(0.5, 0.4, 0.3, 0.2), cycles=2).mean_error < 0.02
    assert score([*wild, *history(0.5, 0.4, 0.3, 0.2)[31:]], cycles=2) == score(history(0.5, 0.4, 0.3, 0.2), cycles=2)


def test_cycle_that_was_cut_off_is_no_reset():
    cut = [one for one in cycle(0, 0.5) if one.at < START + timedelta(hours=2)]
    anew = [Reading(one.at + timedelta(hours=2), one.used, one.resets_at) for one in cycle(0, 0.1, until=170)]

    assert [anew] == [[*each] for each in complete_cycles([*cut, *anew, *cycle(1, 0.1)])]


def test_broken_readings_do_not_matter():
    readings = history(0.3, 0.6, 0.1)
    broken = [Reading(readings[5].at, math.nan, readings[5].resets_at), *readings]

    assert score(readings) == score(broken)


def test_score_can_be_told():
    found = score(history(0.3, 0.6, 0.5))

    assert "% off over 2 cycles" in score_text(found)
    assert (None, 6) == (score_to_json(found)["dry_error_hours"], score_to_json(found)["forecasts"])

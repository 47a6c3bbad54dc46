"""The rows of the Quota pane: what is known, how old it is, and what is said where nothing is known."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.accounts.accounts import Account, Controls
from oulipoly_engine.core.quota.forecast import Forecast, State
from oulipoly_engine.core.quota.forecast_score import ForecastScore
from oulipoly_engine.core.quota.window_cycles import EndedCycle
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.facade.quota.quota import BurnHistory
from oulipoly_engine.facade.snapshot import AccountView, Snapshot
from oulipoly_engine.records import replace
from oulipoly_engine.service.quota.burn_history import Cycle
from oulipoly_engine.store.quota.quotas import Attempts
from oulipoly_engine.store.quota.readings import Point
from oulipoly_tui.view.quota.quota import bar, even_pace, pace_word, parse_key, quota_rows, record, window_key
from oulipoly_tui.view.transcript.spans import cells, plain

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
WEEK = Window(0, 0.4, NOW + 84 * HOUR, label="weekly")
BURST = Window(1, 0.93, NOW + HOUR, label="5h-burst")


def view(*windows, **more):
    quota = QuotaState("claude1", windows, refreshed_at=NOW - timedelta(minutes=6) if windows else None)
    return AccountView(**{"name": "claude1", "account": Account("claude1"), "quota": quota, "has_source": True, **more})


def text(*views, width=120):
    return [plain(row.line) for row in quota_rows(Snapshot(NOW, tuple(views)), width)]


def test_each_window_has_its_use_pace_reset_and_age():
    heading, week, burst = text(view(WEEK, BURST, is_stale=False))

    assert ["account", "window", "used", "pace", "resets", "in", "read"] == heading.split()
    assert "claude1" in week
    assert all(word in week for word in ("weekly", "40 %", "-10 behind", "3 d 12 h", "6 m ago"))
    assert all(word in burst for word in ("5h-burst", "93 %", "+13 ahead", "1 h 0 m", "! almost exhausted"))
    assert "claude1" not in burst


@pytest.mark.parametrize("width", [30, 38, 60])
def test_a_narrow_pane_shows_bar_age_and_alert_in_words(width):
    rows = text(view(WEEK, BURST, is_stale=True), width=width)

    assert "claude1  read 6 m ago" in rows[0]
    assert "~ old" in rows[0]
    assert all("█" in row for row in rows if " %" in row)
    assert any("! almost exhausted" in row for row in rows)
    assert all(cells(row) <= width for row in rows)


def test_a_window_whose_reset_has_come_is_unknown_not_what_it_was():
    _, row = text(view(replace(BURST, resets_at=NOW - HOUR)))

    assert "?" in row
    assert "has reset" in row
    assert "93" not in row


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "never read"),
        ({"has_source": False}, "no quota script"),
        ({"quota": QuotaState("claude1", refreshed_at=NOW)}, "no windows reported"),
    ],
    ids=["never read", "no source", "none reported"],
)
def test_an_unknown_account_says_why_and_shows_no_zero(more, words):
    _, row = text(view(**more))

    assert f"unknown: {words}" in row
    assert "0 %" not in row


def test_wishes_and_marks_stand_with_the_window():
    _, row = text(view(WEEK, wishes=Controls(drained=True), is_exhausted=True))

    assert "✗ exhausted" in row
    assert "drained" in row


def test_a_failed_try_is_said_while_the_last_reading_is_still_good():
    _, row = text(view(WEEK, is_stale=False, attempts=Attempts(last_failure="the vendor said 500")))

    assert row.rstrip().endswith("! last try failed")
    assert "stale" not in row


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_use_is_shown_at_every_width(width):
    rows = text(view(WEEK, is_stale=False), width=width)

    assert "40 %" in rows[1]
    assert cells(rows[0]) <= max(width, 46)


def test_a_key_gives_back_account_and_window():
    assert ("claude one", "weekly (2)") == parse_key(window_key("claude one", "weekly (2)"))


def test_a_bar_marks_the_even_pace_and_dots_what_is_unknown():
    assert ("████░┃░░░░", "··········") == (bar(0.4, 10, 0.5), bar(None, 10))
    assert ("██████████", "░░░░░░░░░░") == (bar(1.7, 10), bar(0.0, 10))


def test_an_even_pace_needs_a_known_length():
    assert 0.5 == even_pace(WEEK, NOW)
    assert even_pace(replace(WEEK, label=None), NOW) is None
    assert ("?", "dim") == pace_word(replace(WEEK, label=None), NOW)
    assert ("on pace", "good") == pace_word(replace(WEEK, used=0.52), NOW)


DRY = Forecast(State.RUNS_DRY, NOW, 0.5, NOW + 4 * HOUR, NOW + 2 * HOUR, NOW + HOUR, NOW + 3 * HOUR, 0.2, 1.0, 0.9, 1.0)


def expected_line(mean_error, forecast=DRY, used=(0.4, 0.5), *, width=1000, has_alert=False):
    """Return what is said of a forecast, and its tone. used: of a reading an hour ago, and of one just now."""
    points = tuple(Point(NOW - HOUR + place * HOUR, value, NOW + 4 * HOUR) for place, value in enumerate(used))
    score = None if mean_error is None else ForecastScore(8, 20, mean_error, 0.0, 0.8, 0, None)
    cycles = (Cycle(NOW - HOUR, NOW + 4 * HOUR, points, None),)
    found = BurnHistory("a", "5h", NOW - 9 * HOUR, NOW, NOW, 5 * HOUR, cycles, forecast, score)
    line = record(found, width, has_alert=has_alert)[1]
    return plain(line), line[0][1]


def test_a_minute_is_told_where_such_forecasts_were_right_before():
    text, tone = expected_line(0.08)

    assert "runs out about" in text
    assert "warn" == tone
    assert "bad" == expected_line(0.08, has_alert=True)[1]


@pytest.mark.parametrize("mean_error", [0.12, None])
def test_a_range_without_a_minute_is_told_where_they_were_far_off(mean_error):
    text, _tone = expected_line(mean_error)

    assert "runs out between" in text
    assert ":" not in text
    assert "or lasts to the reset" in expected_line(mean_error, replace(DRY, latest=None))[0]
    assert cells(expected_line(mean_error, width=40)[0]) <= 40


def test_it_is_said_since_when_nothing_was_used():
    assert "nothing used since" in expected_line(0.2, used=(0.5, 0.5))[0]
    assert "nothing used since" not in expected_line(0.2)[0]


@pytest.mark.parametrize(("read_before", "said"), [(10, "46 % at"), (90, "at most 46 % at")])
def test_what_a_reset_threw_away_is_at_most_what_an_old_reading_left(read_before, said):
    reset = NOW - 2 * HOUR
    read = reset - timedelta(minutes=read_before)
    ended = EndedCycle("5h", reset, 0.46, read)
    past = Cycle(reset - 5 * HOUR, reset, (Point(read, 0.54, reset),), ended)

    told = plain(record(BurnHistory("a", "5h", NOW - 9 * HOUR, NOW, NOW, 5 * HOUR, (past,)))[-1])

    assert f"unused    {said}" in told

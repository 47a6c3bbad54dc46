"""Numbers as people read them: one form each."""

from datetime import datetime, timedelta

import pytest

from oulipoly_engine.core.text.quantities import clock, duration, headroom, hours, local, parse_clock, percent

NOW = datetime(2026, 11, 22, 12).astimezone()


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.94, "94 %"), (0.094, "9.4 %"), (0.05, "5 %"), (0.0999, "10 %"), (0, "0 %"), (1, "100 %"), (None, "?")],
)
def test_a_share_has_one_decimal_only_below_ten(share, text):
    assert text == percent(share)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "5 s"), (120, "2 m"), (9780, "2 h 43 m"), (273_600, "3 d 4 h"), (-1, "0 s")],
)
def test_a_length_has_its_two_largest_units(seconds, text):
    assert text == duration(timedelta(seconds=seconds)) == hours(seconds / 3600)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (NOW - timedelta(hours=1), "Sun 11:00"),
        (NOW + timedelta(days=5), "Fri 12:00"),
        (NOW + timedelta(days=8), "2026-11-30 12:00"),
    ],
)
def test_a_time_is_of_its_weekday_within_a_week(at, text):
    assert text == clock(at, NOW)


@pytest.mark.parametrize("at", ["2026-11-20T17:00Z", "2026-11-20T17:00:00Z", "2026-11-20T17:00:00.000000Z"])
def test_a_sentence_says_local_times_and_keeps_what_is_not_its_own(at):
    shown = clock(datetime.fromisoformat(at), NOW)

    assert f"spent until {shown}; or so. Until {shown}." == local(f"spent until {at}; or so. Until {at}.", NOW)
    for kept in (f"'{at}' is not a day", f"/w/{at}.jsonl", f"log-{at}-1", f"at={at}", f"{at}.gz is gone"):
        assert kept == local(kept, NOW)


def test_headroom_is_one_number_and_unknown_is_said():
    assert ("0.7", "168.0", "?") == (headroom(0.7), headroom(168), headroom(None))


@pytest.mark.parametrize("passed", [timedelta(minutes=1), timedelta(days=5, hours=23), timedelta(days=40)])
def test_a_time_that_is_shown_can_be_read_again(passed):
    now = datetime(2026, 11, 20, 12, 30).astimezone()

    assert now - passed == parse_clock(clock(now - passed, now), now)


@pytest.mark.parametrize("text", ["yesterday", "Fri", "08:00", "Fri 25:00", "2026-11-20", ""])
def test_another_text_is_no_shown_time(text):
    assert parse_clock(text, datetime(2026, 11, 20, 12, 30).astimezone()) is None

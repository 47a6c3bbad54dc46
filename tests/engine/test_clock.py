"""The one text form of instants: it is fixed, it is read back, and no instant in it is beyond some zone's calendar."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.clock import from_text, to_text

ZONES = st.integers(-14 * 60 + 1, 14 * 60 - 1).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=ZONES))
def test_what_is_read_is_read_back_and_has_a_local_time_everywhere(instant):
    try:
        found = from_text(instant.isoformat())
    except ValueError:
        assert instant.year in (1, 9999)
        return
    text = to_text(found)

    assert (len("2026-11-20T12:00:00.000000Z"), found) == (len(text), from_text(text))
    for hours in (-14, 14):
        found.astimezone(timezone(timedelta(hours=hours, minutes=-1 if hours > 0 else 1)))


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:00",
        "9999-12-31T23:59:59Z",
        "9999-12-31T23:59:59-23:00",
        "2026-11-20T12:00:00",
        "1-01-01T00:00:00Z",
    ],
)
def test_what_no_clock_has_shown_is_no_instant(text):
    with pytest.raises(ValueError, match=r"none that a clock|no zone|Invalid isoformat"):
        from_text(text)


def test_a_year_before_the_thousandth_has_four_digits_too():
    assert "0500-01-01T00:00:00.000000Z" == to_text(datetime(500, 1, 1, tzinfo=UTC))

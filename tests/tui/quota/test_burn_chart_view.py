"""The burn chart, dot by dot: what is drawn where, and that no size or value breaks it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_tui.view.quota.burn_chart import Ahead, Burn, burn_chart, legend_of
from oulipoly_tui.view.transcript.spans import cells, plain

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SPENT = tuple((NOW + part * HOUR, 0.5 + part / 8) for part in range(-4, 1))


def burn(**more):
    values = {"since": NOW - 4 * HOUR, "until": NOW + 4 * HOUR, "now": NOW, "cycles": (SPENT,)}
    return Burn(**{**values, **more})


def column(lines, x):
    """Return what stands in one column of the plot, from above; the scale takes the first six."""
    return "".join(plain(line)[6 + x] for line in lines[:-1])


def tones(lines):
    return {tone for line in lines for _, tone in line}


def test_every_line_is_as_wide_as_asked():
    lines = burn_chart(burn(), 60, 12)

    assert (12, {60}) == (len(lines), {cells(plain(line)) for line in lines})


def test_what_was_used_rises_from_left_to_right_and_stops_now():
    lines = burn_chart(burn(), 86, 21)
    heights = [next((row for row in range(20) if "⠀" < plain(lines[row])[6 + x] <= "⣿"), None) for x in range(80)]

    drawn = [height for height in heights if height is not None]
    assert sorted(drawn, reverse=True) == drawn
    assert (19, 10) == (drawn[0], drawn[-1])
    assert all(height is None for height in heights[42:])


def test_the_forecast_is_dashed_inside_its_band():
    ahead = Ahead((NOW, 0.5), NOW + 3 * HOUR, 0.8, 0.6, 1.0)
    lines = burn_chart(burn(ahead=ahead), 86, 21)
    beyond = "".join(plain(line)[50:70] for line in lines[:-1])

    assert "░" in beyond
    assert "warn" in tones(lines)


def test_running_dry_is_told_by_its_own_tone():
    ahead = Ahead((NOW, 0.5), NOW + 3 * HOUR, 1.0, 0.9, 1.0, is_dry=True)

    assert "bad" in tones(burn_chart(burn(ahead=ahead), 86, 21))
    assert "bad" not in tones(burn_chart(burn(), 86, 21))


def test_a_reset_and_the_present_stand_upright():
    lines = burn_chart(burn(resets=(NOW + 2 * HOUR,), cycles=()), 86, 11)

    assert "┊" * 10 == column(lines, 59)
    assert "│" * 10 == column(lines, 40)


def test_an_even_pace_is_dotted_from_zero_to_full():
    lines = burn_chart(burn(cycles=(), even=((NOW - 4 * HOUR, NOW + 4 * HOUR),)), 86, 21)

    dots = {(x, row) for x in range(80) for row in range(20) if ord(column(lines, x)[row]) > 0x2800}
    assert {(0, 19), (40, 9), (78, 0)} <= dots
    assert all(abs(row - (19 - x / 4)) < 1.5 for x, row in dots)
    assert 40 == len(dots)


def test_the_scale_names_full_half_and_empty():
    lines = [plain(line) for line in burn_chart(burn(), 40, 12)]

    assert lines[0].startswith("100 %┤")
    assert lines[5].startswith(" 50 %┤")
    assert lines[10].startswith("  0 %┤")


@pytest.mark.parametrize("size", [(15, 20), (40, 3), (0, 0)], ids=["narrow", "flat", "nothing"])
def test_where_there_is_no_room_nothing_is_drawn(size):
    assert () == burn_chart(burn(), *size)


@given(
    st.lists(st.tuples(st.integers(-400, 400), st.floats(-1, 2)), max_size=30),
    st.integers(16, 120),
    st.integers(4, 40),
)
def test_no_values_break_it(points, width, height):
    cycle = tuple((NOW + timedelta(minutes=at), used) for at, used in sorted(points))
    ahead = Ahead((NOW, 1.4), NOW - HOUR, 0.2, -1.0, 3.0)
    lines = burn_chart(burn(cycles=(cycle,), ahead=ahead, reserve=0.1), width, height)

    assert (height, {width}) == (len(lines), {cells(plain(line)) for line in lines})


def test_lines_are_labelled_where_nothing_is_hidden():
    top = [plain(line) for line in burn_chart(burn(resets=(NOW + 2 * HOUR,)), 86, 21)[:2]]

    assert "now" in top[0]
    assert "reset┊" in top[0]
    assert top[0].startswith("100 %┤limit")


def test_the_legend_is_drawn_with_the_chart_s_own_signs_and_tones():
    ahead = Ahead((NOW, 0.5), NOW + 3 * HOUR, 1.0, 0.9, 1.0, is_dry=True)
    found = burn(ahead=ahead, even=((NOW - 2 * HOUR, NOW + 3 * HOUR),))
    drawn = {(sign, tone) for line in burn_chart(found, 86, 21) for text, tone in line for sign in text}
    legend = {(sign, tone) for one in legend_of(found) for text, tone in one if tone for sign in text if sign != " "}

    assert {"accent", "dim", "bad"} == {tone for _, tone in legend}
    assert {tone for _, tone in legend} <= {tone for _, tone in drawn}
    assert {("░", "dim")} <= legend & drawn


@pytest.mark.parametrize("width", [28, 60, 120])
@pytest.mark.parametrize(("hours", "days"), [(5, ["20 Nov"]), (30, ["19 Nov", "20 Nov"])])
def test_the_axis_names_days(width, hours, days):
    axis = plain(burn_chart(burn(since=NOW - hours * HOUR), width, 12)[-1])

    assert days[0] in axis
    assert width < 60 or all(day in axis for day in days)
    assert cells(axis) == width

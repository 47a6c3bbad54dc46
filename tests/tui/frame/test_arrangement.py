"""Where the panes stand: one, stacked, two columns, three; the focused one always, nothing outside, no overlap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_tui.view.frame.layout import PaneRectangle, Present, arrange

PANES = (
    Present("pools", "list"),
    Present("quota", "aside", least_width=36),
    Present("sessions", "list", wanted_width=68),
    Present("transcript", "detail", least_width=36),
    Present("repl", "detail", least_width=80),
)


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        pytest.param(49, ["pools"], id="below 50 one"),
        pytest.param(50, ["pools", "quota"], id="from 50 a list above its detail"),
        pytest.param(79, ["pools", "quota"], id="to 79 still"),
        pytest.param(80, ["pools", "sessions", "quota"], id="from 80 side by side"),
        pytest.param(160, ["pools", "sessions", "transcript", "quota"], id="from 160 three columns"),
    ],
)
def test_columns_come_with_the_width(width, expected):
    placed = arrange(PANES, (width, 40), "pools", None)

    assert expected == [one.id for one in placed]


def test_zoom_gives_everything_to_one():
    assert (PaneRectangle("repl", 0, 0, 300, 80),) == tuple(arrange(PANES, (300, 80), "repl", None, zoomed=True))


def test_the_detail_looked_at_last_stays_while_a_list_has_the_keys():
    assert "repl" in [one.id for one in arrange(PANES, (100, 40), "sessions", "repl")]


def test_nothing_is_placed_where_there_is_no_room():
    assert () == arrange(PANES, (0, 0), "pools", None)


@given(
    width=st.integers(1, 300),
    height=st.integers(1, 100),
    focused=st.sampled_from([pane.id for pane in PANES]),
    detail=st.sampled_from([None, "quota", "transcript", "repl"]),
    zoomed=st.booleans(),
)
def test_placed_panes_fill_the_area_without_overlap(width, height, focused, detail, zoomed):
    placed = arrange(PANES, (width, height), focused, detail, zoomed=zoomed)

    assert focused in [one.id for one in placed]
    assert width * height == sum(one.width * one.height for one in placed)
    assert all(0 <= one.x and one.x + one.width <= width for one in placed)
    assert all(0 <= one.y and one.y + one.height <= height for one in placed)


def test_the_list_column_stays_as_it_was_when_the_keys_leave_it():
    size = (120, 40)
    before = [one for one in arrange(PANES, size, "sessions", "repl", listed="sessions") if one.x == 0]
    after = [one for one in arrange(PANES, size, "repl", "repl", listed="sessions") if one.x == 0]

    assert before == after


@pytest.mark.parametrize(
    ("width", "detail", "expected"),
    [
        pytest.param(99, "transcript", 45, id="below 100 their share"),
        pytest.param(100, "transcript", 64, id="what the transcript can do without"),
        pytest.param(120, "transcript", 68, id="what they want"),
        pytest.param(160, "transcript", 68, id="beside a third column too"),
        pytest.param(200, "transcript", 84, id="their share is more"),
        pytest.param(200, "repl", 68, id="a terminal in the middle keeps its 80"),
        pytest.param(120, "repl", 54, id="a terminal needs more"),
    ],
)
def test_lists_have_room_for_their_columns(width, detail, expected):
    placed = {one.id: one for one in arrange(PANES, (width, 40), "sessions", detail)}

    assert expected == placed["sessions"].width
    assert placed[detail].width >= 36


@given(
    width=st.integers(80, 300),
    height=st.integers(1, 100),
    detail=st.sampled_from(["transcript", "repl"]),
    listed=st.sampled_from(["pools", "sessions"]),
)
def test_a_step_from_pane_to_pane_changes_no_width(width, height, detail, listed):
    shown = arrange(PANES, (width, height), detail, detail, listed=listed)
    widths = {
        tuple(
            (one.x, one.width) for one in arrange(PANES, (width, height), each.id, detail, listed=listed) if one.y == 0
        )
        for each in shown
    }

    assert 1 == len(widths)

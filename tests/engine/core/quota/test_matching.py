from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.quota.window_matching import match_windows
from oulipoly_engine.core.quota.windows import ParsedWindow, Window

AT = datetime(2026, 4, 23, 19, tzinfo=UTC)


def window(position, *, label=None, days=0.0):
    return Window(position, 0.1, AT + timedelta(days=days), label=label)


def test_windows_that_swap_places_are_matched_by_label():
    old = (window(0, label="weekly", days=5), window(1, label="5h-burst"))
    new = (window(0, label="5h-burst", days=1), window(1, label="weekly", days=5))

    assert (1, 0) == match_windows(old, new)


def test_hidden_window_does_not_give_its_place_to_another_label():
    assert (1,) == match_windows((window(0, label="weekly"), window(1, label="5h")), (window(0, label="5h"),))
    assert (None,) == match_windows((window(0, label="weekly"),), (window(0, label="5h"),))


def test_unlabelled_window_that_moved_up_is_found_by_its_reset():
    assert (1,) == match_windows((window(0), window(1, days=6)), (window(0, days=6),))


def test_unlabelled_windows_with_new_resets_are_matched_by_place():
    old, new = (window(0), window(1, days=6)), (window(0, days=1), window(1, days=13), window(2, days=30))

    assert (0, 1, None) == match_windows(old, new)


def test_windows_with_equal_resets_keep_their_places():
    assert (0, 1) == match_windows((window(0), window(1)), (window(0), window(1)))


@given(st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.integers(0, 3)), max_size=5), st.data())
def test_no_old_window_is_continued_twice(old, data):
    new = data.draw(st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.integers(0, 3)), max_size=5))
    rows = [
        [window(place, label=label, days=days) for place, (label, days) in enumerate(given)] for given in (old, new)
    ]
    claimed = [index for index in match_windows(*rows) if index is not None]

    assert len(set(claimed)) == len(claimed)


@given(st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.integers(0, 3)), max_size=5))
def test_unchanged_reading_continues_each_window(shape):
    labels = [f"{label}{place}" if label else None for place, (label, _) in enumerate(shape)]
    rows = [window(place, label=labels[place], days=days) for place, (_, days) in enumerate(shape)]

    assert tuple(range(len(rows))) == match_windows(rows, rows)


@pytest.mark.parametrize(("seconds", "place"), [(90, 0), (91, None)])
def test_resets_that_wobble_are_the_same(seconds, place):
    assert (place,) == match_windows((window(1),), (window(0, days=seconds / 86_400),))


def test_parsed_windows_are_matched_with_stored_ones():
    assert (0,) == match_windows((window(0, label="weekly"),), (ParsedWindow(3, 0.2, AT, label="weekly"),))

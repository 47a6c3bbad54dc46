from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.sessions.session_table import SessionRow, age_or_day, remark, render, short_path
from oulipoly_engine.core.text.columns import fit, fit_end, pad, plain, width, wrap

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ROW = SessionRow(
    False,
    "2 h ago",
    "0123456789ab",
    "account-long",
    "claude-opus",
    12,
    "/home/me/work",
    "A name " * 9,
    "at risk in 3 d",
)


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 100, 200])
def test_a_table_keeps_to_its_width_and_shows_id_and_age(columns):
    lines = render([ROW, ROW], columns)

    assert all(width(line) <= max(columns, 44) for line in lines)
    assert all("2 h ago" in line and "01234567" in line for line in lines[1:])


def test_folders_keep_their_end_and_names_their_beginning():
    line = render([ROW], 90)[1]

    assert "…e/me/work" in line
    assert "A name A name A…" in line


def test_control_signs_do_not_reach_the_terminal():
    row = SessionRow(True, "now", "01234567", "a", "m", 1, "/w", "evil\x1b[2J\nname")

    assert "evil [2J name" in render([row], 100)[1]


@pytest.mark.parametrize(
    ("passed", "shown"),
    [
        (timedelta(seconds=20), "20 s ago"),
        (timedelta(minutes=5), "5 m ago"),
        (timedelta(hours=3), "3 h 0 m ago"),
        (timedelta(days=2), "2 d 0 h ago"),
        (timedelta(days=20), "2026-10-31"),
        (-timedelta(days=1), "2026-11-21"),
    ],
)
def test_ages_are_told_in_their_two_largest_units(passed, shown):
    assert shown == age_or_day(NOW - passed, NOW)


@pytest.mark.parametrize(
    ("has_transcript", "days", "shown"),
    [
        (True, 3, "at risk in 3 d"),
        (True, 2.9, "at risk in 2 d"),
        (True, 1.4, "at risk in 34 h"),
        (True, 20, ""),
        (True, -1, "at risk now"),
        (True, None, ""),
        (False, None, "transcript gone"),
        (None, None, ""),
    ],
)
def test_what_is_the_matter_with_a_transcript_is_told(has_transcript, days, shown):
    assert shown == remark(has_transcript, None if days is None else NOW + timedelta(days=days), NOW, 7)


@pytest.mark.parametrize(
    ("path", "home", "shown"),
    [
        ("/home/me/x", "/home/me", "~/x"),
        ("/home/me", "/home/me", "~"),
        ("/home/mee", "/home/me", "/home/mee"),
        ("/x", "/", "/x"),
    ],
)
def test_the_home_folder_is_written_short(path, home, shown):
    assert shown == short_path(path, home)


@given(st.text(), st.integers(1, 40))
def test_cut_and_padded_texts_take_no_more_cells_than_they_may(text, cells):
    shown = plain(text)

    assert width(fit(shown, cells)) <= cells
    assert width(fit_end(shown, cells)) <= cells
    assert cells == width(pad(fit(shown, cells), cells))
    assert shown.isprintable()


@given(st.text(), st.integers(4, 40))
def test_wrapped_lines_take_no_more_cells_than_they_may(text, cells):
    assert all(width(line) <= cells for line in wrap(text, cells))


def test_code_keeps_its_form_where_it_fits():
    assert ["def f():", "    return 1"] == list(wrap("def f():\n\treturn 1", 20))


def test_kept_copy_takes_the_risk_away():
    assert "transcript gone, a copy kept" == remark(False, None, NOW, 7, is_kept=True)
    assert "deleted in 3 d, kept" == remark(True, NOW + timedelta(days=3), NOW, 7, is_kept=True)

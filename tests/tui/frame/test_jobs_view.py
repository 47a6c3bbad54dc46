"""The row that tells of work under way: what takes long, for how long already, and what stops it."""

from datetime import timedelta

import pytest

from oulipoly_engine.records import replace
from oulipoly_tui.view.frame.jobs import Job, jobs_line
from oulipoly_tui.view.transcript.spans import cells


def text(*jobs, width=80, key="^x"):
    return "".join(part for part, _ in jobs_line(jobs, width, key))


READING = Job("reading every account", timedelta(seconds=3.7), can_stop=True, is_stopping=False)
MOVING = Job("moving to ada", timedelta(seconds=61), can_stop=False, is_stopping=False)


def test_each_job_is_told_with_its_seconds_and_the_key_at_the_end():
    found = text(READING, MOVING)

    assert found.startswith(" … reading every account 3 s  … moving to ada 1 m ")
    assert found.endswith(" ^x stops")
    assert 80 == cells(found)


def test_what_cannot_be_stopped_has_no_key():
    assert "stops" not in text(MOVING)
    assert "stops" not in text(READING, key="")
    assert "stops" not in text(replace(READING, is_stopping=True))


def test_what_is_asked_to_stop_says_so_until_it_has():
    assert "stopping: reading every account" in text(replace(READING, is_stopping=True))


@pytest.mark.parametrize("width", [1, 8, 12, 20, 33, 40, 60, 200])
def test_nothing_is_wider_than_the_screen_and_what_does_not_fit_is_counted(width):
    many = [READING, MOVING, replace(READING, title="writing 漢字.md")]
    found = text(*many, width=width)

    assert cells(found) <= max(width, len(" ^x stops"))
    shown = sum(one.title in found for one in many)
    assert shown == 3 or shown == 0 or f"+{3 - shown} more" in found

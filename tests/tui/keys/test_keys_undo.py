"""How long `u` takes the latest deed back at once: counted where it can be seen, then asked."""

import re

import pytest

from oulipoly_tui.panes.sessions import undo

keys = pytest.mark.keys


def edge(one):
    return str(one.app.frame.find("sessions").border_subtitle)


def is_pinned(one):
    return any("pinned" in row for row in one.rows("sessions"))


class Watch:
    """A clock that a test entries."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def watch(monkeypatch):
    found = Watch()
    monkeypatch.setattr(undo, "monotonic", found)
    return found


async def test_the_edge_counts_the_seconds_down_and_then_says_nothing(sessions, watch):
    async with sessions("Paint", reduced_motion=False) as one:
        await one.press("p")
        await one.until(lambda: edge(one).startswith("u: undo, 30 s · "))
        watch.now += 12
        await one.until(lambda: edge(one).startswith("u: undo, 18 s · "))
        await one.press("t")
        await one.until(lambda: edge(one).startswith("u: undo, 18 s · trace of"))
        watch.now += 18
        await one.until(lambda: edge(one).startswith("trace of"))

        assert not one.app.frame.find("sessions").undos.is_counting


@keys("sessions.undo", "u")
async def test_reduced_motion_says_until_when_and_u_asks_before_it_takes_back_what_was_done_long_ago(sessions, watch):
    async with sessions("Paint") as one:
        await one.press("p")
        await one.until(lambda: re.match(r"u: undo, until \d\d:\d\d:\d\d · ", edge(one)) and is_pinned(one))
        before = edge(one).partition(" · ")[0]
        watch.now += 29
        one.app.frame.find("sessions").undos.count_down()
        assert edge(one).startswith(before)  # it never changes
        watch.now += 96
        await one.press("u")
        await one.at("Confirm")
        await one.sees("pinned, 2 min ago.")
        await one.press("n")
        await one.at("Frame")
        assert is_pinned(one)
        await one.press("u")
        await one.at("Confirm")
        await one.press("y")
        await one.until(lambda: not is_pinned(one))

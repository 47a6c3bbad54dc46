"""How the list of sessions comes to its rows: what is asked while a read goes on, or fails, is not lost."""

from types import SimpleNamespace

import pytest

from oulipoly_engine.errors import StoreUnusable
from oulipoly_engine.stopping import Stopped
from oulipoly_tui.panes.sessions.reading import SessionReading
from oulipoly_tui.panes.sessions.sorting import SessionOrder


class Pane:
    """A pane whose app does its work when the test says so."""

    display = True

    def __init__(self):
        self.jobs = []  # (name, what takes a result, what takes a failure)
        self.soon = []  # seconds
        catalogue = SimpleNamespace(board=print, query=lambda text: text)
        sessions = SimpleNamespace(catalogue=catalogue, scans=SimpleNamespace(read_new=print))
        self.app = SimpleNamespace(
            engine=SimpleNamespace(sessions=sessions),
            options=SimpleNamespace(read_only=False),
            say=lambda *_args, **_more: None,
            work=lambda name, _run, done, failed=None, **_more: self.jobs.append((name, done, failed)),
        )

    def set_timer(self, delay_s, _act):
        self.soon.append(delay_s)

    def query_one(self, *_args):
        return SimpleNamespace(remove_class=lambda _name: None)


@pytest.fixture
def pane():
    return Pane()


@pytest.fixture
def reading(pane):
    order = SessionOrder(pane, print, print)
    return SessionReading(pane, order, now=lambda: None, draw=lambda: None, show_filter=print)


def test_what_was_asked_while_a_read_failed_is_read(pane, reading):
    reading.read()
    reading.read()
    _name, done, _failed = pane.jobs.pop()
    done(StoreUnusable("locked"))

    assert [1.0] == pane.soon


def test_what_was_asked_while_an_arrangement_failed_is_arranged(pane, reading):
    reading.index = SimpleNamespace(arrange=print)
    reading.arrange()
    reading.arrange()
    _name, _done, failed = pane.jobs.pop()
    failed(RuntimeError("broken"))

    assert ["arrange"] == [name for name, *_ in pane.jobs]
    assert not reading.is_arranged.is_set()


@pytest.mark.parametrize(("error", "is_missed"), [(StoreUnusable("locked"), True), (Stopped("stopped"), False)])
def test_a_scan_that_failed_is_missed_and_one_that_was_stopped_is_not(pane, reading, error, is_missed):
    reading.scan_quietly()
    _name, _done, failed = pane.jobs.pop()
    failed(error)

    assert reading.misses_scan is is_missed

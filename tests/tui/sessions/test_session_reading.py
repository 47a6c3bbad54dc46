"""How the list of sessions comes to its rows: what is asked while a read goes on, or fails, is not lost."""

from types import SimpleNamespace

import pytest

from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.errors import StoreUnusable
from oulipoly_engine.stopping import Stopped
from oulipoly_tui.panes.sessions.reading import SessionReading
from oulipoly_tui.view.sessions.groups import Grouping


class Reader(SessionReading):
    """The reading half alone, whose work is done when the test says so."""

    board = _index = _trace = None
    _is_reversed = False
    display = True
    _is_reading = _is_stale = _is_arranging = _is_changed = False
    _text, _sort, _grouping = "", Sort.USED, Grouping.NONE

    def __init__(self):
        super().__init__()
        self.jobs = []  # (name, what takes a result, what takes a failure)
        self.soon = []
        catalogue = SimpleNamespace(board=print, query=lambda text: text)
        sessions = SimpleNamespace(catalogue=catalogue, scans=SimpleNamespace(read_new=print))
        self.app = SimpleNamespace(
            engine=SimpleNamespace(sessions=sessions),
            options=SimpleNamespace(read_only=False),
            say=lambda *_args, **_more: None,
            work=lambda name, _run, done, failed=None, **_more: self.jobs.append((name, done, failed)),
        )

    def _soon(self, name, _delay_s, _act, **_more):
        self.soon.append(name)

    def _now(self):
        return None

    def _draw(self):
        pass

    def query_one(self, *_args):
        return SimpleNamespace(remove_class=lambda _name: None)


def test_what_was_asked_while_a_read_failed_is_read():
    reader = Reader()
    reader._read()
    reader._read()
    _name, done, _failed = reader.jobs.pop()
    done(StoreUnusable("locked"))

    assert ["read"] == reader.soon


def test_what_was_asked_while_an_arrangement_failed_is_arranged():
    reader = Reader()
    reader._index = SimpleNamespace(arrange=print)
    reader._arrange()
    reader._arrange()
    _name, _done, failed = reader.jobs.pop()
    failed(RuntimeError("broken"))

    assert ["arrange"] == [name for name, *_ in reader.jobs]
    assert not reader._is_arranged.is_set()


@pytest.mark.parametrize(("error", "is_missed"), [(StoreUnusable("locked"), True), (Stopped("stopped"), False)])
def test_a_scan_that_failed_is_missed_and_one_that_was_stopped_is_not(error, is_missed):
    reader = Reader()
    reader._scan_quietly()
    _name, _done, failed = reader.jobs.pop()
    failed(error)

    assert reader._misses_scan is is_missed

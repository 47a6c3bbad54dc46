"""Work that its user stops leaves what was there before, and what is already right."""

import threading

import pytest

from oulipoly_engine import stopping
from oulipoly_engine.service.transcripts.atomic_file import new_file
from oulipoly_engine.stopping import Stopped, stoppable


def test_nobody_stops_what_nobody_can_stop():
    stopping.check()
    assert not stopping.stop_event().is_set()
    assert stopping.stop_event() is not stopping.stop_event()


def test_what_is_asked_to_stop_stops_at_its_next_look():
    event = threading.Event()
    with stoppable(event):
        stopping.check()
        assert stopping.stop_event() is event
        event.set()
        with pytest.raises(Stopped):
            stopping.check()
    stopping.check()


def test_work_in_other_threads_is_its_own():
    event, found = threading.Event(), []
    event.set()
    with stoppable(event):
        other = threading.Thread(target=lambda: found.append(stopping.stop_event()))
        other.start()
        other.join()

    assert [False] == [one.is_set() for one in found]


def test_a_file_that_was_being_written_is_not_there(tmp_path):
    event, folder = threading.Event(), tmp_path / "exports"
    folder.mkdir()

    def write():
        with new_file(folder / "export.jsonl") as file:
            file.write(b"the first half")
            event.set()
            stopping.check()

    with stoppable(event), pytest.raises(Stopped):
        write()
    assert [] == list(folder.iterdir())

"""A file's notice: it ends a wait when the file is written or replaced, or when it is told to; no change is missed."""

import sys
import threading
import time
from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.events import Listeners
from oulipoly_engine.service.following import file_notice
from oulipoly_engine.service.following.file_notice import FileNotice
from oulipoly_engine.service.following.notices import Notices
from oulipoly_engine.service.following.session_follower import TranscriptFollower
from oulipoly_engine.service.reading.pages import FilePages

PATIENCE_S = 60
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of one file")


class Fixed:
    def now(self):
        return None


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "s.jsonl"
    found.write_text('{"type":"user","uuid":"u0","message":"zero"}\n')
    return found


@pytest.fixture
def notice(path, monkeypatch):
    monkeypatch.setattr(file_notice, "_LOOK_S", PATIENCE_S)  # so that nothing but a notice ends a wait
    found = FileNotice(path, Notices())
    found.wait()  # the first one is for a look
    yield found
    found.close()


def opened():
    """Return the descriptors that are open, and the threads that watch."""
    watchers = [one for one in threading.enumerate() if one.name == "folder-events"]
    return {one.name for one in Path("/proc/self/fd").iterdir()}, watchers


def waited(notice):
    begun = time.monotonic()
    notice.wait()
    return time.monotonic() - begun


@linux
def test_what_was_written_before_the_wait_ends_it(notice, path):
    with path.open("a") as file:
        file.write("more\n")

    assert waited(notice) < PATIENCE_S / 2


@linux
def test_what_is_written_during_the_wait_ends_it(notice, path):
    writer = threading.Timer(0.05, lambda: path.write_text("anew\n"))
    writer.start()

    assert waited(notice) < PATIENCE_S / 2
    writer.join()


@linux
def test_a_file_in_its_place_is_watched_too(notice, path):
    new = path.with_name("new")
    new.write_text("another\n")
    new.replace(path)
    notice.wait()  # the replacement was told
    with path.open("a") as file:
        file.write("more\n")

    assert waited(notice) < PATIENCE_S / 2


@linux
def test_an_interrupted_wait_ends_and_so_does_every_later_one(notice):
    notice.interrupt()

    assert max(waited(notice), waited(notice)) < PATIENCE_S / 2


@pytest.fixture
def covered(path, monkeypatch):
    """Somebody watches all files."""
    monkeypatch.setattr(file_notice, "_LOOK_S", PATIENCE_S)
    notices = Notices()
    notices.cover(lambda _path: True)
    notice = FileNotice(path, notices)
    notice.wait()  # for a look
    yield notice, notices
    notice.close()


def test_a_covered_file_has_no_watch_of_its_own_and_is_told_of(covered, path):
    notice, notices = covered
    teller = threading.Timer(0.05, lambda: notices.tell(str(path)))
    teller.start()

    assert waited(notice) < PATIENCE_S / 2
    assert notice._own is None
    teller.join()


def test_what_was_told_before_the_wait_ends_it(covered, path):
    notice, notices = covered
    notices.tell(str(path))

    assert waited(notice) < PATIENCE_S / 2


@linux
def test_a_file_that_nobody_covers_any_more_is_watched_alone(covered, path):
    notice, notices = covered
    ender = threading.Timer(0.05, lambda: notices.cover(None))
    ender.start()

    assert waited(notice) < PATIENCE_S / 2
    ender.join()
    notice.wait()  # for a look
    with path.open("a") as file:
        file.write("more\n")
    assert waited(notice) < PATIENCE_S / 2


def test_a_covered_wait_is_interrupted_too(covered):
    notice, _ = covered
    notice.interrupt()

    assert max(waited(notice), waited(notice)) < PATIENCE_S / 2


def test_a_closed_notice_is_told_no_more(covered, path):
    notice, notices = covered
    notice.close()
    notices.tell(str(path))
    notices.cover(None)

    assert not notice._told.is_set()


@linux
def test_a_file_that_was_gone_is_told_of_when_it_comes_again(notice, path):
    path.unlink()
    notice.wait()  # its end was told
    writer = threading.Timer(0.05, lambda: path.write_text("anew\n"))
    writer.start()

    assert waited(notice) < PATIENCE_S / 2
    writer.join()


def test_where_nobody_tells_the_wait_is_none(path, monkeypatch):
    monkeypatch.setattr(file_notice, "is_remote", lambda _folder: True)
    monkeypatch.setattr(file_notice, "_LOOK_S", PATIENCE_S)
    notice = FileNotice(path, Notices())

    assert max(waited(notice), waited(notice)) < PATIENCE_S / 2
    notice.close()


@pytest.mark.parametrize("is_told", [True, False])
def test_a_follower_tells_of_every_append_and_ends(path, monkeypatch, is_told):
    if not is_told:
        monkeypatch.setattr(file_notice, "is_remote", lambda _folder: True)
    lengths, arrived = [], threading.Condition()

    def note(event):
        with arrived:
            lengths.append(event.growth.length)
            arrived.notify_all()

    listeners = Listeners(failed=lambda _error: None)
    listeners.subscribe(note)
    follower = TranscriptFollower(FilePages(path, StorageType.CLAUDE_CODE), "key", listeners, Fixed(), 0.001)
    for number in range(2, 6):
        with path.open("a") as file:
            file.write(f'{{"type":"user","uuid":"u{number}","message":"more"}}\n')
        with arrived:
            assert arrived.wait_for(lambda number=number: lengths[-1:] == [number], PATIENCE_S)

    follower.close()
    assert not follower._thread.is_alive()


@linux
def test_a_closed_notice_leaves_nothing_open(path):
    before = opened()
    notice = FileNotice(path, Notices())
    notice.wait()
    during = opened()
    notice.close()

    assert before != during
    assert before == opened()

"""What stands for an extension's files: counted once while they stay as they are, anew with any change."""

import os
import sys
import time

import pytest

from oulipoly_engine.core.extensions.installed import Installed
from oulipoly_engine.core.extensions.manifest import Manifest
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.extensions.digests import digest_of, mark_files, recall_digest
from oulipoly_engine.service.extensions.discovery import mark_installed

_AGED_S = 10  # for the clock: files of now are old enough to be known by their times


def _overwrite(place):
    before = (place / "a.py").stat()
    (place / "a.py").write_text("x = 2")
    os.utime(place / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))


def _lead_elsewhere(place):
    (place / "link.txt").unlink()
    (place / "link.txt").symlink_to("sub/b.py")


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "extension"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.py").write_text("x = 1")
    (folder / "sub" / "b.py").write_text("x = 3")
    (folder / "link.txt").symlink_to("a.py")
    return folder


@pytest.fixture
def opened(place):
    """Paths below the place that were opened meanwhile."""
    paths, is_on = [], [True]

    def hook(event, arguments):
        if is_on and event == "open" and str(arguments[0]).startswith(str(place)):
            paths.append(arguments[0])

    sys.addaudithook(hook)
    yield paths
    is_on.clear()


def test_files_are_read_once_while_they_stay_as_they_are(place, opened, home, monkeypatch):
    now_ns = time.time_ns() + _AGED_S * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    first = recall_digest(from_environment(), place)
    read = len(opened)
    second = recall_digest(from_environment(), place)

    assert (first, read) == (second, len(opened))
    assert read == 3


def test_files_that_were_written_just_now_are_read_again(place, opened, home):
    recall_digest(from_environment(), place)
    read = len(opened)
    recall_digest(from_environment(), place)

    assert len(opened) == 2 * read


@pytest.mark.parametrize(
    "change",
    [
        _overwrite,
        _lead_elsewhere,
        lambda place: (place / "sub" / "c.py").write_text(""),
        lambda place: (place / "sub" / "b.py").unlink(),
        lambda place: (place / "sub" / "b.py").rename(place / "c.py"),
    ],
    ids=["with-its-old-time", "link", "added", "removed", "renamed"],
)
def test_any_change_of_files_is_seen(place, home, change, monkeypatch):
    now_ns = time.time_ns() + _AGED_S * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    marks, digest = mark_files(place), recall_digest(from_environment(), place)
    change(place)

    assert mark_files(place) != marks
    assert recall_digest(from_environment(), place) == digest_of(place) != digest


def test_an_extension_that_is_nowhere_has_no_folder_looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = mark_installed(Installed(Manifest("gone"), "installed", ""))
    (tmp_path / "here.py").write_text("")

    assert before == mark_installed(Installed(Manifest("gone"), "installed", ""))

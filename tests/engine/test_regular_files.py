"""Regular files are opened, everything else is refused at once, and nothing is read without end."""

import errno
import os
import socket
import tracemalloc
from pathlib import Path

import pytest

from oulipoly_engine.regular_files import open_regular, read_regular

_LIMIT = 1 << 20


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"text")
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        for name in ("file", "fifo", "folder", "socket"):
            (tmp_path / f"to-{name}").symlink_to(name)
        (tmp_path / "to-zero").symlink_to("/dev/zero")
        yield tmp_path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fifo", "a FIFO"),
        ("to-fifo", "a FIFO"),
        ("folder", "a folder"),
        ("to-folder", "a folder"),
        ("socket", "a socket"),
        ("to-socket", "a socket"),
        ("to-zero", "a device"),
        ("/dev/zero", "a device"),
    ],
)
def test_what_is_no_regular_file_is_refused_at_once(place, name, kind):
    with pytest.raises(OSError, match=f"{kind}.*not a regular file"):
        read_regular(place / name, _LIMIT)


def test_a_regular_file_is_read_through_a_link_unless_links_are_refused(place):
    assert b"text" == read_regular(place / "to-file", _LIMIT)
    with pytest.raises(OSError, match="it is a link, not a regular file"):
        read_regular(place / "to-file", _LIMIT, follows_links=False)
    with open_regular(place / "file", follows_links=False) as file:
        assert b"text" == file.read()


def test_a_small_file_takes_little_memory_whatever_the_limit(place):
    tracemalloc.start()
    try:
        read_regular(place / "file", 64 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1 << 20


def test_a_limit_holds_for_files_that_say_their_size_and_for_those_that_do_not(place):
    assert b"text" == read_regular(place / "file", 4)
    with pytest.raises(OSError, match="it has more than 3 bytes") as caught:
        read_regular(place / "file", 3)
    assert errno.EFBIG == caught.value.errno
    if (silent := Path("/proc/self/status")).exists():
        with pytest.raises(OSError, match="it has more than 8 bytes"):
            read_regular(silent, 8)


@pytest.mark.parametrize("name", ["nul\0", "half\ud800", "long" * 100, "file/below"])
def test_whatever_a_path_is_the_system_s_refusal_is_an_os_error(place, name):
    with pytest.raises(OSError):  # noqa: PT011 - each system has its own words
        read_regular(place / name, _LIMIT)

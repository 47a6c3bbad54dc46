"""Folders are made with 0700 and files with 0600, whatever the umask; what is there is left as it is."""

import os
import stat

import pytest

from oulipoly_engine.private_files import make_folder, make_new_folder, open_private, write_private


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=oct)
def _umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("_umask")
def test_all_that_is_made_is_private(tmp_path):
    make_folder(tmp_path / "a" / "b" / "c")
    make_new_folder(tmp_path / "a" / "d" / "e")
    os.close(open_private(tmp_path / "a" / "lock", os.O_RDWR))
    write_private(tmp_path / "a" / "file", b"text")

    assert [0o700] * 5 == [mode(tmp_path / "a" / name) for name in ("", "b", "b/c", "d", "d/e")]
    assert [0o600] * 2 == [mode(tmp_path / "a" / name) for name in ("lock", "file")]


def test_what_is_there_keeps_its_mode_and_a_file_in_the_way_is_an_error(tmp_path):
    (tmp_path / "shared").mkdir(0o755)
    make_folder(tmp_path / "shared" / "own")
    (tmp_path / "file").write_bytes(b"")

    assert 0o755 == mode(tmp_path / "shared")
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_folder(tmp_path / "file" / "below")
    with pytest.raises(FileExistsError):
        make_new_folder(tmp_path / "shared")


def test_link_to_a_folder_is_a_folder(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    make_folder(tmp_path / "link")
    make_folder(tmp_path / "link" / "below")

    assert (tmp_path / "real" / "below").is_dir()

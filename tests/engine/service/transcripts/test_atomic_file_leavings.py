"""What killed writers leave beside the files that they wrote."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from oulipoly_engine.private_files import open_nameless
from oulipoly_engine.service.transcripts.atomic_file import new_file, temporary_of

_TWO_HOURS_S = 7200


def _age(path: Path) -> None:
    old = time.time() - _TWO_HOURS_S
    os.utime(path, (old, old))


@pytest.mark.parametrize("is_there", [True, False])
def test_a_file_has_no_name_until_it_is_whole(tmp_path: Path, is_there: bool) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    if open_nameless(folder) is None:
        pytest.skip("the file system has no files without a name")
    path = folder / "session.bundle"
    if is_there:
        path.write_text("old")

    with new_file(path, force=is_there) as file:
        file.write(b"all")
        file.flush()
        assert [path] * is_there == [*folder.iterdir()]

    assert ([path], b"all", 0o600) == ([*folder.iterdir()], path.read_bytes(), path.stat().st_mode & 0o777)


def test_what_a_killed_writer_left_goes_with_the_next_file_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "session[1].bundle"
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = temporary_of(path, str(gone.pid))
    left.write_bytes(b"half")
    _age(left)

    with new_file(path) as file:
        file.write(b"all")

    assert not left.exists()


@pytest.mark.parametrize("suffix", [str(os.getppid()), "mine"], ids=["a running writer", "not a process"])
def test_what_may_still_be_written_stays(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "session.bundle"
    other = temporary_of(path, suffix)
    other.write_bytes(b"half")
    _age(other)

    with new_file(path) as file:
        file.write(b"all")

    assert other.exists()

"""What killed writers leave beside the files that they wrote."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from oulipoly_engine.service.transcripts.atomic_file import new_file, temporary_of

_TWO_HOURS_S = 7200


def _age(path: Path) -> None:
    old = time.time() - _TWO_HOURS_S
    os.utime(path, (old, old))


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

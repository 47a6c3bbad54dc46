import subprocess
import sys
from pathlib import Path

import pytest

from oulipoly_engine.process.lock import try_lock

HOLDER = """
import sys
from pathlib import Path
from oulipoly_engine.process.lock import try_lock
with try_lock(Path(sys.argv[1])) as is_ours:
    print(is_ours, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "locks" / "a b.lock"


@pytest.fixture
def holder(path):
    command = [sys.executable, "-c", HOLDER, path]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert "True" == process.stdout.readline().strip()
    yield process
    process.communicate(timeout=60)


def is_free(path):
    with try_lock(path) as is_ours:
        return is_ours


def test_a_lock_is_ours_and_private_and_its_file_stays(path):
    assert is_free(path)
    assert is_free(path)
    assert 0o600 == path.stat().st_mode & 0o777
    assert 0o700 == path.parent.stat().st_mode & 0o777


def test_a_lock_is_held_against_our_own_process_too(path):
    with try_lock(path) as first, try_lock(path) as second:
        assert (True, False) == (first, second)
    assert is_free(path)


def test_an_exception_frees_the_lock(path):
    with pytest.raises(ZeroDivisionError), try_lock(path):
        raise ZeroDivisionError

    assert is_free(path)


def test_another_process_holds_it_until_it_ends(path, holder):
    assert not is_free(path)
    holder.communicate(timeout=60)
    assert is_free(path)


def test_a_killed_holder_frees_it(path, holder):
    holder.kill()
    holder.wait(timeout=60)

    assert is_free(path)


def test_a_child_of_the_holder_does_not_keep_it(path):
    with try_lock(path):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        assert is_free(path)
    finally:
        child.kill()
        child.wait()


def open_descriptors():
    return len(list(Path("/dev/fd").iterdir()))


def test_no_descriptor_is_left_open(path):
    is_free(path)
    before = open_descriptors()
    is_free(path)
    with try_lock(path):
        is_free(path)

    assert before == open_descriptors()


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(OSError, match="file"), try_lock(tmp_path / "file" / "a.lock"):
        pytest.fail("it was locked")

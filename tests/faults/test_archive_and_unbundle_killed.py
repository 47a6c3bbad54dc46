"""SIGKILL in the middle of archiving and of unpacking: what is there is whole, and doing it again completes it."""

import runpy
import signal
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from oulipoly_engine.service.archive.keeper import ArchiveKeeper

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
Machine = runpy.run_path(str(FIXTURES / "archive_machine.py"))["Machine"]

# Kills itself at the nth of the calls that change anything on the disk.
PRELUDE = """
import os, signal, sys
left = [int(sys.argv[2])]
def dying(name):
    real = getattr(os, name)
    def call(*words, **more):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*words, **more)
    setattr(os, name, call)
for name in ("fsync", "rename", "replace", "link", "unlink", "mkdir"):
    dying(name)
sys.path.insert(0, sys.argv[3])
from archive_machine import ArchiveKeeper, Machine
machine = Machine(sys.argv[1])
"""


@pytest.fixture
def run(commands):
    """Run a body in a process that dies at a step; return its exit code."""

    def run(folder, body, steps):
        program = ["-c", PRELUDE + textwrap.dedent(body)]
        return commands.start([folder, steps, FIXTURES], program=program).wait()

    return run


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 9, 10, 13, 20])
def test_killed_archiving_leaves_whole_copies_and_goes_on(tmp_path, steps, run):
    machine = Machine(tmp_path)
    project = machine.fill()

    code = run(tmp_path, "machine.keep()", steps)

    assert code in (0, -signal.SIGKILL)
    partial = machine.whole_copies()
    assert all(path.read_bytes() == content for path, content in partial.items())
    assert machine.keep().is_complete
    assert {path: path.read_bytes() for path in project.iterdir()} == machine.whole_copies()
    machine.store.close()


@pytest.mark.parametrize("steps", [0, 1, 2, 4])
def test_killed_pruning_leaves_whole_copies(tmp_path, steps, run):
    machine = Machine(tmp_path)
    machine.fill()
    size = machine.keep().stored_bytes

    body = f"""
        ArchiveKeeper(machine.archive, {size // 2}).prune()
    """
    run(tmp_path, body, steps)

    for path, content in machine.whole_copies().items():
        assert path.read_bytes() == content
    ArchiveKeeper(machine.archive, size // 2).prune()
    named = {digest for (digest,) in machine.store.rows("SELECT sha256 FROM archive_objects")}
    assert named == {bytes.fromhex(name) for name, _ in machine.archive.objects.files()}
    machine.store.close()


def test_two_that_archive_at_once_keep_everything_once(tmp_path, commands):
    machine = Machine(tmp_path)
    project = machine.fill(8)
    program = ["-c", PRELUDE + "machine.keep()"]

    running = [commands.start([tmp_path, 100_000, FIXTURES], program=program) for _ in range(3)]

    assert [0, 0, 0] == [process.wait() for process in running]
    assert {path: path.read_bytes() for path in project.iterdir()} == machine.whole_copies()
    machine.store.close()


@pytest.mark.parametrize("steps", [0, 2, 5, 9, 11, 13, 17, 22])
def test_killed_unpacking_leaves_whole_files_and_goes_on(tmp_path, steps, run):
    source = Machine(tmp_path / "source")
    data, expected = source.bundle(), source.files()
    (tmp_path / "bundle").write_bytes(data)
    target = Machine(tmp_path / "target")

    code = run(tmp_path / "target", f"machine.unpack(open({str(tmp_path / 'bundle')!r}, 'rb').read())", steps)

    assert code in (0, -signal.SIGKILL)
    placed = {name: content for name, content in target.files().items() if not name.endswith(".unbundling.part")}
    assert placed.items() <= expected.items()
    receipt = target.unpack(data)
    assert expected == target.files()
    assert receipt.chain_id is not None
    for machine in (source, target):
        machine.store.close()


def test_full_disk_while_archiving_is_a_problem_and_leaves_whole_copies(tmp_path, run):
    machine = Machine(tmp_path)
    machine.fill()
    body = """
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
        print(machine.keep().problem)
    """
    run(tmp_path, body, 100_000)

    with suppress(StopIteration):
        leftover = next(machine.archive.folder.rglob("unfinished-*"))
        pytest.fail(f"{leftover} was left")
    for path, content in machine.whole_copies().items():
        assert path.read_bytes() == content
    assert machine.keep().is_complete
    machine.store.close()


def test_folder_that_turned_read_only_is_told(tmp_path):
    machine = Machine(tmp_path)
    machine.fill()
    machine.archive.folder.mkdir()
    (machine.archive.folder / "objects").write_text("in the way")

    assert "cannot be written" in machine.keep().problem
    machine.store.close()

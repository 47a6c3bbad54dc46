"""SIGKILL in the middle of archiving and of unpacking: what is there is whole, and doing it again completes it."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import Account, StorageSpec, StorageType
from oulipoly_engine.service.archive.archive import Archive
from oulipoly_engine.service.archive.keeper import ArchiveKeeper
from oulipoly_engine.service.bundles.bundle import Bundler
from oulipoly_engine.service.bundles.unbundle import Unbundler
from oulipoly_engine.service.sessions.locate import Locator, find_typed
from oulipoly_engine.service.transcripts.files import homes
from oulipoly_engine.store.archive import copies as rows
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.testing import FakeClock

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
AT = "2026-11-20T11:00:00.000000Z"

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
from test_archive_and_unbundle_killed import Machine
machine = Machine(sys.argv[1])
"""


class Machine:
    """One Claude account with its archive and its staging folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.root = self.folder / "claude1" / "projects"
        self.work = self.folder / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.store = open_store(self.folder / "state.db")
        self.clock = FakeClock()
        root = shlex.quote(str(self.root))
        storage = StorageSpec(
            f"claude-code-cwd {root}", f"claude-code-locate-transcript {root}", StorageType.CLAUDE_CODE
        )
        self.accounts = {"acc": Account("acc", storage=storage)}
        self.homes = {home.account: home for home in homes(self.accounts, {}, self.folder)}
        self.archive = Archive(self.store, self.folder / "archive", self.homes, self.clock)

    def fill(self, count=4):
        project = self.root / "-work"
        project.mkdir(parents=True)
        for number in range(count):
            path = project / f"{SESSION[:-1]}{number}.jsonl"
            path.write_bytes(
                b"".join(json.dumps({"n": n, "x": os.urandom(300).hex()}).encode() + b"\n" for n in range(800))
            )
        return project

    def keep(self, limit=0):
        return ArchiveKeeper(self.archive, limit).keep(wait_s=10.0)

    def bundle(self):
        path = self.fill(1) / f"{SESSION[:-1]}0.jsonl"
        for number in range(3):
            part = path.with_suffix("") / f"part{number}"
            part.parent.mkdir(exist_ok=True)
            part.write_bytes(os.urandom(1000))
        with self.store.write():
            chains.insert(self.store, "acc", path.stem, "m", started_at=AT, last_used_at=AT, reason="initial")
        out = io.BytesIO()
        locator = Locator(self.accounts, {}, self.folder, self.folder, dict(os.environ))
        session = find_typed(self.store, path.stem, self.clock.now())
        Bundler(self.store, locator, self.archive, self.clock).pack(session).write(out.write)
        return out.getvalue()

    def unpack(self, data):
        staging = self.folder / "unbundling"
        return Unbundler(self.store, self.homes, (), staging, self.clock).unpack(io.BytesIO(data), cwd=self.work)

    def files(self):
        return {path.name: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def whole_copies(self):
        """Return the sessions whose copies can be read, every byte checked; a damaged one raises."""
        found = {}
        for copy in rows.transcripts(self.store):
            if not copy.is_pruned:
                with self.archive.open(copy) as file:
                    found[copy.path] = file.read()
        return found


def run(folder, body, steps):
    """Run a body in a process that dies at a step; return its exit code."""
    program = PRELUDE + textwrap.dedent(body)
    words = [sys.executable, "-c", program, str(folder), str(steps), str(Path(__file__).parent)]
    return subprocess.run(words, check=False, capture_output=True, timeout=60).returncode


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 9, 10, 13, 20])
def test_killed_archiving_leaves_whole_copies_and_goes_on(tmp_path, steps):
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
def test_killed_pruning_leaves_whole_copies(tmp_path, steps):
    machine = Machine(tmp_path)
    machine.fill()
    size = machine.keep().stored_bytes

    body = f"""
        from test_archive_and_unbundle_killed import ArchiveKeeper
        ArchiveKeeper(machine.archive, {size // 2}).prune()
    """
    run(tmp_path, body, steps)

    for path, content in machine.whole_copies().items():
        assert path.read_bytes() == content
    ArchiveKeeper(machine.archive, size // 2).prune()
    named = {digest for (digest,) in machine.store.rows("SELECT sha256 FROM archive_objects")}
    assert named == {digest for digest, _ in machine.archive.objects.strays()}
    machine.store.close()


def test_two_that_archive_at_once_keep_everything_once(tmp_path):
    machine = Machine(tmp_path)
    project = machine.fill(8)
    body = PRELUDE + "machine.keep()"
    words = [sys.executable, "-c", body, str(tmp_path), "100000", str(Path(__file__).parent)]

    running = [subprocess.Popen(words) for _ in range(3)]

    assert [0, 0, 0] == [process.wait(25) for process in running]
    assert {path: path.read_bytes() for path in project.iterdir()} == machine.whole_copies()
    machine.store.close()


@pytest.mark.parametrize("steps", [0, 2, 5, 9, 11, 13, 17, 22])
def test_killed_unpacking_leaves_whole_files_and_goes_on(tmp_path, steps):
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


def test_full_disk_while_archiving_is_a_problem_and_leaves_whole_copies(tmp_path):
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
        leftover = next(machine.archive.folder.rglob("*.part"))
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

"""A child starts in a box or without, and a level that cannot be had is refused."""

import os
import sys
import threading
from pathlib import Path

import pytest

from oulipoly_engine.core.boxes.box import Access, Box, Level, Limits, Mount, Network
from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.script import EXEC, run_script
from oulipoly_engine.process.spawn import spawn

LINE = 'echo x > mine && cat mine; cat ../secret; echo x > ../secret; echo "$ONLY"; ulimit -t'


def needs(level):
    return pytest.mark.skipif(not find_level(level).is_available, reason=find_level(level).obstacle)


def run_boxed(folder, level, line=LINE, **options):
    limits = Limits(processor_s=7)
    box = Box(level, (Mount(str(folder), Access.WRITE),), limits=limits, **options)
    return run_script(line, {"PATH": os.defpath, "ONLY": "this"}, cwd=folder, timeout_s=20, box=box)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_without_a_level_nothing_is_held_but_limits(folder):
    ended = run_boxed(folder, Level.NONE)

    assert b"x\nsecretthis\n7\n" == ended.stdout


@pytest.mark.parametrize("level", [pytest.param(level, marks=needs(level)) for level in (Level.GUARDED, Level.SEALED)])
def test_box_shows_what_was_declared_alone(folder, level):
    ended = run_boxed(folder, level)

    assert b"x\nthis\n7\n" == ended.stdout
    assert "secret" == (folder.parent / "secret").read_text()


@needs(Level.GUARDED)
def test_guarded_box_binds_neither_us_nor_the_next_child(folder):
    before = set(threading.enumerate())  # a test before may have left some

    run_boxed(folder, Level.GUARDED)

    assert b"secret" == run_script("cat ../secret", {"PATH": os.defpath}, cwd=folder, timeout_s=20).stdout
    assert "NoNewPrivs:\t0" in Path("/proc/self/status").read_text()
    assert set() == set(threading.enumerate()) - before


@needs(Level.GUARDED)
@pytest.mark.parametrize(("network", "refused"), [(Network.NONE, 1), (Network.SHARED, 0)])
def test_guarded_box_has_no_sockets_of_a_network_unless_it_is_shared(folder, network, refused):
    # A shell has no sockets; the interpreter's own folders are declared.
    code = (
        "import socket, sys\ntry: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nexcept PermissionError: sys.exit(1)"
    )
    reads = (Mount(path, Access.READ) for path in {sys.base_prefix, sys.prefix, str(Path(sys.executable).parent)})
    box = Box(Level.GUARDED, tuple(reads), network)

    ended = run_script(EXEC, {}, arguments=(sys.executable, "-I", "-S", "-c", code), timeout_s=20, box=box)

    assert refused == ended.exit_code, ended.stderr


def test_level_that_cannot_be_had_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SpawnFailed, match="needs bubblewrap, which is not installed: install bubblewrap"):
        spawn(Command(("/bin/true",), {}, box=Box(Level.SEALED)))


@pytest.mark.parametrize("level", [pytest.param(level, marks=needs(level)) for level in (Level.GUARDED, Level.SEALED)])
def test_declared_path_that_is_not_there_is_named(tmp_path, level):
    box = Box(level, (Mount(str(tmp_path / "gone"), Access.READ),))

    with pytest.raises(SpawnFailed, match="gone does not exist, which the box is to show"):
        spawn(Command(("/bin/true",), {}, box=box))

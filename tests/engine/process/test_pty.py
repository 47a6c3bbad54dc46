import os
import select
import signal
from pathlib import Path

import pytest

from oulipoly_engine.core.boxes.box import Access, Box, Level, Mount
from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.pty import spawn


@pytest.fixture
def open_pty():
    opened = []

    def open_pty(script, columns=80, rows=24, cwd=None, box=None):
        command = Command(("sh", "-c", script), dict(os.environ), cwd, box=box)
        opened.append(spawn(command, columns=columns, rows=rows))
        return opened[-1]

    yield open_pty
    for pty in opened:
        pty.stop(((signal.SIGKILL, 2.0),))


def read_all(pty):
    out = b""
    while (data := pty.read()) != b"":
        out += data or b""
        if data is None:
            select.select([pty.fd], [], [], 1)
    return out


def test_size_folder_and_exit_code(open_pty, tmp_path):
    pty = open_pty("stty size; pwd; exit 7", columns=101, rows=33, cwd=tmp_path)

    assert f"33 101\r\n{tmp_path}\r\n".encode() == read_all(pty)
    assert 7 == pty.wait(60)


@pytest.mark.parametrize("level", list(Level))
def test_box_of_a_terminal_holds_and_leaves_the_terminal_to_its_program(open_pty, tmp_path, level):
    if not find_level(level).is_available:
        pytest.skip(find_level(level).obstacle)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "work").mkdir()
    box = Box(level, (Mount(str(tmp_path / "work"), Access.WRITE),))
    script = "trap 'stty size; cat ../secret; exit 7' WINCH; echo ready; while :; do sleep 0.02; done"
    pty = open_pty(script, cwd=tmp_path / "work", box=box)
    while b"ready" not in (pty.read() or b""):
        select.select([pty.fd], [], [], 1)

    pty.resize(101, 33)
    output = read_all(pty)

    assert output.startswith(b"33 101\r\n")
    assert (level is Level.NONE) == output.endswith(b"secret")
    assert 7 == pty.wait(60)


def test_reading_and_writing_never_wait(open_pty):
    pty = open_pty("stty raw -echo; echo ready; sleep 60")
    while b"ready" not in (pty.read() or b""):
        select.select([pty.fd], [], [], 1)
    taken = sum(pty.write(b"x" * 65536) for _ in range(20))

    assert pty.read() is None
    assert taken < 20 * 65536


def test_killed_program_has_the_code_of_its_signal(open_pty):
    pty = open_pty("kill -TERM $$")

    assert (143, 15) == (pty.wait(60), pty.killed_by)


def test_deaf_program_is_stopped_with_its_children(open_pty, tmp_path):
    pty = open_pty(f"trap '' HUP TERM INT; sleep 60 & echo $! > {tmp_path}/pid; echo ready; wait; sleep 60")
    while b"ready" not in (pty.read() or b""):
        select.select([pty.fd], [], [], 1)

    assert 137 == pty.stop(((signal.SIGHUP, 0.1), (signal.SIGKILL, 5.0)))
    assert b"sleep" not in _command_of(int((tmp_path / "pid").read_text()))


def test_stop_ends_a_program_that_waits_to_be_read(open_pty):
    pty = open_pty("trap 'yes | head -c 1000000; exit 9' HUP; echo ready; while :; do sleep 0.02; done")
    while b"ready" not in (pty.read() or b""):
        select.select([pty.fd], [], [], 1)

    assert 9 == pty.stop(((signal.SIGHUP, 20.0),))


@pytest.mark.parametrize(
    ("argv", "cwd", "text"),
    [(("nope-nope",), None, "was not found"), (("/etc/passwd",), None, "chmod"), (("sh",), "/nope", "does not exist")],
)
def test_what_cannot_start_is_refused_with_the_reason(argv, cwd, text):
    command = Command(argv, dict(os.environ), None if cwd is None else Path(cwd))
    with pytest.raises(SpawnFailed, match=text):
        spawn(command, columns=80, rows=24)


def _command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""

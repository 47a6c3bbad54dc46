"""Leases between real processes: one winner, and nothing left by a holder that is killed."""

import signal
from datetime import timedelta

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.service.sessions.lease import Leases

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
_HEAD = """
import resource, sys, time
from pathlib import Path
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.service.sessions import lease
leases = lease.Leases(Path(sys.argv[1]), SystemClock())
print("ready", flush=True)
sys.stdin.readline()
"""
_TAKE = """
try:
    leases.acquire(sys.argv[2], "acc", 60_000)
    print("won")
except RunnerError as error:
    print(error.slug)
"""
# Stops for good in the middle of a decision, with the sentinel held and half of the new file written.
_STUCK = """
def write(path, content):
    path.with_name(path.name + ".tmp").write_bytes(content[:20])
    print("stuck", flush=True)
    time.sleep(60)
lease._write = write
leases.acquire(sys.argv[2], "acc", 60_000)
"""
_NO_SPACE = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
try:
    leases.acquire(sys.argv[2], "acc")
except RunnerError as error:
    print(error.slug, error.exit_code)
"""


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "locks"


@pytest.fixture
def processes():
    started = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def _start(commands, processes, folder, body):
    process = commands.start([folder, SESSION], program=["-c", _HEAD + body], feeds=True)
    processes.append(process)
    assert b"ready\n" == process.stdout.readline()
    return process


def _race(commands, processes, folder, count):
    """Let processes that are already running decide at once; return what each one said."""
    ready = [_start(commands, processes, folder, _TAKE) for _ in range(count)]
    for process in ready:
        process.stdin.write(b"\n")
    return sorted(process.communicate()[0].decode().strip() for process in ready)


def test_of_many_at_once_exactly_one_wins(folder, processes, commands):
    assert ["session-busy"] * 5 + ["won"] == _race(commands, processes, folder, 6)


def test_over_an_expired_lease_exactly_one_wins(folder, processes, commands):
    past = type("Past", (), {"now": lambda _: SystemClock().now() - timedelta(hours=1)})()
    Leases(folder, past).acquire(SESSION, "acc", 1)

    assert ["session-busy"] * 5 + ["won"] == _race(commands, processes, folder, 6)


def test_holder_killed_in_the_middle_of_a_decision_leaves_no_lock(folder, processes, commands):
    stuck = _start(commands, processes, folder, _STUCK)
    stuck.stdin.write(b"\n")
    assert b"stuck\n" == stuck.stdout.readline()
    stuck.send_signal(signal.SIGKILL)
    stuck.wait()

    lease = Leases(folder, SystemClock()).acquire(SESSION, "acc")

    assert {lease.path.name, "sentinel.lock"} == {path.name for path in folder.iterdir()}


def test_killed_holder_s_lease_lasts_until_its_end(folder, processes, commands):
    holder = _start(commands, processes, folder, _TAKE)
    assert b"won\n" == holder.communicate(b"\n")[0]

    with pytest.raises(RunnerError) as caught:
        Leases(folder, SystemClock()).acquire(SESSION, "acc")
    assert "session-busy" == caught.value.slug


def test_full_disk_leaves_neither_lease_nor_part_of_one(folder, processes, commands):
    writer = _start(commands, processes, folder, _NO_SPACE)

    said = writer.communicate(b"\n")[0]

    assert b"operational-error 1\n" == said
    assert ["sentinel.lock"] == [path.name for path in folder.iterdir()]

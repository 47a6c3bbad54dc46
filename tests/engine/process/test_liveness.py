import os
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.process.liveness import start_ticks, was_alive_at


def test_process_lives_since_it_began_and_not_before():
    if start_ticks(os.getpid()) is None:
        pytest.skip("this system does not tell when a process began")
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert was_alive_at(child.pid, datetime.now(UTC))
        assert not was_alive_at(child.pid, datetime.now(UTC) - timedelta(hours=1))
    finally:
        child.kill()
        child.wait()


def test_ended_process_lived_at_no_time():
    child = subprocess.Popen(["true"])
    child.wait()

    assert not was_alive_at(child.pid, datetime.now(UTC))

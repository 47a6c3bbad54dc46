import os
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.process.liveness import lived_at, start_ticks


def test_process_lives_since_it_began_and_not_before():
    if start_ticks(os.getpid()) is None:
        pytest.skip("this system does not tell when a process began")
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert lived_at(child.pid, datetime.now(UTC))
        assert not lived_at(child.pid, datetime.now(UTC) - timedelta(hours=1))
    finally:
        child.kill()
        child.wait()


def test_ended_process_lived_at_no_time():
    child = subprocess.Popen(["true"])
    child.wait()

    assert not lived_at(child.pid, datetime.now(UTC))

import os
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.process.liveness import is_alive, start_ticks, was_alive_at
from oulipoly_engine.process.stop import group_lives


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


def test_who_has_ended_and_is_not_waited_for_does_not_live():
    if start_ticks(os.getpid()) is None:
        pytest.skip("this system does not tell who has ended")
    leader = subprocess.Popen(["true"], process_group=0)
    os.waitid(os.P_PID, leader.pid, os.WEXITED | os.WNOWAIT)
    member = subprocess.Popen(["sleep", "60"], process_group=leader.pid)
    try:
        assert (False, True) == (is_alive(leader.pid), group_lives(leader.pid))
        member.kill()
        os.waitid(os.P_PID, member.pid, os.WEXITED | os.WNOWAIT)
        assert not group_lives(leader.pid)
    finally:
        member.kill()
        member.wait()
        leader.wait()

import subprocess
import sys
import time
from pathlib import Path

import pytest

from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.process.script import _collect, run_script


def script(line, timeout_s=10.0, **options):
    return run_script(line, inherited_environment(), timeout_s=timeout_s, **options)


def wait_for(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_script_gives_both_streams_and_its_code():
    result = script("echo out; echo err >&2; exit 3")

    assert (3, b"out\n", b"err\n", None) == (result.exit_code, result.stdout, result.stderr, result.problem)


def test_arguments_arrive_as_words():
    assert b"a b|c\n" == script('echo "$1|$2"', arguments=("a b", "c")).stdout


def test_a_hanging_script_is_ended_with_its_children(tmp_path):
    pids = tmp_path / "pids"

    # Long enough to start its child on a busy machine.
    result = script(f"sleep 60 & echo $! > {pids}; wait", timeout_s=1.5)

    assert "timed out after 1.5 s" == result.problem
    assert not is_alive(int(pids.read_text()))


def test_a_script_does_not_outlive_whoever_is_interrupted_while_it_waits(tmp_path):
    pids = tmp_path / "pids"

    def interrupt():
        if pids.exists() and pids.read_text().endswith("\n"):
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        script(f"echo $$ > {pids}; sleep 60", cancelled=interrupt)

    assert not is_alive(int(pids.read_text()))


def test_a_script_and_its_children_end_with_whoever_is_killed_while_it_runs(tmp_path):
    pids = tmp_path / "pids"
    program = f"""if True:
        from oulipoly_engine.process.script import run_script
        run_script("trap '' TERM; sleep 60 & echo $$ $! > {pids}; wait", {{"PATH": "/usr/bin:/bin"}}, timeout_s=60)
    """
    ours = subprocess.Popen([sys.executable, "-c", program])
    wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"))

    ours.kill()
    ours.wait()

    wait_for(lambda: not any(is_alive(int(pid)) for pid in pids.read_text().split()))


def test_what_has_patience_ends_by_itself_though_we_are_killed(tmp_path):
    begun, told, done = (tmp_path / name for name in ("begun", "told", "done"))
    line = f"trap ': > {told}; exit' TERM; : > {begun}; sleep 0.5 & wait; : > {done}"
    program = f"""if True:
        from oulipoly_engine.process.script import run_script
        run_script({line!r}, {{"PATH": "/usr/bin:/bin"}}, timeout_s=60, patience_s=20)
    """
    with subprocess.Popen([sys.executable, "-c", program]) as ours:
        wait_for(begun.exists)
        ours.kill()

    wait_for(lambda: done.exists() or told.exists())
    assert not told.exists()


def test_a_script_that_forks_and_leaves_does_not_hang_us(tmp_path):
    pids = tmp_path / "pids"

    result = script(f"sleep 60 & echo $! > {pids}; echo '{{}}'")

    assert result.succeeded
    assert result.duration_s < 5
    assert not is_alive(int(pids.read_text()))


def test_a_flood_is_cut_off_and_named():
    assert "printed more than 1 MiB" == script("yes", output_limit=1 << 20).problem


def test_a_script_killed_by_a_signal_shows_it():
    result = script("kill -SEGV $$")

    assert -11 == result.exit_code
    assert not result.succeeded


def test_what_is_printed_between_a_look_at_the_pipes_and_the_end_is_not_lost(tmp_path):
    gate = tmp_path / "gate"

    class WritesLate(subprocess.Popen):
        """Writes and ends at the very moment when it is asked whether it has ended."""

        def poll(self):
            gate.touch()
            self.wait()
            return super().poll()

    line = f"while [ ! -e {gate} ]; do sleep 0.01; done; echo said"
    with WritesLate(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        found = _collect(process, time.monotonic() + 10, 10.0, 1 << 20, lambda: False)

    assert (b"said\n", b"", None) == found


def test_our_own_commands_are_found_behind_those_of_the_path():
    folder = str(Path(sys.executable).parent)
    given = run_script('echo "$PATH"', {"PATH": "/bin:/usr/bin"}, timeout_s=10)

    assert f"/bin:/usr/bin:{folder}\n" == given.stdout.decode()

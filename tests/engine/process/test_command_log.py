"""What an app has started: each command once, with its end, without secrets, and no more than a bound."""

import os
import sys
import threading

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.facade.terminals.command_log import _KEPT, CommandLog
from oulipoly_engine.process import user_programs
from oulipoly_engine.process.command import Command, watched
from oulipoly_engine.process.run import Discard, run
from oulipoly_engine.process.script import EXEC, run_script
from oulipoly_engine.process.thread_pool import run_in_threads

SECRET = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 4


@pytest.fixture
def log():
    found = CommandLog(SystemClock())
    yield found
    found.close()


def command(*argv, cwd=None):
    return Command(argv, dict(os.environ), cwd)


def told(log):
    return [(one.command, one.outcome) for one in log.list()]


def test_every_way_of_starting_one_is_told_with_its_end(log, tmp_path):
    run(command("sh", "-c", "exit 3", cwd=tmp_path), Discard())
    run(command("sh", "-c", "kill -9 $$"), Discard())
    run_script("echo $1", os.environ, timeout_s=20, arguments=("a b",))
    run_script(EXEC, os.environ, timeout_s=20, arguments=("echo", "a b"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VISUAL", "true")
        user_programs.edit(tmp_path)

    assert [
        ("sh -c 'exit 3'", "ended with 3"),
        ("sh -c 'kill -9 $$'", "ended by signal 9"),
        ("sh -c 'echo $1' sh 'a b'", "ended with 0"),
        ("echo 'a b'", "ended with 0"),
        (f"true {tmp_path}", "ended with 0"),
    ] == told(log)[::-1]
    assert str(tmp_path) == log.list()[-1].folder
    assert all(one.took_s >= 0 for one in log.list())


def test_one_that_cannot_start_or_is_stopped_is_told_too(log):
    with pytest.raises(SpawnFailed):
        run(command("no-such-program"), Discard())
    run_script(EXEC, os.environ, timeout_s=20, arguments=("sleep", "60"), cancelled=lambda: True)

    assert "no-such-program" in log.list()[1].outcome
    assert "was stopped" == log.list()[0].outcome


def test_secrets_are_taken_out(log):
    run(command("true", "--api-key", SECRET, f"TOKEN={SECRET}"), Discard())

    assert "true --api-key" in log.list()[0].command
    assert SECRET not in str(log.list())


def test_it_says_for_which_work_a_command_ran_also_in_threads_of_that(log):
    def start(number):
        run(command("true", str(number)), Discard())

    def work():
        list(run_in_threads(start, [1], at_most=1, cancel=lambda: None))

    thread = threading.Thread(target=work, name="reading quota")
    thread.start()
    thread.join()
    run(command("true"), Discard())

    assert ["", "reading quota"] == [one.action for one in log.list()]


def test_a_terminal_that_ends_is_noted(log):
    with watched(("vim",), None) as tell:
        tell("runs in terminal 1a2b")
    before = log.list()[0].took_s
    log.end_terminal("1a2b", 1)

    assert before is None
    assert "ended with 1 in terminal 1a2b" == log.list()[0].outcome
    assert log.list()[0].took_s >= 0


def test_the_oldest_go_first_and_a_closed_log_hears_nothing(log):
    for number in range(_KEPT + 1):
        with watched(("true", str(number)), None):
            pass
    log.close()
    run(command(sys.executable, "-c", ""), Discard())

    assert (_KEPT, f"true {_KEPT}", "true 1") == (len(log.list()), log.list()[0].command, log.list()[-1].command)


def test_a_folder_of_ours_that_is_gone_keeps_nothing_from_running(log, tmp_path):
    (tmp_path / "gone").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        done = run_script("echo hi", os.environ, timeout_s=20)

    assert (b"hi\n", "a folder that is gone") == (done.stdout, log.list()[0].folder)

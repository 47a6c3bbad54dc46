"""How terminals end: by themselves, killed, in a hurry, unwillingly; and what is said and recorded of it."""

import json
import os
import signal
import sys
import time
from datetime import timedelta
from operator import itemgetter

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.runs.invocations import Outcome, Status
from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.service.interactive import terminals
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.terminal.protocol import messages


def test_exit_code_comes_after_the_last_picture(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", "read x; echo last words; exit 7"))
    watcher.types("\n")

    exited = watcher.hears(messages.Exited)

    assert (7, None) == (exited.code, exited.signal)
    assert "last words" in watcher.text


def test_program_that_dies_at_once_is_still_shown_with_its_words(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", "echo gone already; exit 3"))

    assert 3 == watcher.hears(messages.Exited).code
    assert "gone already" in watcher.text


def test_host_goes_once_the_end_was_seen_and_nobody_is_attached(hosts, alive, waited):
    terminal = hosts.start("true")
    watcher = hosts.watch(terminal)
    watcher.hears(messages.Exited)
    watcher.client.send(messages.EndReceipt())
    watcher.pump()
    assert alive(terminal.host_pid)

    watcher.close()

    waited(lambda: not alive(terminal.host_pid), "the host's end")
    assert [] == list(hosts.paths.runtime.glob("*"))


def test_ended_terminal_that_nobody_has_seen_waits_for_its_time(hosts, alive, waited):
    begun = time.monotonic()
    terminal = hosts.start("sh", "-c", "exit 4", linger_s=0.6)
    waited(lambda: not alive(terminal.host_pid), "the host's end")

    assert time.monotonic() - begun >= 0.6
    assert () == hosts.survey().living


def test_kill_ends_a_program_that_ignores_the_hangup(hosts, alive):
    terminal = hosts.start("sh", "-c", "trap '' HUP TERM INT; echo deaf; while :; do sleep 0.1; done")
    hosts.watch(terminal).shows("deaf")

    ended = terminals.kill(hosts.paths, terminal, None)

    assert (128 + signal.SIGKILL, signal.SIGKILL) == (ended.code, ended.signal)
    assert not alive(terminal.pid)


def test_kill_reaches_jobs_in_groups_of_their_own(hosts, alive, waited):
    terminal = hosts.shell()
    watcher = hosts.watch(terminal)
    watcher.types("set -m; (trap '' HUP; exec sleep 1000) & echo $! >job; trap '' HUP; echo started\n")
    watcher.shows("\nstarted")
    job = int(waited(lambda: (hosts.home / "job").read_text()))

    terminals.kill(hosts.paths, terminal, None)

    waited(lambda: not alive(job), "the job's end")


def test_signal_of_choice_is_sent_and_nothing_else(hosts):
    terminal = hosts.start("sh", "-c", "trap 'echo got usr1' USR1; echo ready; while :; do sleep 0.05; done")
    watcher = hosts.watch(terminal)
    watcher.shows("ready")

    assert terminals.kill(hosts.paths, terminal, signal.SIGUSR1) is None

    watcher.shows("got usr1")


def test_child_of_the_program_that_holds_the_terminal_does_not_hide_its_end(hosts, waited):
    script = "import os,time,signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); child=os.fork()\n"
    script += "if child: open('held','w').write(str(child)); print('parent leaves', flush=True); os._exit(5)\n"
    script += "time.sleep(1000)"
    watcher = hosts.watch(hosts.start(sys.executable, "-c", script))
    holder = int(waited(lambda: (hosts.home / "held").exists() and (hosts.home / "held").read_text()))

    try:
        assert 5 == watcher.hears(messages.Exited).code
        assert "parent leaves" in watcher.text
    finally:
        os.kill(holder, signal.SIGKILL)


def test_command_that_is_not_there_is_refused_and_leaves_nothing(hosts):
    with pytest.raises(SpawnFailed, match="no-such-program"):
        hosts.start("no-such-program")

    assert [] == list(hosts.paths.runtime.glob("*"))


def _recorded(hosts):
    store = open_store(hosts.paths.state_db)
    new = invocations.NewInvocation("u-1", "opus", "claude1", 0, SystemClock().now())
    recorded = terminals.Recorded(invocations.begin(store, new), "u-1", "opus", "claude1")
    return store, recorded


@pytest.mark.parametrize(("command", "status", "code"), [("exit 0", "succeeded", 0), ("exit 9", "failed", 9)])
def test_invocation_is_recorded_to_its_end_without_anybody_attached(hosts, waited, command, status, code):
    store, recorded = _recorded(hosts)
    hosts.start("sh", "-c", command, recorded=recorded)

    waited(lambda: invocations.find(store, "u-1").status is not Status.RUNNING, "the row's end")

    found = invocations.find(store, "u-1")
    assert (status, code) == (found.status, found.exit_code)
    store.close()


def test_end_by_its_user_is_an_interruption_and_no_failure_of_the_account(hosts, waited):
    store, recorded = _recorded(hosts)
    terminal = hosts.start("sh", "-c", "trap 'exit 3' HUP; echo up; while :; do sleep 0.1; done", recorded=recorded)
    hosts.watch(terminal).shows("up")

    ended = terminals.kill(hosts.paths, terminal, None)

    waited(lambda: invocations.find(store, "u-1").status is not Status.RUNNING, "the row's end")
    row = invocations.find(store, "u-1")
    assert (3, signal.SIGHUP) == (ended.code, ended.stopped_for)
    assert ("failed", "interrupted: signal 1") == (row.status, row.terminal_reason)
    assert {} == invocations.recent_failures(store, row.model, SystemClock().now() - timedelta(hours=1))
    store.close()


def test_signal_that_a_program_survives_is_not_its_end(hosts):
    terminal = hosts.start("sh", "-c", "trap 'echo heard' INT; echo up; read x; exit 7")
    watcher = hosts.watch(terminal)
    watcher.shows("up")
    watcher.client.send(messages.Kill(signal.SIGINT))
    watcher.pump()
    watcher.shows("heard")
    watcher.types("\n")

    exited = watcher.hears(messages.Exited)

    assert (7, None) == (exited.code, exited.stopped_for)


def test_host_that_is_told_to_end_ends_its_program_and_says_so(hosts, alive, gone, waited):
    terminal = hosts.shell()
    watcher = hosts.watch(terminal)
    watcher.shows("$")

    os.kill(terminal.host_pid, signal.SIGTERM)

    assert "told to end" in gone(watcher)
    waited(lambda: not alive(terminal.pid) and not alive(terminal.host_pid))
    assert [] == list(hosts.paths.runtime.glob("*"))


def test_lost_host_ends_its_invocation_as_failed(hosts, waited, alive):
    store, recorded = _recorded(hosts)
    terminal = hosts.start("cat", recorded=recorded)
    screen = hosts.screen_pid(terminal)
    for pid in (terminal.host_pid, screen):
        os.kill(pid, signal.SIGKILL)
    # The host lets go of its terminal, which ends the program, before it lets go of its lock.
    waited(lambda: not any(map(alive, (terminal.pid, terminal.host_pid, screen))), "the end of all three")

    assert [terminal.id] == [one.id for one in hosts.survey().lost]

    found = invocations.find(store, "u-1")
    assert ("failed", "guard_drop") == (found.status, found.terminal_reason)
    result = (hosts.paths.results / "u-1.result").read_text()
    assert ("u-1", "guard_drop") == itemgetter("id", "terminal_reason")(json.loads(result.partition("=")[2]))
    store.close()


def test_host_killed_between_the_row_and_its_result_file_leaves_the_file_to_the_next_look(hosts, waited, alive):
    store, recorded = _recorded(hosts)
    terminal = hosts.start("cat", recorded=recorded)
    screen = hosts.screen_pid(terminal)
    invocations.end(store, recorded.row_id, Outcome(True, 0, SystemClock().now()))
    for pid in (terminal.host_pid, screen):
        os.kill(pid, signal.SIGKILL)
    # The host lets go of its terminal, which ends the program, before it lets go of its lock.
    waited(lambda: not any(map(alive, (terminal.pid, terminal.host_pid, screen))), "the end of all three")

    hosts.survey()

    line = (hosts.paths.results / "u-1.result").read_text()
    assert (True, 0, None) == itemgetter("success", "exit_code", "terminal_reason")(json.loads(line.partition("=")[2]))
    store.close()

"""Several readers of one account: one reads, the others say so, and a dead one is in nobody's way."""

import shlex
import signal
import subprocess
import sys
import textwrap
import threading
import time
from datetime import timedelta

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.errors import Interrupted
from oulipoly_engine.process.lock import try_lock
from oulipoly_engine.service.quota.refresh import Kind, RefreshOptions
from oulipoly_engine.store.quota import quotas

READER = textwrap.dedent(
    """
    import os, sys
    from pathlib import Path
    from oulipoly_engine.clock import SystemClock
    from oulipoly_engine.core.accounts.accounts import Account
    from oulipoly_engine.service.quota.refresh import Refresher, RefreshOptions
    from oulipoly_engine.store.base.db import open_store

    folder, script = Path(sys.argv[1]), sys.argv[2]
    reader = Refresher(
        open_store(folder / "state.db"), {"a": Account("a", quota_script=script)}, {}, SystemClock(),
        home=folder, environ=dict(os.environ), locks=folder / "locks",
    )
    print(reader.refresh(("a",), RefreshOptions())[0].kind, flush=True)
    """
)


def wait_for(condition, within_s=60.0):
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def gate(quota):
    """An account whose script begins, and ends when the test lets it."""
    here = shlex.quote(str(quota.folder))
    quota.clock = SystemClock()
    quota.answers("a", f"touch {here}/begun; while [ ! -e {here}/go ]; do sleep 0.02; done; {quota.windows(30)}")
    return quota


def in_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    return thread, found


def test_the_second_of_two_processes_reads_nothing_and_says_why(gate):
    line = gate.accounts["a"].quota_script
    first = subprocess.Popen([sys.executable, "-c", READER, gate.folder, line], stdout=subprocess.PIPE, text=True)
    wait_for((gate.folder / "begun").exists)
    second = gate.refresh("a")
    (gate.folder / "go").touch()
    output, _ = first.communicate(timeout=60)

    assert (Kind.IN_FLIGHT, "updated\n", 1) == (second.kind, output, gate.calls("a"))
    assert Kind.UPDATED is gate.refresh("a").kind


def test_a_reader_that_was_killed_is_in_nobodys_way(gate):
    line = gate.accounts["a"].quota_script
    first = subprocess.Popen([sys.executable, "-c", READER, gate.folder, line], stdout=subprocess.DEVNULL)
    wait_for((gate.folder / "begun").exists)
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=60)
    (gate.folder / "go").touch()

    assert Kind.UPDATED is gate.refresh("a").kind


def test_two_threads_do_not_read_one_account_twice(gate):
    thread, found = in_thread(lambda: gate.refresh("a"))
    wait_for((gate.folder / "begun").exists)
    second = gate.refresh("a")
    (gate.folder / "go").touch()
    thread.join(60)

    assert (Kind.IN_FLIGHT, Kind.UPDATED, 1) == (second.kind, found[0].kind, gate.calls("a"))


def test_an_account_that_another_has_read_since_is_not_read_again_for_a_choice(quota):
    quota.answers("a", quota.windows(30))
    judged_at = quota.clock.now()
    quota.clock.advance(1)
    quota.refresh("a")

    assert Kind.IN_FLIGHT is quota.refresh("a", unless_since=judged_at).kind
    assert Kind.UPDATED is quota.refresh("a", unless_since=quota.clock.now()).kind


def test_a_mark_set_while_a_script_runs_is_not_lost(gate):
    thread, _ = in_thread(lambda: gate.refresh("a"))
    wait_for((gate.folder / "begun").exists)
    marked_at = gate.clock.now()
    quotas.mark_exhausted(gate.store, "a", marked_at)
    (gate.folder / "go").touch()
    thread.join(60)

    assert (0.3, marked_at) == (gate.state("a").windows[0].used, gate.state("a").exhausted_at)
    gate.refresh("a")
    assert gate.state("a").exhausted_at is None


def test_calls_counted_and_probes_noted_while_a_script_runs_are_kept(gate):
    thread, _ = in_thread(lambda: gate.refresh("a"))
    wait_for((gate.folder / "begun").exists)
    probed_at = gate.clock.now() - timedelta(hours=2)
    quotas.mark_topology_probe(gate.store, "a", probed_at)
    (gate.folder / "go").touch()
    thread.join(60)

    assert probed_at == gate.state("a").last_topology_probe_at


def test_an_interruption_ends_the_scripts_and_is_no_failure_of_the_account(quota):
    pids = quota.folder / "pids"
    quota.answers("quick", quota.windows(30))
    quota.answers("slow", f"sleep 60 & echo $! > {pids}; wait")

    def interrupt(_result):
        wait_for(lambda: pids.exists() and pids.read_text().strip())
        raise Interrupted(signal.SIGINT)

    reader = quota.refresher()
    with pytest.raises(Interrupted):
        reader.refresh(("slow", "quick"), RefreshOptions(), interrupt)

    with try_lock(quota.folder / "locks" / "slow.lock") as is_ours:
        assert is_ours
    assert quota.attempts("slow").last_failure is None
    assert [Kind.UPDATED] == [result.kind for result in reader.refresh(("quick",), RefreshOptions())]


def test_an_account_may_be_locked_without_hindering_another(quota):
    quota.answers("a", quota.windows(30))
    quota.answers("b", quota.windows(40))
    with try_lock(quota.folder / "locks" / "a.lock"):
        kinds = [result.kind for result in quota.refresh("a", "b")]

    assert [Kind.IN_FLIGHT, Kind.UPDATED] == kinds
    assert 0 == quota.calls("a")

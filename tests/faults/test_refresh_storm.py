"""Eight processes read, count, mark and choose on one state file at once; and a state file that is locked meanwhile."""

import json
import os
import sqlite3
import textwrap
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import SystemClock, to_text
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.service.quota.refresh import Kind, Refresher, RefreshOptions
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import quotas, readings

PROCESSES, ROUNDS = 8, 6
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)

STORM = textwrap.dedent(
    """
    import json, os, sys
    from datetime import UTC, datetime, timedelta
    from pathlib import Path
    from oulipoly_engine.clock import SystemClock
    from oulipoly_engine.core.accounts.accounts import Account
    from oulipoly_engine.service.quota.refresh import Refresher, RefreshOptions
    from oulipoly_engine.store.base.db import open_store
    from oulipoly_engine.store.quota import quotas

    folder, number, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    script = sys.argv[4]
    clock = SystemClock()
    store = open_store(folder / "state.db")
    accounts = {name: Account(name, quota_script=script) for name in ("shared", f"own{number}")}
    reader = Refresher(store, accounts, {}, clock, home=folder, environ=dict(os.environ), locks=folder / "locks")
    print("ready", flush=True)
    sys.stdin.readline()
    kinds = []
    for step in range(rounds):
        kinds += [[result.account, result.kind] for result in reader.refresh(tuple(accounts), RefreshOptions())]
        with store.write():
            quotas.count_call(store, "counted")
        quotas.mark_exhausted(store, f"marked{number}-{step}", clock.now())
        quotas.mark_topology_probe(store, "counted", clock.now())
        state = quotas.states(store, ("shared",))["shared"]
        assert len({window.used for window in state.windows}) <= 1, state
        assert len(state.windows) in (0, 2), state
    print(json.dumps(kinds), flush=True)
    """
)


def script():
    """Return a script whose two windows show the same use, another one at each call."""
    reset = to_text(datetime.now(UTC) + timedelta(hours=5))
    window = f'{{\\"used_percent\\": $n, \\"resets_at\\": \\"{reset}\\"}}'
    return f'n=$(($(date +%N | sed s/^0*//) % 90)); echo "{{\\"windows\\": [{window}, {window}]}}"'


def storm(commands, folder):
    """Run the processes at once and return [account, kind] of every attempt."""
    processes = [
        commands.start([folder, number, ROUNDS, script()], program=["-c", STORM], feeds=True)
        for number in range(PROCESSES)
    ]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write(b"\n")
    answers = [process.communicate() for process in processes]
    assert [(0, b"")] * PROCESSES == [
        (process.returncode, stderr) for process, (_, stderr) in zip(processes, answers, strict=True)
    ]
    return [attempt for stdout, _ in answers for attempt in json.loads(stdout)]


def test_a_storm_of_processes_loses_no_update(tmp_path, commands):
    store = open_store(tmp_path / "state.db")
    attempts = storm(commands, tmp_path)
    kinds = {kind for _, kind in attempts}
    own = [kind for account, kind in attempts if account != "shared"]
    read = sum(account == "shared" and kind == "updated" for account, kind in attempts)

    assert kinds <= {"updated", "in-flight"}
    assert ["updated"] * PROCESSES * ROUNDS == own
    assert read >= 1
    assert [(PROCESSES * ROUNDS,)] == store.rows(
        "SELECT calls_since_refresh FROM account_quotas WHERE account = 'counted'"
    )
    assert [(PROCESSES * ROUNDS,)] == store.rows("SELECT COUNT(*) FROM account_quotas WHERE exhausted_at IS NOT NULL")
    names = [f"own{number}" for number in range(PROCESSES)]
    assert [ROUNDS] * PROCESSES == [len(readings.history(store, name, "window-0", EARLIEST)) for name in names]
    assert read == len(readings.history(store, "shared", "window-1", EARLIEST))
    last = readings.history(store, "shared", "window-0", EARLIEST)[-1]
    assert last.used == quotas.states(store, ("shared",))["shared"].windows[0].used
    assert "ok" == store.rows("PRAGMA integrity_check")[0][0]
    store.close()


@pytest.fixture
def reader(tmp_path):
    store = open_store(tmp_path / "state.db")
    accounts = {"good": Account("good", quota_script=script()), "bad": Account("bad", quota_script="exit 1")}
    environ = dict(os.environ)
    yield (
        store,
        Refresher(store, accounts, {}, SystemClock(), home=tmp_path, environ=environ, locks=tmp_path / "locks"),
    )
    store.close()


def hold(path, seconds):
    """Hold the write lock of a state file, as another process would, in a thread that returns when it has it."""
    is_held, let_go = threading.Event(), threading.Event()

    def work():
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO account_quotas (account) VALUES ('unfinished')")
            is_held.set()
            let_go.wait(seconds)
            connection.execute("ROLLBACK")

    thread = threading.Thread(target=work)
    thread.start()
    assert is_held.wait(60)
    return thread, let_go


def test_a_state_file_that_is_locked_for_a_moment_is_waited_for(reader):
    store, refresher = reader
    begun = time.monotonic()
    thread, _ = hold(store.path, 1.0)
    results = refresher.refresh(("good", "bad"), RefreshOptions())
    waited = time.monotonic() - begun
    thread.join()

    assert [Kind.UPDATED, Kind.FAILED] == [result.kind for result in results]
    assert waited >= 1.0
    assert 2 == len(quotas.states(store, ("good",))["good"].windows)
    assert 1 == quotas.attempts(store, ("bad",))["bad"].failures_in_a_row


def test_a_state_file_that_stays_locked_keeps_its_last_state_and_the_reading_is_shown(reader):
    store, refresher = reader
    refresher.refresh(("good", "bad"), RefreshOptions())
    before = store.rows("SELECT * FROM account_quotas"), store.rows("SELECT * FROM quota_windows")
    history = store.rows("SELECT * FROM readings")
    thread, let_go = hold(store.path, 20.0)
    good, bad = refresher.refresh(("good", "bad"), RefreshOptions(insist=True))
    let_go.set()
    thread.join()

    assert (Kind.NOT_STORED, 2) == (good.kind, len(good.windows))
    assert "locked" in good.text
    assert str(store.path) in good.text
    assert (Kind.FAILED, True) == (bad.kind, "exit 1" in bad.text)
    assert before == (store.rows("SELECT * FROM account_quotas"), store.rows("SELECT * FROM quota_windows"))
    assert history == store.rows("SELECT * FROM readings")

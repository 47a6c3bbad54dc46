"""Two processes at once, and one that is killed in the middle: the totals stay exact."""

import os
import signal
import subprocess
import sys

import pytest

from oulipoly_engine.store.base.db import open_store

_UPDATE = """
import sys
from pathlib import Path
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.service.ledger import ledger
from oulipoly_engine.service.ledger.files import Source
from oulipoly_engine.store.base.db import open_store
folder, deadly = Path(sys.argv[1]), int(sys.argv[2])
ledger._BATCH_BYTES = 1
store = open_store(folder / "state.db")
sources = (Source("claude", "claude", folder / "claude/projects"), Source("codex", "codex", folder / "codex/sessions"))
if deadly:
    import os, signal
    statements = 0
    execute_many = store.execute_many
    def counted(sql, rows):
        global statements
        statements += 1
        done = execute_many(sql, rows)
        if statements == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    type(store).execute_many = lambda self, sql, rows: counted(sql, rows)
ledger.Ledger(store, sources, SystemClock()).update()
"""


def start(bench, deadly=0):
    return subprocess.Popen([sys.executable, "-c", _UPDATE, str(bench.folder), str(deadly)], stderr=subprocess.PIPE)


def test_two_processes_at_once_count_each_call_once(bench):
    both = [start(bench), start(bench)]
    complaints = [process.communicate(timeout=60)[1] for process in both]

    assert [(0, b"")] * 2 == [(process.returncode, text) for process, text in zip(both, complaints, strict=True)]
    assert bench.truth() == bench.found()


@pytest.mark.parametrize("statement", [1, 2, 3, 8, 21])
def test_a_process_killed_in_the_middle_of_a_batch_leaves_whole_batches(bench, statement):
    bench.store.close()
    killed = start(bench, statement)
    killed.communicate(timeout=60)

    assert -signal.SIGKILL == killed.returncode
    bench.store = open_store(bench.folder / "state.db")
    cursors = bench.store.rows("SELECT COUNT(*) FROM ledger_files")[0][0]
    calls = bench.store.rows("SELECT COUNT(*) FROM ledger_calls")[0][0]
    assert bool(cursors) == bool(calls)
    bench.new_ledger().update()
    assert bench.truth() == bench.found()


def test_the_headless_one_shot_never_loads_the_ledgers_decoder():
    code = (
        "import sys, oulipoly_engine.facade.runs.one_shots, oulipoly_engine.cli.runs.run\n"
        "print('oulipoly_engine.core.ledger' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=dict(os.environ))

    assert b"False\n" == done.stdout

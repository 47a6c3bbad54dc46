"""A state file that another process locks while a run ends: the run is what it was, and the user hears of it."""

import shlex
import sqlite3
import sys
import threading
import time
from contextlib import closing

import pytest

from oulipoly_engine.errors import StoreLocked, StoreUnusable
from oulipoly_engine.service.runs import final_write


def lock_while_running(path, seconds):
    """Lock a state file as soon as a run stands in it, in a thread; then for some seconds."""

    def work():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            time.sleep(0.05)
            if not path.exists():
                continue
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                try:
                    if connection.execute("SELECT 1 FROM invocations WHERE status = 'running'").fetchone() is None:
                        continue
                except sqlite3.OperationalError:  # not made yet
                    continue
                connection.execute("BEGIN IMMEDIATE")
                time.sleep(seconds)
                connection.execute("ROLLBACK")
                return

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_run_that_ends_while_the_state_file_is_locked_is_recorded_when_it_is_free(world, markers):
    world.account("a", "sleep 1; echo answer")
    world.model("m", "a")
    thread = lock_while_running(world.data / "state.db", 8.0)  # longer than one try waits

    done = world.run("-m", "m", "x")

    thread.join()
    assert (0, True) == (done.returncode, markers("OULIPOLY_RESULT", done.stdout)[0]["success"])
    assert done.stdout.startswith(b"answer\n")
    assert [("succeeded", 0)] == [(row["status"], row["exit_code"]) for row in world.rows("SELECT * FROM invocations")]


def test_run_whose_row_cannot_be_written_ends_as_it_did_and_says_so(world, markers):
    spoil = f"import sqlite3; sqlite3.connect({str(world.data / 'state.db')!r}).execute('DROP TABLE invocations')"
    world.account("a", f"{shlex.quote(sys.executable)} -c {shlex.quote(spoil)}; echo answer")
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    assert (0, True) == (done.returncode, result["success"])
    assert b"how this run ended could not be recorded" in done.stderr
    assert (world.data / "invocations" / f"{result['id']}.result").exists()


def refusing(error, times):
    """Return a write that fails a number of times, and the list of its tries."""
    tries = []

    def write():
        tries.append(1)
        if len(tries) <= times:
            raise error

    return write, tries


def test_locked_file_is_tried_again_until_it_is_free(monkeypatch):
    monkeypatch.setattr(final_write, "_PAUSE_S", 0)
    said = []
    write, tries = refusing(StoreLocked("locked"), 3)

    assert final_write.write_patiently(write, "it", said.append)
    assert (4, []) == (len(tries), said)


@pytest.mark.parametrize(("error", "patience"), [(StoreLocked("locked"), 0), (StoreUnusable("full"), 30)])
def test_what_cannot_be_written_is_told_and_no_failure(monkeypatch, error, patience):
    monkeypatch.setattr(final_write, "_PATIENCE_S", patience)
    said = []
    write, tries = refusing(error, 9)

    assert not final_write.write_patiently(write, "how this run ended", said.append)
    assert 1 == len(tries)
    assert said == [f"Warning: how this run ended could not be recorded: {error.message}"]

import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.errors import SchemaIncompatible, StoreUnusable
from oulipoly_engine.store.base import db, schema
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.base.migrate import migrations
from oulipoly_engine.store.base.probe import probe
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.store.transcripts import bodies, entries

pytestmark = pytest.mark.usefixtures("made_state_file")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "state.db"


def test_a_fresh_file_is_ours_current_private_and_in_wal_mode(path):
    store = open_store(path)

    assert (schema.CURRENT_VERSION, schema.APPLICATION_ID) == (
        store.rows("PRAGMA user_version")[0][0],
        store.rows("PRAGMA application_id")[0][0],
    )
    assert "wal" == store.rows("PRAGMA journal_mode")[0][0]
    assert 0o600 == path.stat().st_mode & 0o777
    store.close()


def test_migrations_are_numbered_without_a_gap_up_to_the_current_version():
    assert list(range(1, schema.CURRENT_VERSION + 1)) == [step.version for step in migrations()]


def test_opening_twice_changes_nothing(path):
    open_store(path).close()
    before = probe(path)
    open_store(path).close()

    assert before == probe(path)


@pytest.mark.parametrize("version", [0, 4, 9])
def test_a_foreign_database_is_refused_and_left_alone(path, version):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("CREATE TABLE invocations (id INTEGER)")
        foreign.execute(f"PRAGMA user_version = {version}")
        foreign.commit()
    before = path.read_bytes()

    with pytest.raises(SchemaIncompatible, match="state rebuild"):
        open_store(path)

    assert before == path.read_bytes()


def test_a_newer_file_is_refused_and_left_alone(path):
    open_store(path).close()
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 999")
        newer.commit()

    with pytest.raises(SchemaIncompatible, match="newer"):
        open_store(path)

    assert 999 == probe(path).version


def test_garbage_is_refused_and_left_alone(path):
    path.parent.mkdir()
    path.write_bytes(b"this is not a database " * 100)

    with pytest.raises(StoreUnusable, match=r"damaged .*state rebuild"):
        open_store(path)

    assert b"this is not a database " * 100 == path.read_bytes()


def test_a_directory_in_its_place_is_named(path):
    path.mkdir(parents=True)

    with pytest.raises(StoreUnusable, match="a folder, not a regular file"):
        open_store(path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreUnusable, match="OULIPOLY_DATA_DIR"):
        open_store(tmp_path / "file" / "data" / "state.db")


def test_a_failed_write_leaves_nothing(path):
    store = open_store(path)

    def half_a_write():
        with store.write():
            store.insert("account_quotas", account="a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half_a_write()

    assert [] == store.rows("SELECT * FROM account_quotas")
    store.close()


def test_an_inner_write_is_part_of_the_outer_one(path):
    store = open_store(path)

    def fails_behind_the_inner_one():
        with store.write():
            with store.write():
                store.insert("account_quotas", account="a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_behind_the_inner_one()

    assert [] == store.rows("SELECT * FROM account_quotas")
    store.close()


def test_a_write_that_fails_within_leaves_the_next_one_free(path):
    store = open_store(path)
    with pytest.raises(StoreUnusable, match="NOT NULL"), store.write():
        store.execute("INSERT INTO account_controls (account, changed_at) VALUES ('a', NULL)")
    with store.write():
        quotas.count_call(store, "a")

    assert [("a",)] == store.rows("SELECT account FROM account_quotas")
    store.close()


def test_a_transaction_that_an_interrupt_left_open_is_rolled_back_by_the_next_write(path):
    store = open_store(path)
    store._connections.mine().execute("BEGIN IMMEDIATE")  # as when peewee was interrupted behind its own list
    store._connections.mine().execute("INSERT INTO account_quotas (account) VALUES ('half')")
    with store.write():
        quotas.count_call(store, "a")

    assert [("a",)] == store.rows("SELECT account FROM account_quotas")
    store.close()


def test_on_a_full_disk_the_disk_is_named_and_not_the_failed_way_back(path):
    store = open_store(path)
    pages = store.rows("PRAGMA page_count")[0][0]
    store.rows(f"PRAGMA max_page_count = {pages}")

    def fill():
        with store.write():
            for number in range(1000):
                chains.insert(store, "a", f"s{number}", "m" * 900, started_at="", last_used_at="", reason="initial")

    with pytest.raises(StoreUnusable, match=r"disk .* is full"):
        fill()

    assert [] == store.rows("SELECT * FROM session_chains")
    store.rows("PRAGMA max_page_count = 1000000")
    with store.write():
        quotas.count_call(store, "a")
    store.close()


def test_a_file_that_is_closed_in_the_middle_of_a_look_opens_again(path):
    store = open_store(path)
    with store.write():
        chains.insert(store, "a", "s", "m", started_at="", last_used_at="", reason="initial")
        line = EntryLine("s", "t", "2026-11-22T00:00:00Z", "user", body="[]")
        entries.insert_new(store, "a", [line], datetime(2026, 11, 22, tzinfo=UTC))
    looking = bodies.bodies(store, "a", "s")
    assert "t" == next(looking).entry_id
    store.close()
    looking.close()

    assert 1 == entries.of_account(store, "a")
    with store.write():
        quotas.count_call(store, "a")
    store.close()


def test_nobody_waits_for_a_slow_disk_but_whoever_syncs_what_was_written_since(path, monkeypatch):
    is_done, synced = threading.Event(), []

    def sync(_descriptor):
        name = threading.current_thread().name
        if name == "sync":
            is_done.wait()
        synced.append(name)

    monkeypatch.setattr(os, "fdatasync", sync)
    store = open_store(path)

    quotas.mark_exhausted(store, "a", datetime.now(UTC))
    store.start_sync()
    store.sync()  # nothing was written since
    quotas.mark_exhausted(store, "b", datetime.now(UTC))
    store.sync()
    at_once = tuple(synced)
    is_done.set()
    for thread in threading.enumerate():
        if thread.name == "sync":
            thread.join()
    store.close()

    assert (("MainThread",), ["MainThread", "sync"]) == (at_once, synced)


def test_two_files_that_are_open_at_once_do_not_mix(tmp_path):
    one, other = open_store(tmp_path / "one.db"), open_store(tmp_path / "other.db")
    with one.write():
        quotas.count_call(one, "a")
        with other.write():
            quotas.count_call(other, "b")
            quotas.mark_exhausted(other, "b", datetime(2026, 11, 22, tzinfo=UTC))

    assert (1, 0) == tuple(quotas.states(one, ["a", "b"])[name].calls_since_refresh for name in "ab")
    assert (0, 1) == tuple(quotas.states(other, ["a", "b"])[name].calls_since_refresh for name in "ab")
    one.close()
    other.close()


def test_threads_that_write_at_once_lose_nothing(path):
    store = open_store(path)

    def count(_):
        for _ in range(25):
            with store.write():
                quotas.count_call(store, "a")
        store.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count, range(4)))

    assert 100 == quotas.states(store, ["a"])["a"].calls_since_refresh
    store.close()


OPENER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from oulipoly_engine.store.base.db import open_store
    from oulipoly_engine.store.quota import quotas

    print("ready", flush=True)
    sys.stdin.readline()
    store = open_store(Path(sys.argv[1]))
    for _ in range(25):
        with store.write():
            quotas.count_call(store, "a")
    """
)


def test_processes_that_create_and_write_at_once_lose_nothing(path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    codes = [process.wait(timeout=60) for process in processes]
    for process in processes:
        process.stdin.close()
        process.stdout.close()

    assert [0] * 6 == codes
    store = open_store(path)
    assert [(150,)] == store.rows("SELECT calls_since_refresh FROM account_quotas")
    store.close()


def test_a_probe_changes_nothing_at_all(path):
    open_store(path).close()
    before = {entry.name: entry.stat().st_mtime_ns for entry in path.parent.iterdir()}

    found = probe(path)

    assert found.is_compatible
    assert before == {entry.name: entry.stat().st_mtime_ns for entry in path.parent.iterdir()}


def test_a_probe_of_nothing_makes_no_folder(path):
    assert not probe(path).exists
    assert not path.parent.exists()


def test_a_probe_sees_an_index_with_the_wrong_columns(path):
    open_store(path).close()
    with closing(sqlite3.connect(path)) as changed:
        changed.execute("DROP INDEX idx_segments_session")
        changed.execute("CREATE INDEX idx_segments_session ON session_chain_segments (chain_id)")
        changed.commit()

    assert not probe(path).is_compatible


def test_a_probe_of_garbage_is_an_error(path):
    path.parent.mkdir()
    path.write_bytes(os.urandom(4096))

    with pytest.raises(StoreUnusable, match="damaged"):
        probe(path)


def test_a_file_that_another_process_makes_between_two_looks_is_ours(tmp_path, monkeypatch):
    path, look, made = tmp_path / "state.db", db._scalar, []

    def looked(connection, query):
        found = look(connection, query)
        if "application_id" in query and not made:
            made.append(query)
            open_store(path).close()
        return found

    monkeypatch.setattr(db, "_scalar", looked)
    open_store(path).close()

    assert made


def test_a_closed_connection_serves_the_next_thread_unless_the_file_is_another_or_work_is_left(path):
    store = open_store(path)
    store.keep_idle()
    store.close()
    seen = []

    def look(*, leaves_work=False):
        connection = store._connections.mine()
        connection.execute("PRAGMA user_version").fetchall()
        if leaves_work:
            connection.execute("BEGIN IMMEDIATE")
        seen.append(connection)
        store.close()

    def in_thread(**how):
        thread = threading.Thread(target=look, kwargs=how)
        thread.start()
        thread.join()

    in_thread()
    in_thread(leaves_work=True)
    in_thread()
    shutil.copy(path, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)
    in_thread()
    store.close_idle()
    in_thread()

    assert [True, False, False, False] == [one is other for one, other in itertools.pairwise(seen)]
    for connection in seen:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")

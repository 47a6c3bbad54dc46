"""State files that cannot be written, are locked, or are no files."""

import os
import socket
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from datetime import UTC, datetime

import pytest

from oulipoly_engine.errors import StoreDamaged, StoreLocked, StoreNotWritable, StoreUnusable, UsageInvalid
from oulipoly_engine.store.base import connections
from oulipoly_engine.store.base.db import open_store, open_store_to_read
from oulipoly_engine.store.base.probe import probe
from oulipoly_engine.store.base.rebuild import rebuild
from oulipoly_engine.store.models.damage import find_damage
from oulipoly_engine.store.quota import quotas

pytestmark = pytest.mark.usefixtures("made_state_file")

REFUSAL = StoreNotWritable("the disk is full")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "state.db"
    store = open_store(path)
    with store.write():
        quotas.count_call(store, "a")
    store.close()
    return path


def set_aside(path):
    rebuild(path, path.parent, datetime(2026, 11, 22, tzinfo=UTC))


def make_socket(place):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))


@pytest.mark.parametrize("look", [open_store, probe, lambda path: open_store_to_read(path, REFUSAL), set_aside])
@pytest.mark.parametrize(
    ("side", "make", "word"),
    [
        ("", os.mkfifo, "a FIFO"),
        ("", os.mkdir, "a folder"),
        ("", make_socket, "a socket"),
        ("-wal", os.mkdir, "a folder"),
    ],
)
def test_what_is_no_file_is_named_and_nobody_waits_for_it(tmp_path, monkeypatch, look, side, make, word):
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    make(f"s{side}")

    with pytest.raises(StoreUnusable, match=f"s{side} cannot be used: it is {word}.*OULIPOLY_DATA_DIR"):
        look(tmp_path / "s")


def leave_log(path, account, *, dies):
    """Write into the log of a state file; `dies`: as a process that is killed, else the connection is returned."""
    text = f"INSERT INTO account_quotas (account) VALUES ('{account}')"
    if not dies:
        writer = sqlite3.connect(path, isolation_level=None)
        writer.execute(text)
        return writer
    program = f"import os, sqlite3; sqlite3.connect({str(path)!r}, isolation_level=None).execute({text!r}); os._exit(0)"
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_a_file_without_a_log_is_read_and_nothing_is_made(path):
    before = path.read_bytes(), sorted(path.parent.iterdir())
    store = open_store_to_read(path, REFUSAL)

    assert [("a",)] == store.rows("SELECT account FROM account_quotas")
    assert before == (path.read_bytes(), sorted(path.parent.iterdir()))
    with pytest.raises(StoreNotWritable, match="the disk is full"), store.write():
        pass
    store.close()


@pytest.mark.parametrize("dies", [False, True], ids=["live writer", "killed writer"])
def test_what_lies_in_a_log_is_read_too(path, dies):
    writer = leave_log(path, "b", dies=dies)
    before = path.with_name("state.db-shm").read_bytes()
    store = open_store_to_read(path, REFUSAL)

    assert [("a",), ("b",)] == store.rows("SELECT account FROM account_quotas ORDER BY 1")
    store.close()
    assert len(before) == path.with_name("state.db-shm").stat().st_size
    if not dies:
        writer.close()


def test_a_log_that_cannot_be_read_is_not_left_out(path):
    leave_log(path, "b", dies=True)
    path.with_name("state.db-shm").unlink()

    with pytest.raises(StoreNotWritable, match="the disk is full"):
        open_store_to_read(path, REFUSAL)


def test_a_writer_who_comes_back_while_a_file_is_read_without_locks_is_noticed(path):
    store = open_store_to_read(path, REFUSAL)
    with closing(leave_log(path, "b", dies=False)) as writer:
        assert [("a",)] == store.rows("SELECT account FROM account_quotas")
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with pytest.raises(StoreUnusable, match="try again"):
        store.rows("SELECT account FROM account_quotas")
    store.close()


def test_a_lock_is_waited_for_once_and_not_by_each_who_asks_again(path, monkeypatch):
    store = open_store(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for patience_s in (0.1, 3600):
            monkeypatch.setattr(connections, "BUSY_TIMEOUT_S", patience_s)
            with pytest.raises(StoreLocked), store.write():
                pass
    with store.write():
        quotas.count_call(store, "a")

    assert 3600 == store._connections.patience_s()
    store.close()


@pytest.mark.parametrize("given", ["ab\udcff", 1 << 70])
def test_what_no_column_can_hold_is_the_questions_fault(path, given):
    store = open_store(path)

    with pytest.raises(UsageInvalid):
        store.rows("SELECT 1 FROM account_quotas WHERE account = ?", (given,))
    store.close()


def test_a_table_whose_name_is_no_text_is_damage(path):
    raw = path.read_bytes()
    place = raw.index(b"CREATE TABLE account_quotas") + len("CREATE TABLE a")
    path.write_bytes(raw[:place] + b"\x8a" + raw[place + 1 :])

    for look in (lambda path: open_store(path).close(), probe):
        with pytest.raises(StoreDamaged, match="state rebuild"):
            look(path)


@pytest.mark.parametrize("change", ["refreshed_at = 'yesterday'", "calls_since_refresh = 'many'", "account = x'8aff'"])
def test_a_value_that_cannot_be_is_found(path, change):
    assert find_damage(path) is None
    with closing(sqlite3.connect(path)) as changed:
        changed.execute(f"UPDATE account_quotas SET {change}")
        changed.commit()

    assert "account_quotas." in find_damage(path)

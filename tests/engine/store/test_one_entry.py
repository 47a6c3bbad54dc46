"""Schema 24: entries of an older file are what they were, whoever writes on, and whenever the upgrade is killed."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.base.migrate import migrations
from oulipoly_engine.store.models.damage import find_damage
from oulipoly_engine.store.sessions import leaves
from oulipoly_engine.store.transcripts.entry_pages import EntryPages

pytestmark = pytest.mark.usefixtures("made_state_file")

AT = "2026-11-20T08:30:00.000000Z"
INSERT = (
    "INSERT INTO session_turns (provider_name, session_id, turn_id, timestamp, role, is_compaction_boundary,"
    " ingested_at, body) VALUES ('a', 'S', ?, ?, 'user', ?, ?, '[]')"
)


def write(path, entry_id, *, boundary=0):
    """Store an entry as a release before has done it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(INSERT, (entry_id, AT, boundary, AT))
        connection.commit()


@pytest.fixture
def older(tmp_path):
    """A state file of schema 23 with a session that was compacted."""
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        for migration in migrations()[:23]:
            connection.executescript(migration.sql)
        connection.execute("PRAGMA user_version = 23")
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.execute("INSERT INTO session_chains VALUES ('S', ?, ?, 'm')", (AT, AT))
        connection.execute(
            "INSERT INTO session_chain_segments (chain_id, provider_name, session_id, started_at, transition_reason)"
            " VALUES ('S', 'a', 'S', ?, 'initial')",
            (AT,),
        )
        connection.commit()
    write(path, "first")
    write(path, "summary", boundary=1)
    return path


def read_all(path):
    with closing(open_store(path)) as store:
        rows = EntryPages(store, "a", "S").page(0, 9)
        return [(row.entry_id, row.kind, row.turn_id) for row in rows], leaves.find_leaf(store, "a", "S")


OLD = [("first", "message", None), ("summary", "compaction", None)]


def test_every_entry_is_read_as_it_was_and_the_session_goes_on_behind_the_last(older):
    assert (OLD, "summary") == read_all(older)
    assert find_damage(older) is None


def test_a_host_of_an_older_release_writes_on(older):
    open_store(older).close()
    write(older, "later", boundary=1)

    assert ([*OLD, ("later", "compaction", None)], "later") == read_all(older)


KILLED = """
import os, signal, sys
from pathlib import Path
from oulipoly_engine.store.base import migrate
from oulipoly_engine.store.base.db import open_store

split, number = migrate._statements, int(sys.argv[2])

def until(sql):
    for place, statement in enumerate(split(sql)):
        if place == number:
            os.kill(os.getpid(), signal.SIGKILL)
        yield statement

migrate._statements = until
open_store(Path(sys.argv[1]))
"""


def test_an_upgrade_that_is_killed_anywhere_loses_nothing(older):
    for number in range(1, 7):  # before each statement but the first
        killed = subprocess.run([sys.executable, "-c", KILLED, older, str(number)], check=False)
        with closing(sqlite3.connect(older)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            count = connection.execute("SELECT COUNT(*) FROM session_turns").fetchone()[0]

        assert (-9, 23, 2) == (killed.returncode, version, count)
    assert OLD == read_all(older)[0]

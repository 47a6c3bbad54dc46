"""Schema 23: requests of an older file are all there, whoever writes on, and whenever the upgrade is killed."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime

import msgspec
import pytest

from oulipoly_engine.core.live.events import FileChange, Prompt, Question
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.base.migrate import migrations
from oulipoly_engine.store.live import live_requests
from oulipoly_engine.store.models.damage import find_damage

AT = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
TEXT = "2026-11-20T08:30:00.000000Z"
CHANGE = Prompt("edit two files", reason="ü\n", changes=(FileChange("a", diff="-x\n+y\n"), FileChange("b", "add")))
ASKS = Prompt("which?", questions=(Question("q", "Which one?", options=(("a", "first"), ("b", ""))),))
OLD = (  # a row as schema 22 had it, and what is read of it
    LiveRequest("r1", "s1", "t1", "n1", "file_change_approval", "pending", CHANGE, AT),
    LiveRequest("r2", "s1", "t1", "n2", "user_input", "answered", ASKS, AT, "answer", "ann@desk", AT),
    LiveRequest("r3", "s2", "", "n1", "command_approval", "expired", Prompt("ls", "ls"), AT, resolved_at=AT),
)
INSERT = (
    "INSERT INTO live_requests (request_id, session_id, turn_id, native_id, kind, status, prompt, decision,"
    " answered_by, created_at, resolved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def prompt_of(request):
    """Return a prompt as a release before has written it, without what a question has got since."""
    document = msgspec.to_builtins(request.prompt)
    for question in document["questions"]:
        question.pop("is_optional")
    return json.dumps(document)


def row_of(one):
    resolved = TEXT if one.resolved_at else None
    words = (one.request_id, one.session_id, one.turn_id, one.native_id, one.kind, one.status, prompt_of(one))
    return (*words, one.decision, one.answered_by, TEXT, resolved)


@pytest.fixture
def older(tmp_path):
    """A state file of schema 22 with sessions and what they have asked."""
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        for migration in migrations()[:22]:
            connection.executescript(migration.sql)
        connection.execute("PRAGMA user_version = 22")
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        for name in ("s1", "s2"):
            connection.execute(
                "INSERT INTO live_sessions (session_id, workspace, runtime_id, runtime_kind, model_name, opening,"
                f" status, created_at, updated_at) VALUES ('{name}', '/w', 'c', 'claude', 'm', '{{}}', 'active',"
                f" '{TEXT}', '{TEXT}')"
            )
        connection.executemany(INSERT, map(row_of, OLD))
        connection.commit()
    return path


def read_all(path):
    with closing(open_store(path)) as store:
        return {request.request_id: request for request in live_requests.latest(store, 10)}


def test_every_request_is_read_as_it_was(older):
    assert {one.request_id: one for one in OLD} == read_all(older)
    assert find_damage(older) is None


def test_a_host_of_an_older_release_writes_on(older):
    open_store(older).close()
    late = LiveRequest("r4", "s2", "t2", "n5", "command_approval", "pending", Prompt("pwd"), AT)
    with closing(sqlite3.connect(older)) as connection:
        connection.execute(INSERT, row_of(late))
        connection.commit()

    assert late == read_all(older)["r4"]


def test_requests_go_with_their_session_and_those_of_none_stay(older):
    with closing(open_store(older)) as store, store.write():
        live_requests.insert(store, LiveRequest("r5", "", "", "", "other", "pending", Prompt("x"), AT, origin="setup"))
        store.execute("DELETE FROM live_sessions WHERE session_id = 's1'")

    assert {"r3", "r5"} == read_all(older).keys()


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
    for number in range(1, 5):  # before each statement but the first
        killed = subprocess.run([sys.executable, "-c", KILLED, older, str(number)], check=False)
        with closing(sqlite3.connect(older)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            count = connection.execute("SELECT COUNT(*) FROM live_requests").fetchone()[0]

        assert (-9, 22, 3) == (killed.returncode, version, count)
    assert {one.request_id: one for one in OLD} == read_all(older)

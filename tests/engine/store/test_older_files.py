"""A state file of every version that was ever shipped opens, and nothing that lies in it is lost."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.runs.invocations import Status
from oulipoly_engine.store.archive import copies
from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.base.migrate import migrations
from oulipoly_engine.store.ledger import calls, prices
from oulipoly_engine.store.quota import controls, quotas, readings
from oulipoly_engine.store.rewrite import replacements
from oulipoly_engine.store.runs import artifacts, invocations
from oulipoly_engine.store.sessions import chains, notes, sessions
from oulipoly_engine.store.transcripts import entries

# The index, which is made anew, and what migration 10 empties on purpose.
_DERIVED = ("turn_search", "search_", "sqlite_")
_ONLY_ROW = ("session_facts_state",)
_GIVEN = {
    "status": "succeeded",
    "operation": "import-replace",
    "body": '[{"type": "text", "text": "hello"}]',
    "source_json": '{"kind": "file"}',
    "preimage_sha256": "a",
    "moment": "after",
    "issuer": "agent",
}
_STATES = {"live_sessions": "active", "live_turns": "completed", "live_requests": "answered", "live_queue": "queued"}
_STATES |= {"worktrees": "ready", "worktree_operations": "begun", "agents": "ready", "agent_jobs": "done"}
_KINDS = {"web_devices": "device", "agent_jobs": "job"}
_FIRST = datetime(2026, 11, 1, tzinfo=UTC)


def _value(table, column, kind, number):
    if column in ("status", "state") and table in _STATES:
        return _STATES[table]
    if column == "kind" and table in _KINDS:
        return _KINDS[table]
    if column in _GIVEN:
        return _GIVEN[column]
    if column.endswith(("_at", "_until", "timestamp")):
        return f"2026-11-0{number}T00:00:00.000000Z"
    if table == "invocation_returned_artifacts" and column == "sha256":
        return "a" * 64
    values = {"INTEGER": number, "REAL": number / 4, "BLOB": f"{column}-{number}".encode()}
    return values.get(kind, f"{column}-{number}")


def _tables(connection):
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return [name for (name,) in names if not name.startswith(_DERIVED)]


def _rows(connection):
    connection.row_factory = sqlite3.Row
    return {
        table: [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")]
        for table in _tables(connection)
    }


def _fill(connection):
    """Put two rows into every table; those that belong together have the same numbers."""
    for table in _tables(connection):
        if table in _ONLY_ROW:
            continue
        columns = [(name, kind) for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({table})")]
        marks = ", ".join("?" * len(columns))
        for number in (1, 2):
            values = [_value(table, name, kind, number) for name, kind in columns]
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)


@pytest.fixture
def older(tmp_path):
    """Return a way to make a file of a version, as the migrations up to there make it, and what lies in it.

    Later versions are asked for after earlier ones: the migrations between them are done, and the file is a copy.
    """
    with closing(sqlite3.connect(":memory:")) as grown:

        def make(version):
            (done,) = grown.execute("PRAGMA user_version").fetchone()
            for migration in migrations()[done:version]:
                grown.executescript(migration.sql)
            grown.execute(f"PRAGMA user_version = {version}")
            grown.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
            path = tmp_path / f"state-{version}.db"
            with closing(sqlite3.connect(path)) as connection:
                grown.backup(connection)
                _fill(connection)
                connection.commit()
                return path, _rows(connection)

        yield make


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("version", range(1, schema.CURRENT_VERSION + 1))
def test_a_file_of_any_version_opens_and_keeps_every_row(older, version):
    path, before = older(version)
    open_store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        after = _rows(connection)
        version_now = connection.execute("PRAGMA user_version").fetchone()[0]

    assert schema.CURRENT_VERSION == version_now
    assert before == {
        table: [{name: row[name] for name in old} for old, row in zip(rows, after[table], strict=True)]
        for table, rows in before.items()
    }


@pytest.mark.parametrize("version", [1, schema.CURRENT_VERSION])
def test_what_lies_in_the_file_is_what_the_functions_return(older, version):
    store = open_store(older(version)[0])

    found = invocations.find(store, "invocation_uuid-1")
    assert (1, "model_name-1", "provider_name-1", Status.SUCCEEDED) == (
        found.row_id,
        found.model,
        found.account,
        found.status,
    )
    assert ["invocation_uuid-2"] == [row.uuid for row in invocations.children(store, 2)]
    assert "decision-1" == invocations.decision_json(store, 1)
    assert {"account-2": 2} == invocations.counts(store, "model_name-2")
    state = quotas.states(store, ["account-1"])["account-1"]
    assert (_FIRST, 1, [(1, 0.25, "label-1")]) == (
        state.refreshed_at,
        state.calls_since_refresh,
        [(window.position, window.used, window.label) for window in state.windows],
    )
    assert ["turn_id-1"] == [entry.entry_id for entry in entries.of_session(store, "provider_name-1", "session_id-1")]
    (chain,) = chains.find_owning_chains(store, "session_id-1")
    assert ("chain_id-1", "model_name-1", 1) == (chain.chain_id, chain.model, chain.entries)
    assert {"chain_id-1", "chain_id-2"} == {
        one.chain_id for one in sessions.list_sessions(store, ["chain_id-1", "chain_id-2"])
    }
    store.close()


def test_what_came_later_is_what_the_functions_return(older):
    store = open_store(older(schema.CURRENT_VERSION)[0])

    assert 0.25 == controls.of(store, ["account-1"])["account-1"].reserve
    assert ("window-1",) == readings.windows_of(store, "account-1")
    assert "name-1" == notes.of_chain(store, "chain_id-1").name
    assert "chain_id-1" == replacements.find(store, "operation_uuid-1").chain_id
    assert {"path-1", "path-2"} == set(calls.cursors(store))
    assert 0.25 == prices.find_rates(store, "list-1")["model-1"][0].input
    assert ["version_id-1"] == [receipt.version_id for receipt in artifacts.find_returned_artifacts(store, 1)]
    assert ["session_id-1"] == [copy.session_id for copy in copies.latest_of(store, "account-1").values()]
    store.close()

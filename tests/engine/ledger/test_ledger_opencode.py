"""opencode's database in the ledger: each answer once, forks and all."""

import json
import sqlite3
from pathlib import Path

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.core.ledger.calls import Tokens
from oulipoly_engine.service.ledger.files import Source
from oulipoly_engine.service.ledger.ledger import Ledger
from oulipoly_engine.service.ledger.sources import sources
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.ledger import calls as rows

SQL = Path(__file__).parents[2] / "fixtures" / "transcripts" / "opencode" / "opencode-1.18.33.sql"
NOW = 1795234060000


@pytest.fixture
def opencode(tmp_path):
    """Return opencode's own connection, as it writes into its log."""
    (tmp_path / "opencode").mkdir()
    database = sqlite3.connect(tmp_path / "opencode" / "opencode.db", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA wal_autocheckpoint = 0")
    database.executescript(SQL.read_text())
    yield database
    database.close()


@pytest.fixture
def update(tmp_path, opencode):
    """Return what updates the ledger and gives its sums and what the update says."""
    store = open_store(tmp_path / "state.db")

    def run():
        done = Ledger(store, (Source("o", "opencode", tmp_path / "opencode"),), SystemClock()).update()
        return rows.sums(store, "o", 0), done

    yield run
    store.close()


def add(database, name, tokens, at=NOW, completed=NOW + 5, **more):
    data = {"role": "assistant", "modelID": "m", "time": {"created": at, "completed": completed}, "tokens": tokens}
    session = database.execute("SELECT id FROM session LIMIT 1").fetchone()[0]
    row = (name, session, at, completed or at, json.dumps(data | more))
    database.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)", row)


def truth(database):
    """Return calls and tokens as SQLite itself adds them up, copies left out."""
    rows = database.execute(
        "SELECT DISTINCT data ->> '$.time.created', data ->> '$.time.completed', data ->> '$.tokens.input',"
        " data ->> '$.tokens.output' FROM message WHERE data ->> '$.role' = 'assistant'"
        " AND data ->> '$.tokens.total' > 0"
    ).fetchall()
    return len(rows), Tokens(input=sum(row[2] for row in rows), output=sum(row[3] for row in rows))


def test_a_real_database_is_counted_once_an_answer_and_forks_add_nothing(opencode, update):
    assert truth(opencode) == update()[0] == update()[0]


def test_what_the_log_gains_is_read_and_each_kind_is_told_apart(opencode, update):
    before = update()[0][1]
    add(opencode, "n", {"total": 175, "input": 100, "output": 10, "reasoning": 5, "cache": {"read": 50, "write": 10}})
    after = update()[0][1]

    assert Tokens(100, 15, 50, 10, 0, 5) == Tokens(*(new - old for new, old in zip(after, before, strict=True)))


def test_thoughts_that_the_total_has_inside_the_output_count_once(opencode, update):
    before = update()[0][1].output
    add(opencode, "n", {"total": 30, "input": 10, "output": 20, "reasoning": 5, "cache": {}})

    assert before + 20 == update()[0][1].output


def test_an_answer_counts_once_it_has_ended(opencode, update):
    before = update()[0][0]
    add(opencode, "n", {"input": 9, "output": 1}, completed=None)
    during = update()[0][0]
    add(opencode, "n", {"input": 9, "output": 4})

    assert (before, before + 1) == (during, update()[0][0])


@pytest.mark.parametrize("tokens", ["x", {"input": "y", "output": -3, "cache": []}, {}, None, {"input": 1e300}])
def test_rubbish_counts_nothing(opencode, update, tokens):
    before = update()[0]
    add(opencode, "n", tokens)

    assert before == update()[0]


def test_damaged_messages_are_counted_as_damage(opencode, update):
    update()
    add(opencode, "n", {})
    opencode.execute("UPDATE message SET data = '{\"role\"' WHERE id = 'n'")

    assert 1 == update()[1].damaged


def test_a_file_that_is_no_database_is_told_and_breaks_nothing(tmp_path, opencode, update):
    opencode.close()
    for path in (tmp_path / "opencode").iterdir():
        path.unlink()
    (tmp_path / "opencode" / "opencode.db").write_bytes(b"no database" * 999)

    assert "opencode.db" in update()[1].notes[0]


def test_an_accounts_turn_script_names_its_database(tmp_path):
    found, absent = sources({}, {"o": SessionScripts("opencode-turns ~/.local/share/opencode")}, tmp_path, {})

    assert ({}, ["opencode"]) == (absent, [source.cli for source in found])

"""The state file follows an account's new name, also where an earlier account of that name has left something."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.models.account_names import rename_account
from oulipoly_engine.store.search.index import index_batch
from oulipoly_engine.store.transcripts import entries

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def entry(turn):
    return EntryLine("S", turn, "2026-11-20T12:00:00Z", "user", body=json.dumps([{"type": "text", "text": turn}]))


@pytest.mark.parametrize("left", [(), ("common", "own")])
def test_the_search_follows_a_name_and_forgets_what_gives_way(tmp_path, left):
    store = open_store(tmp_path / "state.db")
    with store.write():
        entries.insert_new(store, "work", [entry("common"), entry("next")], NOW)
        entries.insert_new(store, "job", map(entry, left), NOW)
    while index_batch(store):
        pass
    rename_account(store, "work", "job")
    store.close()

    with closing(sqlite3.connect(tmp_path / "state.db")) as state:
        known = state.execute("SELECT id, 'job' FROM session_turns ORDER BY id").fetchall()
        found = "SELECT turn, account FROM search_numbers JOIN search_sessions ON number = session ORDER BY turn"
        assert known == state.execute(found).fetchall()
        assert [(1,)] == state.execute("SELECT count(*) FROM search_words('common')").fetchall()


def test_a_live_session_goes_on_in_the_runtime_of_its_renamed_account(tmp_path):
    with closing(open_store(tmp_path / "state.db")) as store:
        for runtime in ("work", "own"):
            session = LiveSession(runtime, "/w", runtime, "codex", "m", NOW, NOW, account="work")
            live_sessions.insert(store, session)
        rename_account(store, "work", "job")

        found = {one.session_id: (one.runtime_id, one.account) for one in live_sessions.list_sessions(store)}
    assert {"work": ("job", "job"), "own": ("own", "job")} == found

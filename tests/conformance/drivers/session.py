"""Drives `session.schema_probe`: the real command on a real state file, shaped as the vector's description says."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import product

from oulipoly_engine.core.probe import STORAGE_TYPES, is_safe
from oulipoly_engine.store.db import open_store

FEATURES = ("session_import_replace", "session_pause_handshake")


def _safe(vector, _tmp_path):
    everything = dict.fromkeys(FEATURES, True)
    if vector["expected"]["safe"]:
        assert is_safe(exists=True, compatible=True, features=everything, storage_types=STORAGE_TYPES)
        return
    for exists, compatible, replace, pause, types in product(
        (True, False), (True, False), (True, False), (True, False), (STORAGE_TYPES, STORAGE_TYPES[:2])
    ):
        features = {"session_import_replace": replace, "session_pause_handshake": pause}
        is_whole = exists and compatible and replace and pause and types == STORAGE_TYPES
        assert is_whole == is_safe(exists=exists, compatible=compatible, features=features, storage_types=types)


def _change(path, *statements):
    open_store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def _arrange(description, path):
    if "absent" in description or "missing db" in description:
        return
    path.parent.mkdir(parents=True)
    if "unreadable" in description or "corrupt" in description:
        path.write_bytes(b"no database at all " * 300)
    elif "above" in description or "newer" in description:
        _change(path, "PRAGMA user_version = 999")
    elif "below" in description or "old" in description:
        _change(path, "PRAGMA user_version = 0")
    elif "index" in description:
        _change(
            path,
            "DROP INDEX idx_segments_session",
            "CREATE INDEX idx_segments_session ON session_chain_segments (chain_id)",
        )
    elif "column" in description:
        _change(path, "ALTER TABLE session_turns DROP COLUMN parent_turn_id")
    elif "table" in description:
        _change(path, "DROP TABLE session_turns")
    else:
        _change(path)


def _schema_probe(vector, tmp_path):
    if "predicate" in vector["description"]:
        _safe(vector, tmp_path)
        return
    path = tmp_path / "data" / "state.db"
    _arrange(vector["description"], path)
    done = subprocess.run(
        [sys.executable, "-m", "oulipoly_tui", "session", "schema-probe"],
        capture_output=True,
        env=dict(os.environ) | {"OULIPOLY_DATA_DIR": str(path.parent)},
        check=False,
    )
    expected = vector["expected"]
    assert expected["exit"] == done.returncode
    if done.returncode:
        assert b"" == done.stdout
        assert expected["code"] == json.loads(done.stderr)["error"]["code"]
        return
    document = json.loads(done.stdout)
    shown = document["state_db"] | {"safe": document["safe_for_import_replace"]}
    assert {key: value for key, value in expected.items() if key != "exit"} == {
        key: shown[key] for key in expected if key != "exit"
    }
    assert path.exists() == path.parent.exists() == document["state_db"]["exists"]


DRIVERS = {"session.schema_probe": _schema_probe}

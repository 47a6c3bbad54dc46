"""Ids for the completion of a word: what was used last, read without peewee, and nothing written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.store.base.schema import DATABASE_ERRORS
from oulipoly_engine.store.base.state_path import read_only_uri, refuse_other_kinds

_PATIENCE_S = 0.02  # somebody waits for a key
_SESSIONS = """
SELECT chains.chain_id, COALESCE(notes.name, chains.model_name) FROM session_chains AS chains
LEFT JOIN conversation_notes AS notes ON notes.chain_id = chains.chain_id
WHERE chains.chain_id GLOB :begin ORDER BY chains.last_used_at DESC LIMIT :most"""
_OWN_IDS = """
SELECT session_id, provider_name FROM session_chain_segments WHERE session_id GLOB :begin
ORDER BY id DESC LIMIT :most"""
_RUNS = """
SELECT invocation_uuid, model_name FROM invocations WHERE invocation_uuid GLOB :begin ORDER BY id DESC LIMIT :most"""


def sessions(path: Path, begin: str, most: int) -> list[tuple[str, str]]:
    """Return (id, name or model) of sessions whose id begins so, the latest used first; else of CLIs' own ids."""
    return _read(path, _SESSIONS, begin, most) or _read(path, _OWN_IDS, begin, most)


def runs(path: Path, begin: str, most: int) -> list[tuple[str, str]]:
    """Return (UUID, model) of runs whose UUID begins so, the latest first."""
    return _read(path, _RUNS, begin, most)


def _read(path: Path, query: str, begin: str, most: int) -> list[tuple[str, str]]:
    """Return the rows; none where the state file is not there, busy, or not one of ours."""
    if not all(letter.isalnum() or letter in "-_" for letter in begin):
        return []
    try:
        refuse_other_kinds(path)
        with closing(sqlite3.connect(read_only_uri(path), uri=True, timeout=_PATIENCE_S)) as connection:
            rows = connection.execute(query, {"begin": f"{begin}*", "most": most})
            return [(str(identity), str(text or "")) for identity, text in rows]
    except (*DATABASE_ERRORS, RunnerError):
        return []

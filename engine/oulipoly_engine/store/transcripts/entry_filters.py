"""Which entries of a session a filter keeps, or may have some words: a hundred thousand bodies stay in the database.

It is SQL: models have no words for looking into JSON, as the search's index has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions.forks import read_history
from oulipoly_engine.store.transcripts.entry_pages import find_parts

# The plus signs keep SQLite from an index by account and role, which has the entries of all sessions in it.
_ROWS = (
    "SELECT json_group_array(id) FROM (SELECT id FROM session_turns WHERE session_id = ? AND +provider_name = ?"
    " AND {} ORDER BY timestamp DESC, id DESC LIMIT -1)"
)
_CHUNKS = "SELECT 1 FROM json_each(body) WHERE CASE type WHEN 'object' THEN {} END"
_HAS = f"CASE WHEN json_valid(body) THEN EXISTS ({_CHUNKS}) END"
_TYPE = "COALESCE(json_extract(value, '$.type'), 'text')"
# Most bodies are not parsed: in those that we write a chunk begins with its type, and quotes in a text are escaped.
_CONDITIONS = {
    "no-tools": f"""CASE
        WHEN body LIKE '[{{"type":"%}}]' THEN body LIKE '%{{"type":"text"%' OR body LIKE '%{{"type":"context"%'
        WHEN body LIKE '[%{{%' THEN COALESCE({_HAS.format(_TYPE + " IN ('text', 'context')")}, 1)
        ELSE 1 END""",
    "user": f"""+role = 'user' AND CASE
        WHEN body LIKE '[%{{%"tool_result"%' THEN COALESCE({_HAS.format(_TYPE + " <> 'tool_result'")}, 1)
        ELSE 1 END""",
    "words": "body LIKE ?",
    "words of JSON": "body LIKE ? AND " + _HAS.format("json_extract(value, '$.text') LIKE ?"),
}
# What bodies have in them and nobody has said.
_JSON = '[{"type":"tool_result tool_use thinking text context","text":"","first_kept":"'
_UNSURE = re.compile(r"[^A-Za-z0-9 _.,:;=()+*-]")  # what JSON may write otherwise, or has another form in another case


def list_kept(store: Store, account: str, session_id: str, kept: str) -> list[int]:
    """Return the rows of the entries that a filter keeps. kept: no-tools: somebody has said something in it; user."""
    return [*_list_rows(store, account, session_id, kept)]


def list_with(store: Store, account: str, session_id: str, words: str) -> list[int]:
    """Return the rows of all entries that have some words, and of a few others, the latest first."""
    pattern = f"%{_UNSURE.sub('%', words)}%"
    if words.lower() in _JSON:
        return [*_list_rows(store, account, session_id, "words of JSON", pattern, pattern)]
    return [*_list_rows(store, account, session_id, "words", pattern)]


def _list_rows(store: Store, account: str, session_id: str, condition: str, *values: str) -> Iterator[int]:
    sql = _ROWS.format(_CONDITIONS[condition])
    parts = find_parts(store, account, session_id)
    for part in reversed(parts):
        yield from json.loads(store.rows(sql, (part.session_id, part.account, *values))[0][0])
    history = read_history(store, parts[0].account, parts[0].session_id)
    own = {link.row_id for _, link in history}
    for owner in dict.fromkeys(owner for owner, _ in reversed(history)):
        rows = json.loads(store.rows(sql, (owner, parts[0].account, *values))[0][0])
        yield from (row for row in rows if row in own)

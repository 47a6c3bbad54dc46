"""A session's entries by columns, and which of them a filter keeps or may have some words.

It is SQL that answers with one JSON list for a hundred thousand rows: tuples for them take longer than the query, and
models have no words for looking into bodies. A limit keeps the order of the query inside.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from oulipoly_engine.core.transcripts import entry_tree
from oulipoly_engine.core.transcripts.entry_tree import EntryColumns, to_columns
from oulipoly_engine.core.transcripts.turn_script import LIVE_IDS, NO_PARENT, OWN_KINDS, SAID
from oulipoly_engine.records import prepare
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions.forks import ForkedSession, read_history
from oulipoly_engine.store.transcripts.entry_pages import find_parts, links, read_links

_COLUMNS = (
    "SELECT json_group_array(id), json_group_array(turn_id), json_group_array(parent_turn_id),"
    " json_group_array(json_array(id, file)) FILTER (WHERE is_sidechain = 1),"
    " json_group_array(id) FILTER (WHERE kind NOT IN ({said})),"
    " COALESCE(MAX(kind IN ({own}) AND turn_id LIKE '{live}%'), 0) FROM ("
    "SELECT id, turn_id, parent_turn_id, is_sidechain, kind, CASE is_sidechain WHEN 1 THEN source_file END AS file"
    " FROM session_turns WHERE session_id = ? AND provider_name = ? ORDER BY timestamp {order}, id {order} LIMIT ?)"
)

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
_SAID = ", ".join(f"'{kind}'" for kind in sorted(SAID))
_OWN = ", ".join(f"'{kind}'" for kind in sorted(OWN_KINDS))
BEHIND_ALL = "~"  # as a time
_MAIN = "FROM session_turns AS t WHERE t.session_id = ? AND t.provider_name = ? AND t.is_sidechain = 0"
_IS_IN = "EXISTS (SELECT 1 FROM session_turns AS o WHERE o.provider_name = ? AND o.session_id = ? AND o.turn_id = {})"
_FIRST_OWN = (
    f"SELECT t.turn_id, t.parent_turn_id, t.timestamp, t.id, {_IS_IN.format('t.parent_turn_id')} {_MAIN}"
    f" AND NOT {_IS_IN.format('t.turn_id')} ORDER BY t.timestamp, t.id LIMIT 1"
)
_LAST_BEFORE = f"SELECT t.turn_id {_MAIN} AND (t.timestamp, t.id) < (?, ?) ORDER BY t.timestamp DESC, t.id DESC LIMIT 1"
_DECODER: msgspec.json.Decoder[list[Any]] = msgspec.json.Decoder(prepare(list[Any]))
# What bodies have in them and nobody has said.
_JSON = '[{"type":"tool_result tool_use thinking text context","text":"","first_kept":"'
# What JSON may write otherwise, or has another form in another case, as ß has.
_UNSURE = re.compile(r"[sS]{2}|[^A-Za-z0-9 _.,:;=()+*-]")


def read_columns(store: Store, account: str, session_id: str, last: int = -1) -> EntryColumns:
    """Return what `links` returns, by columns. last: of a session of a single part that many entries alone, -1: all."""
    parts = find_parts(store, account, session_id)
    if len(parts) > 1 or read_history(store, parts[0].account, parts[0].session_id):
        return to_columns(read_links(store, parts))
    order = "ASC" if last < 0 else "DESC"  # forwards it takes a fifth less
    sql = _COLUMNS.format(order=order, said=_SAID, own=_OWN, live=LIVE_IDS)
    *lists, has_own = store.rows(sql, (session_id, account, last))[0]
    if has_own:  # whose places their times tell
        return to_columns(read_links(store, parts))
    rows, ids, parents, sides, unsaid = (_DECODER.decode(values)[:: 1 if last < 0 else -1] for values in lists)
    is_marked = bool(sides or unsaid)
    places = {row: place for place, row in enumerate(rows)} if is_marked else {}
    files = {places[row]: file for row, file in sides}
    return EntryColumns(rows, ids, parents, files, {places[row] for row in unsaid})


def find_parting(store: Store, fork: ForkedSession, origin: ForkedSession) -> str | None:
    """Return the entry behind which a fork leaves its origin, None: they share none; `entry_tree` says it of links.

    Two sessions that their CLI keeps whole, each in one piece, are compared where they lie.
    """
    for each in (fork, origin):
        parts = find_parts(store, each.account, each.session_id)
        if len(parts) > 1 or read_history(store, parts[0].account, parts[0].session_id):
            shared = {link.entry_id for link in links(store, origin.account, origin.session_id)}
            return entry_tree.find_parting(links(store, fork.account, fork.session_id), shared)
    mine = (fork.session_id, fork.account)
    theirs = (origin.account, origin.session_id)
    own = store.rows(_FIRST_OWN, (*theirs, *mine, *theirs))
    _, parent, at, row, is_shared = own[0] if own else ("", None, BEHIND_ALL, 0, False)
    if is_shared or parent == NO_PARENT:
        return parent or None
    before = store.rows(_LAST_BEFORE, (*mine, at, row))
    return before[0][0] if before else None


def list_kept(store: Store, account: str, session_id: str, kept: str, *values: str) -> list[int]:
    """Return the rows of the entries that a filter keeps, the latest first. kept: no-tools, or user."""
    sql = _ROWS.format(_CONDITIONS[kept])
    parts = find_parts(store, account, session_id)
    lists = [store.rows(sql, (part.session_id, part.account, *values))[0][0] for part in reversed(parts)]
    rows = [row for each in lists for row in _DECODER.decode(each)]
    history = read_history(store, parts[0].account, parts[0].session_id)
    own = {link.row_id for _, link in history}
    for owner in dict.fromkeys(owner for owner, _ in reversed(history)):
        of_owner = store.rows(sql, (owner, parts[0].account, *values))[0][0]
        rows += (row for row in _DECODER.decode(of_owner) if row in own)
    return rows


def list_with(store: Store, account: str, session_id: str, words: str) -> list[int]:
    """Return the rows of all entries that have some words, and of a few others, the latest first."""
    pattern = f"%{_UNSURE.sub('%', words)}%"
    if words.lower() in _JSON:
        return list_kept(store, account, session_id, "words of JSON", pattern, pattern)
    return list_kept(store, account, session_id, "words", pattern)

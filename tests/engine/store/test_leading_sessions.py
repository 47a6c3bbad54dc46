"""The sessions that lead a list are found by their last entries, however many there are."""

from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import sessions


def test_leading_sessions_are_found_without_going_through_all_segments(tmp_path, monkeypatch):
    store = open_store(tmp_path / "state.db")
    asked, ask = [], store.rows

    def rows(question, *given):
        asked.append(store._render_sql(question, given))
        return ask(question, *given)

    monkeypatch.setattr(store, "rows", rows)

    sessions.latest(store, 2)

    by_entries, limit = next(question for question in asked if '"session_facts" AS "t2" ORDER BY' in question[0])
    plan = store._connections.mine().execute(f"EXPLAIN QUERY PLAN {by_entries}", limit).fetchall()
    assert [] == [step for *_, step in plan if step.startswith("SCAN") and "segments" in step]
    store.close()

"""The set-up agent's memory lies in the state file until its user clears it."""

from datetime import UTC, datetime

import pytest

from oulipoly_engine.service.setup.memory import Memory
from oulipoly_engine.store.base.db import open_store

AT = datetime(2026, 11, 20, 10, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "state.db")
    yield store
    store.close()


def test_it_is_kept_merged_and_cleared(store):
    memory = Memory(store, AT)

    assert "kept cli:claude" == memory.update("cli", "claude", {"version": "2.1"})
    told = memory.update("model", "opus", {}, [("claude", "runs on"), ("nobody", "likes")])
    assert "kept model:opus; no edge to nobody, which is not there" == told
    memory.update("cli", "claude", {"plan": "max"}, [("opus", "offers"), ("opus", "offers")])

    assert {"version": "2.1", "plan": "max"} == next(one.data for one in memory.nodes() if one.id == "cli:claude")
    assert ["offers", "runs on"] == sorted(edge.edge_type for edge in memory.graph().edges)
    assert "runs on cli:claude" in memory.context()
    assert (2, "", ()) == (memory.clear(), memory.context(), memory.graph().edges)


def test_node_that_gives_way_takes_its_edges_along(store, monkeypatch):
    monkeypatch.setattr("oulipoly_engine.core.setup.memory.MOST_NODES", 2)
    memory = Memory(store, AT)
    memory.update("cli", "a", {})
    memory.update("cli", "b", {}, [("a", "like")])
    Memory(store, AT.replace(hour=11)).update("cli", "c", {})

    assert (["cli:c", "cli:a"], ()) == ([one.id for one in memory.nodes()], memory.graph().edges)

"""Rows are inserted by a statement that is written once for each set of columns."""

from pathlib import Path

from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.base.orm import Model
from oulipoly_engine.store.models.runs import CliVersionHistoryRow


def test_an_insertion_is_written_once_and_its_values_are_as_the_columns_have_them(tmp_path, monkeypatch):
    store, written = open_store(tmp_path / "state.db"), []
    write = Model.insert.__func__
    monkeypatch.setattr(Model, "insert", classmethod(lambda cls, *given: written.append(cls) or write(cls, *given)))

    with store.write():
        ids = [
            store.insert(CliVersionHistoryRow, cli_name=name, version=Path("1.2"), recorded_at=at)
            for at, name in enumerate(("a", "b", "c"))
        ]

    assert ids == [ids[0], ids[0] + 1, ids[0] + 2]
    assert len(written) <= 1
    assert [("a", "1.2", "0")] == store.rows("SELECT cli_name, version, recorded_at FROM cli_version_history")[:1]
    store.close()

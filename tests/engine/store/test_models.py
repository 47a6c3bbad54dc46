"""The models say of the tables what the migrations make of them."""

import importlib
import pkgutil

import pytest

from oulipoly_engine.store import models
from oulipoly_engine.store.base.connections import Connections
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.models.base import Row

# What has no model: the full-text index with its tables, and what is left of an index of before.
_SEARCH = ("turn_search", "search_words", "search_pairs", "search_docs", "sqlite_")
_AT_THE_END = "idx_ledger_calls_at"  # made by the ledger itself


def _models():
    for module in pkgutil.iter_modules(models.__path__):
        importlib.import_module(f"{models.__name__}.{module.name}")
    return sorted(Row.__subclasses__(), key=lambda model: model._meta.table_name)


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "migrated.db"
    open_store(path).close()
    connections = Connections(path)
    yield connections.mine()
    connections.close_mine()


@pytest.fixture(scope="module")
def modelled(tmp_path_factory):
    connections = Connections(tmp_path_factory.mktemp("models") / "modelled.db")
    for model in _models():
        with connections.bind_ctx([model]):
            model._schema.create_all(safe=False)
    yield connections.mine()
    connections.close_mine()


def _shape(connection, table):
    columns = {
        name: (kind, default, key, bool(required) or bool(key))
        for _, name, kind, required, default, key in connection.execute(f"PRAGMA table_info({table})")
    }
    keys = {row[2:7] for row in connection.execute(f"PRAGMA foreign_key_list({table})")}
    indexes = {
        (tuple(row[2] for row in connection.execute(f"PRAGMA index_info({name})")), bool(unique), bool(partial))
        for _, name, unique, origin, partial in connection.execute(f"PRAGMA index_list({table})")
        if origin != "pk" and name != _AT_THE_END
    }
    return columns, keys, indexes


@pytest.mark.parametrize("model", _models(), ids=lambda model: model._meta.table_name)
def test_a_model_says_what_its_table_is(migrated, modelled, model):
    table = model._meta.table_name

    assert _shape(migrated, table) == _shape(modelled, table)


def test_every_table_but_the_full_text_index_has_a_model(migrated):
    tables = {name for (name,) in migrated.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    ours = {name for name in tables if not name.startswith(_SEARCH) or name == "search_pairs_due"}

    assert ours == {model._meta.table_name for model in _models()}


def test_conditions_of_partial_indexes_are_the_migrations_ones(migrated, modelled):
    question = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'"

    def conditions(connection):
        return {name: sql.rpartition("WHERE ")[2] for name, sql in connection.execute(question)}

    assert conditions(migrated) == conditions(modelled)

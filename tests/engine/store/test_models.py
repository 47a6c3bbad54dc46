"""The models say of the tables what the migrations make of them, and queries say nothing that only SQLite knows."""

import importlib
import pkgutil
import re
from contextlib import closing
from datetime import UTC, datetime
from functools import reduce

import peewee
import pytest

from oulipoly_engine import store
from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession
from oulipoly_engine.store import models
from oulipoly_engine.store.base.compiled import Compiled
from oulipoly_engine.store.base.connections import Connections
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_requests, live_sessions
from oulipoly_engine.store.models.base import Row
from oulipoly_engine.store.models.damage import find_damage

pytestmark = pytest.mark.usefixtures("made_state_file")

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


def test_each_model_says_what_its_table_is(migrated, modelled):
    tables = [model._meta.table_name for model in _models()]

    assert [] == [table for table in tables if _shape(migrated, table) != _shape(modelled, table)]


def test_every_table_but_the_full_text_index_has_a_model(migrated):
    tables = {name for (name,) in migrated.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    ours = {name for name in tables if not name.startswith(_SEARCH) or name == "search_pairs_due"}

    assert ours == {model._meta.table_name for model in _models()}


def test_conditions_of_partial_indexes_are_the_migrations_ones(migrated, modelled):
    question = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'"

    def conditions(connection):
        found = {name: sql.rpartition("WHERE ")[2] for name, sql in connection.execute(question)}
        return {name: condition.strip("()").replace('"', "") for name, condition in found.items()}

    assert conditions(migrated) == conditions(modelled)


_SQLITE_ALONE = re.compile(r'(?i)json_|strftime|rowid|autoincrement|GLOB|INSERT OR|IS NOT "|\b(MAX|MIN)\([^()]*,')


def test_no_table_has_what_only_sqlite_has():
    managers = [peewee.SchemaManager(model, peewee.PostgresqlDatabase("none")) for model in _models()]
    made = [each for one in managers for each in (one._create_table(safe=False), *one._create_indexes(safe=False))]

    assert [] == [sql for sql, _ in (each.query() for each in made) if _SQLITE_ALONE.search(sql)]


_LISTS = {"(SELECT value FROM json_each(%s))": "()", "JSON_GROUP_ARRAY(": "("}  # dialect's each_of and list_of alone


def _compiled():
    for module in pkgutil.walk_packages(store.__path__, f"{store.__name__}."):
        if not module.name.endswith("migrations"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, Compiled):
                    yield f"{module.name}.{name}", value.render(peewee.PostgresqlDatabase("none"))[0]


def test_no_query_says_what_only_sqlite_understands():
    def without_lists(sql):
        return reduce(lambda text, each: text.replace(*each), _LISTS.items(), sql)

    assert [] == [name for name, sql in _compiled() if _SQLITE_ALONE.search(without_lists(sql))]


def test_a_new_state_file_is_whole_whatever_models_are_loaded(tmp_path):
    path = tmp_path / "state.db"
    open_store(path).close()
    _models()

    assert find_damage(path) is None


def test_what_live_sessions_write_is_not_damage(tmp_path):
    path, now = tmp_path / "state.db", datetime(2026, 11, 23, tzinfo=UTC)
    with closing(open_store(path)) as store:
        live_sessions.insert(store, LiveSession("s", "/w", "codex", "codex", "m", now, now))
        for name in ("open", "answered"):
            request = LiveRequest(name, "s", "t", "1", "command_approval", "pending", Prompt("ls"), now)
            live_requests.insert(store, request)
        live_requests.settle(store, "answered", "answered", now, decision="approve", answered_by="ann@desk")
        assert find_damage(path) is None
        store.execute("UPDATE live_requests SET prompt = '{' WHERE request_id = 'open'")

    assert "live_requests.prompt has a value that cannot be (session s)" == find_damage(path)

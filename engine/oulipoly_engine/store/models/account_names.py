"""Give an account another name in every table; its readings, runs and sessions stay its own."""

from __future__ import annotations

from collections.abc import Iterator

from oulipoly_engine.core.live.runtimes import normalise_id
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.base import Row
from oulipoly_engine.store.models.damage import MODULES

_COLUMNS = ("account", "provider_name", "from_account")
_SEARCHED = ("search_sessions", "session_turns")  # the search follows them by triggers


def rename_account(store: Store, account: str, new: str) -> None:
    """Rename an account; what an earlier account of the new name has left there gives way. One transaction.

    Documents of the past, decisions for example, keep the name that held then.
    """
    with store.write():
        _rename_searched(store, account, new)
        _rename_runtime(store, normalise_id(account), normalise_id(new))
        for table, column in _find_columns():
            if table not in _SEARCHED:
                store.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {column} = ?", (new, account))  # noqa: S608 - our own names


def _rename_runtime(store: Store, runtime: str, new: str) -> None:
    """Rename what is an account's by its name: the runtime that its live sessions go on in."""
    for table in ("live_sessions", "runtime_probes"):
        store.execute(f"UPDATE OR REPLACE {table} SET runtime_id = ? WHERE runtime_id = ?", (new, runtime))  # noqa: S608 - our own names


def has_rows(store: Store, account: str) -> bool:
    """Tell whether anything is kept under an account's name."""
    return any(
        store.rows(f"SELECT 1 FROM {table} WHERE {column} = ? LIMIT 1", (account,))  # noqa: S608 - as above
        for table, column in _find_columns()
    )


def _find_columns() -> Iterator[tuple[str, str]]:
    """Yield the tables and columns that have accounts' names."""
    assert MODULES  # noqa: S101 - they are imported, so that all tables are known
    for model in Row.__subclasses__():
        columns = {field.column_name for field in model._meta.sorted_fields}
        yield from ((model._meta.table_name, column) for column in _COLUMNS if column in columns)


def _rename_searched(store: Store, account: str, new: str) -> None:
    """Rename an account where triggers tell the search, never with OR REPLACE.

    A row that this removes fires no trigger, and the INSERT OR IGNORE of a trigger would become an INSERT OR REPLACE,
    which gives the session of every entry another number.
    """
    # The numbers of sessions first: a trigger looks them up by the new name as entries change.
    store.execute("UPDATE OR IGNORE search_sessions SET account = ? WHERE account = ?", (new, account))
    store.execute("DELETE FROM search_sessions WHERE account = ?", (account,))
    store.execute(
        "DELETE FROM session_turns WHERE provider_name = ? AND (session_id, turn_id) IN"
        " (SELECT session_id, turn_id FROM session_turns WHERE provider_name = ?)",
        (new, account),
    )
    store.execute("UPDATE session_turns SET provider_name = ? WHERE provider_name = ?", (new, account))

"""Give an account another name in every table; its readings, runs and sessions stay its own."""

from __future__ import annotations

from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.base import Row
from oulipoly_engine.store.models.damage import MODULES

_COLUMNS = ("account", "provider_name", "from_account")
_SEARCHED = ("search_sessions", "session_turns")  # the search follows them by triggers


def rename_account(store: Store, account: str, new: str) -> None:
    """Rename an account; what an earlier account of the new name has left there gives way. One transaction.

    Documents of the past, decisions for example, keep the name that held then.
    """
    assert MODULES  # noqa: S101 - they are imported, so that all tables are known
    with store.write():
        _rename_searched(store, account, new)
        for model in Row.__subclasses__():
            table = model._meta.table_name
            columns = {field.column_name for field in model._meta.sorted_fields}
            for column in (one for one in _COLUMNS if one in columns and table not in _SEARCHED):
                store.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {column} = ?", (new, account))  # noqa: S608 - our own names


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

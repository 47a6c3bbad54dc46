"""Give an account another name in every table; its readings, runs and sessions stay its own."""

from __future__ import annotations

from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.base import Row
from oulipoly_engine.store.models.damage import MODULES

_COLUMNS = ("account", "provider_name", "from_account")


def rename_account(store: Store, account: str, new: str) -> None:
    """Rename an account; what an earlier account of the new name has left there gives way. One transaction.

    Documents of the past, decisions for example, keep the name that held then.
    """
    assert MODULES  # noqa: S101 - they are imported, so that all tables are known
    with store.write():
        # The numbers of sessions for the search first: a trigger looks them up by the new name as entries change.
        store.execute("UPDATE OR REPLACE search_sessions SET account = ? WHERE account = ?", (new, account))
        for model in Row.__subclasses__():
            table = model._meta.table_name
            columns = {field.column_name for field in model._meta.sorted_fields}
            for column in (one for one in _COLUMNS if one in columns and table != "search_sessions"):
                store.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {column} = ?", (new, account))  # noqa: S608 - our own names

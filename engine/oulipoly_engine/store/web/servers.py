"""The servers that run."""

from __future__ import annotations

from oulipoly_engine.core.web.devices import ServerEntry
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.rows import column_values, name_values
from oulipoly_engine.store.models.web import WebServerRow

_COLUMNS = WebServerRow._meta.sorted_fields


def insert(store: Store, entry: ServerEntry) -> None:
    """Note a server, in place of one that had its process id."""
    row = WebServerRow
    with store.write():
        store.run(row.delete().where(row.pid == entry.pid))
        store.insert(row, **column_values(entry))


def delete(store: Store, pid: int) -> None:
    """Forget a server."""
    row = WebServerRow
    with store.write():
        store.run(row.delete().where(row.pid == pid))


def list_servers(store: Store) -> tuple[ServerEntry, ...]:
    """Return the servers that were started and not forgotten, the newest first."""
    row = WebServerRow
    found = store.rows(row.select(*_COLUMNS).order_by(row.started_at.desc()))
    return tuple(ServerEntry(**name_values(_COLUMNS, values)) for values in found)

"""What all models share.

They describe the tables that the migrations make, which a test holds them to; they make none. Keys to other tables are
constraints on plain columns: peewee's own foreign keys would fetch rows of other tables at the reading of a field.
"""

from __future__ import annotations

from oulipoly_engine.store.base.orm import SQL, Model


class Row(Model):
    """A row of a table; bound to no database."""


def references(table: str, column: str, *, cascade: bool = True) -> SQL:
    """Return a column's constraint to hold a value of another table's column; cascade: rows go with that one's."""
    return SQL(f"REFERENCES {table} ({column})" + (" ON DELETE CASCADE" if cascade else ""))

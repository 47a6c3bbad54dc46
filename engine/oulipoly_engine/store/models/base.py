"""What all models share.

They describe the tables that the migrations make, which a test holds them to; they make none. Keys to other tables are
constraints on plain columns: peewee's own foreign keys would fetch rows of other tables at the reading of a field.
"""

from __future__ import annotations

from oulipoly_engine.store.base.orm import SQL, Model, ModelBase


class Table(ModelBase):
    """Takes a table's name and its key of several columns from the line of the class; peewee wants a class for them."""

    def __new__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, object], **options: object) -> Table:
        """Make a model."""
        meta = type("Meta", (), options)
        model: Table = super().__new__(cls, name, bases, attributes | {"Meta": meta})  # type: ignore[no-untyped-call]  # peewee's
        return model


class Row(Model, metaclass=Table):
    """A row of a table; bound to no database."""


def references(table: str, column: str, *, cascade: bool = True) -> SQL:
    """Return a column's constraint to hold a value of another table's column; cascade: rows go with that one's."""
    return SQL(f"REFERENCES {table} ({column})" + (" ON DELETE CASCADE" if cascade else ""))

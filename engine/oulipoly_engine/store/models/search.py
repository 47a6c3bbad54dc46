"""What stands beside the full-text index; the index itself has no model, since only SQLite has it."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import AutoField, BigIntegerField, Check, Default, IntegerField, TextField
from oulipoly_engine.store.models.base import Row


class SearchStateRow(Row, table_name="search_state"):
    """How far the index has come; the only row."""

    only_row = IntegerField(primary_key=True, constraints=[Check("only_row = 1")])
    indexed_to = IntegerField(constraints=[Default(0)])
    most_spill = IntegerField(constraints=[Default(0)])


class SearchSessionRow(Row, table_name="search_sessions"):
    """A session's number in the index."""

    number = AutoField()
    account = TextField()
    session_id = TextField()


SearchSessionRow.add_index(SearchSessionRow.session_id, SearchSessionRow.account, unique=True)


class SearchNumberRow(Row, table_name="search_numbers"):
    """An entry's number in the index, by time."""

    doc = BigIntegerField(primary_key=True)
    entry = IntegerField(column_name="turn", unique=True)
    session = IntegerField()


class SearchCutRow(Row, table_name="search_cut"):
    """An entry of which only the beginning is indexed."""

    entry = IntegerField(column_name="turn", primary_key=True)


class PairsDueRow(Row, table_name="search_pairs_due"):
    """An entry whose pairs of signs are to be looked at again."""

    entry = IntegerField(column_name="turn", primary_key=True)

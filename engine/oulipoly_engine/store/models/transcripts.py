"""Ingested entries of transcripts."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import AutoField, Default, IntegerField, TextField
from oulipoly_engine.store.models.base import Row


class EntryRow(Row):
    """One entry of a session; the columns say entry, as the contract does."""

    id = AutoField()
    provider_name = TextField()
    session_id = TextField()
    entry_id = TextField(column_name="turn_id")
    timestamp = TextField()
    role = TextField()
    parent_entry_id = TextField(column_name="parent_turn_id", null=True)
    is_sidechain = IntegerField(constraints=[Default(0)])
    is_compaction_boundary = IntegerField(constraints=[Default(0)])
    source_file = TextField(null=True)
    ingested_at = TextField()
    body = TextField(null=True)

    class Meta:
        table_name = "session_turns"
        indexes = (
            (("provider_name", "session_id", "turn_id"), True),
            (("session_id", "timestamp"), False),
            (("provider_name", "role", "timestamp"), False),
        )

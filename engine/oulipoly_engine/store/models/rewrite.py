"""Replacements of transcripts."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import AutoField, BigIntegerField, Check, TextField
from oulipoly_engine.store.models.base import Row


class ReplacementRow(Row):
    """One replacement of a transcript."""

    id = AutoField()
    operation_uuid = TextField(unique=True)
    operation = TextField(constraints=[Check("operation IN ('import-replace', 'undo')")])
    session_id = TextField()
    provider_name = TextField()
    chain_id = TextField()
    jsonl_path = TextField()
    started_at = TextField()
    committed_at = TextField(null=True)
    preimage_sha256 = TextField()
    postimage_sha256 = TextField()
    preimage_file_sha256 = TextField(index=True)
    postimage_file_sha256 = TextField()
    preimage_size_bytes = BigIntegerField()
    undoes = TextField(null=True)
    undone_at = TextField(null=True)

    class Meta:
        table_name = "replacements"
        indexes = ((("session_id", "provider_name", "id"), False),)

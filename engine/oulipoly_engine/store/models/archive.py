"""Kept copies of transcripts and of the files beside them."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import (
    SQL,
    AutoField,
    BigIntegerField,
    BlobField,
    CompositeKey,
    Default,
    IntegerField,
    TextField,
)
from oulipoly_engine.store.models.base import Row, references


class CopyRow(Row, table_name="archive_copies"):
    """A kept copy of one file."""

    id = AutoField()
    account = TextField()
    session_id = TextField()
    path = BlobField()
    part = TextField()
    device = BigIntegerField()
    inode = BigIntegerField()
    size_bytes = BigIntegerField()
    mtime_ns = BigIntegerField()
    kept_at = TextField()
    is_latest = IntegerField()
    is_pruned = IntegerField(constraints=[Default(0)])


CopyRow.add_index(CopyRow.session_id, CopyRow.account)
CopyRow.add_index(CopyRow.account, CopyRow.path, unique=True, where=SQL("is_latest = 1"), name="idx_archive_latest")
CopyRow.add_index(CopyRow.account, CopyRow.path, where=SQL("is_latest = 0"), name="idx_archive_superseded")


class ChunkRow(Row, table_name="archive_chunks", primary_key=CompositeKey("copy_id", "position")):
    """A piece of a copy."""

    copy_id = IntegerField(constraints=[references("archive_copies", "id")])
    position = IntegerField()
    sha256 = BlobField(index=True)
    size_bytes = BigIntegerField()


class ObjectRow(Row, table_name="archive_objects"):
    """A stored chunk."""

    sha256 = BlobField(primary_key=True)
    stored_bytes = BigIntegerField()


class CompleteRow(Row, table_name="archive_complete"):
    """An account of which everything was kept when that entry was the last."""

    account = TextField(primary_key=True)
    entry_row_id = IntegerField(column_name="turn_row_id")
